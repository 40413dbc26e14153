"""Which backends run here: each is tried with one sandbox, which is the only sure way to know."""

from __future__ import annotations

import contextlib
import dataclasses
import time

from execgym.sandbox.backend import AUTO, open_sandbox
from execgym.sandbox.errors import SandboxError, SandboxUnavailableError
from execgym.sandbox.event_loop import run_sync
from execgym.sandbox.spec import RUNTIMES, SandboxSpec


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """How one backend did.

    Attributes:
        backend: Its name.
        runtime: The Docker runtime that was named, or `""`.
        works: Whether a sandbox opened and ran a program.
        reason: Why not, with the way out, or `""`.
        seconds: Time from asking for the first sandbox to its first answer: nothing was warm.
    """

    backend: str
    runtime: str = ""
    works: bool
    reason: str = ""
    seconds: float = 0.0


def try_backends() -> tuple[Trial, ...]:
    """Open a sandbox on every backend, on `docker-per-episode` with each runtime there is.

    It takes a few seconds where a Docker daemon runs.
    """
    return (
        _try("namespace"),
        _try("docker"),
        *(_try("docker-per-episode", runtime) for runtime in _runtimes()),
    )


def taken_by_auto(trials: tuple[Trial, ...]) -> str:
    """Return the backend that `"auto"` takes, or `""` where none works."""
    working = {trial.backend for trial in trials if trial.works}
    return next((backend for backend in AUTO if backend in working), "")


def _runtimes() -> tuple[str, ...]:
    from execgym.sandbox.docker_engine import engines

    with contextlib.suppress(SandboxError):
        facts = engines.get().facts()
        others = (name for name in RUNTIMES if name in facts.runtimes)
        return ("", *(name for name in others if name != facts.default_runtime))
    return ("",)


def _try(backend: str, runtime: str = "") -> Trial:
    started = time.monotonic()
    try:
        run_sync(_use(SandboxSpec(backend=backend, runtime=runtime)))
    except SandboxError as error:
        return Trial(backend=backend, runtime=runtime, works=False, reason=str(error))
    seconds = time.monotonic() - started
    return Trial(backend=backend, runtime=runtime, works=True, seconds=seconds)


async def _use(spec: SandboxSpec) -> None:
    async with await open_sandbox(spec) as sandbox:
        result = await sandbox.run_python("print(6 * 7)")
    if result.stdout != b"42\n":
        raise SandboxUnavailableError(f"a program came to nothing: {result}")
