"""An arena for each backend, shared by the attacks of a worker."""

import time
from collections.abc import Callable, Iterator

import pytest
from arena import Arena

DEADLINE_SECONDS = 20.0


@pytest.fixture(scope="session")
def arena(backend: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    """Where a worker's attacks on one backend are made."""
    made = Arena(backend, tmp_path_factory.mktemp("host"))
    yield made
    made.close()


@pytest.fixture
def eventually() -> Callable[[Callable[[], object]], None]:
    """A function that waits until a condition holds, and fails when it does not in time."""

    def wait(holds: Callable[[], object]) -> None:
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not holds():
            assert time.monotonic() < deadline, "the condition did not come true in time"
            time.sleep(0.02)

    return wait
