"""Processes of sandboxes to be killed or stopped, and limits short enough to wait for."""

import contextlib
import os
import pathlib
import signal
import time
from collections.abc import Callable, Iterator

import pytest

from execgym.sandbox import Template, client, namespace, run_sync, zygotes

DEADLINE_SECONDS = 20.0
# Long enough for the honest answers of a loaded machine.
SHORT_SECONDS = 0.6
START_SECONDS = 3.0


@pytest.fixture
def eventually() -> Callable[[Callable[[], object]], None]:
    """A function that waits until a condition holds, and fails when it does not in time."""

    def wait(holds: Callable[[], object]) -> None:
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not holds():
            assert time.monotonic() < deadline, "the condition did not come true in time"
            time.sleep(0.01)

    return wait


@pytest.fixture
def short_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The host gives up what has hung after a moment."""
    for name in ("_ANSWER_SECONDS", "_GRACE_SECONDS"):
        monkeypatch.setattr(client, name, SHORT_SECONDS)
    monkeypatch.setattr(client, "_START_SECONDS", START_SECONDS)
    for name in ("_HUNG_SECONDS", "_SEND_SECONDS"):
        monkeypatch.setattr(zygotes, name, START_SECONDS)
    # Asked to end, a stopped process does not: it is killed after that.
    monkeypatch.setattr(namespace, "_CLOSING_SECONDS", SHORT_SECONDS)


class Victims:
    """The processes behind the sandboxes of a template that this process has opened."""

    def __init__(self, template: Template) -> None:
        self._template = template
        self._stopped: list[int] = []

    @property
    def zygote(self) -> int:
        """The process number of the template's zygote."""
        zygote = namespace._registry.get(self._template)
        assert isinstance(zygote, namespace.HostZygote)
        return zygote._process.pid

    def guests(self, name: str = "sandbox") -> set[int]:
        """Return first processes of live sandboxes; spare ones have another name."""
        found = set()
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                head, _, tail = (entry / "stat").read_text().rpartition(") ")
                state, parent = tail.split()[:2]
                if int(parent) == self.zygote and state != "Z":
                    found.add((int(entry.name), head.partition("(")[2]))
        return {pid for pid, comm in found if (comm == "sandbox") == (name == "sandbox")}

    def the_guest(self) -> int:
        """Return the first process of the one sandbox that is open."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while len(guests := self.guests()) != 1:
            assert time.monotonic() < deadline, guests
            time.sleep(0.01)
        return guests.pop()

    def hit(self, pid: int, number: signal.Signals) -> None:
        """Send a signal, and wait until a stop has taken effect."""
        os.kill(pid, number)
        if number == signal.SIGSTOP:
            self._stopped.append(pid)
            deadline = time.monotonic() + DEADLINE_SECONDS
            while _state(pid) != "T":
                assert time.monotonic() < deadline
                time.sleep(0.001)

    def release(self) -> None:
        """Let everything that was stopped and is still there go on."""
        for pid in self._stopped:
            if _state(pid) == "T":
                os.kill(pid, signal.SIGCONT)


def _state(pid: int) -> str:
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][:1]
    except OSError:
        return ""


@pytest.fixture
def victims_of() -> Iterator[Callable[[Template], Victims]]:
    """A function that finds the processes behind a template's sandboxes."""
    made: list[Victims] = []

    def find(template: Template) -> Victims:
        made.append(Victims(template))
        return made[-1]

    yield find
    for victims in made:
        victims.release()


@pytest.fixture
def run() -> Callable[..., object]:
    """Runs a coroutine on the shared loop."""
    return run_sync
