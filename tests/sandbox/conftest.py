"""Sandboxes for tests: opened on the shared loop, closed whatever happens."""

import contextlib
import pathlib
import time
from collections.abc import Callable, Iterator

import pytest

from execgym.sandbox import (
    Limits,
    Sandbox,
    SandboxSpec,
    docker_episode,
    docker_pod,
    open_sandbox,
    run_sync,
)
from execgym.sandbox.docker_engine import engines

DEADLINE_SECONDS = 20.0


@pytest.fixture
def open_one() -> Iterator[Callable[..., Sandbox]]:
    """A function that opens a sandbox, with other limits if they are given by name."""
    with contextlib.ExitStack() as stack:

        def open_with(spec: SandboxSpec | None = None, **limits: float) -> Sandbox:
            chosen = spec or SandboxSpec(limits=Limits(**limits))
            sandbox = run_sync(open_sandbox(chosen))
            stack.callback(lambda: run_sync(sandbox.close()))
            return sandbox

        yield open_with


@pytest.fixture
def sandbox(open_one: Callable[..., Sandbox]) -> Sandbox:
    """A fresh sandbox with the usual limits."""
    return open_one()


@pytest.fixture
def eventually() -> Callable[[Callable[[], object]], None]:
    """A function that waits until a condition holds, and fails when it does not in time."""

    def wait(holds: Callable[[], object]) -> None:
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not holds():
            assert time.monotonic() < deadline, "the condition did not come true in time"
            time.sleep(0.02)

    return wait


@pytest.fixture
def no_daemon(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    """No Docker daemon answers, and nothing that was had of one is left."""
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    monkeypatch.setattr(engines, "_engine", None)
    monkeypatch.setattr(docker_pod._pods, "_zygotes", {})
    monkeypatch.setattr(docker_episode._pool, "_warm", {})
