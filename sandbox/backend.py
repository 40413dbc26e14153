"""Opening a sandbox by its spec."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses

from execgym.sandbox.base import Sandbox
from execgym.sandbox.client import check_snapshot
from execgym.sandbox.errors import SandboxUnavailableError
from execgym.sandbox.fingerprint import template_fingerprint
from execgym.sandbox.namespace import open_namespace_sandbox
from execgym.sandbox.spec import SandboxSpec

AUTO = ("namespace", "docker")
"""What `"auto"` tries, in this order."""

# More would only wait for one another.
_COMING_AT_ONCE = 16


@dataclasses.dataclass
class _Choice:
    """What `"auto"` has turned out to be in this process, or nothing yet."""

    backend: str = ""


_choice = _Choice()


async def open_sandbox(spec: SandboxSpec) -> Sandbox:
    """Open a sandbox: it belongs to the running event loop until it is closed.

    `"auto"` takes `"namespace"` where this machine allows it, else `"docker"`. Nothing ever runs
    unisolated.

    Raises:
        TemplateError: The template cannot be built.
        SandboxUnavailableError: This machine does not allow the backend, or none; the message says
            what to change.
        SandboxStartError: The sandbox did not come up.
    """
    if spec.backend != "auto":
        return await _open(spec.backend, spec)
    if _choice.backend:
        return await _open(_choice.backend, spec)
    reasons = []
    for backend in AUTO:
        try:
            sandbox = await _open(backend, spec)
        except SandboxUnavailableError as error:
            reasons.append(f"{backend}: {error}")
        else:
            _choice.backend = backend
            return sandbox
    raise SandboxUnavailableError("no backend can run here.\n" + "\n".join(reasons))


async def open_sandboxes(
    spec: SandboxSpec, count: int, *, snapshot: bytes | None = None
) -> tuple[Sandbox, ...]:
    """Open equal sandboxes at once, for branches from one state: all of them or none.

    Args:
        spec: What each of them is.
        count: How many.
        snapshot: What each has in `/workspace`, as `Sandbox.snapshot` gave it, or None for
            nothing.

    Raises:
        SnapshotError: The bytes are no snapshot, or do not fit.
        ValueError: `count` is not allowed.
        SandboxError: One of them did not come up; see `open_sandbox`.
    """
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise ValueError(f"count must be a whole number of at least 1, not {count!r}")
    if snapshot is not None:
        check_snapshot(snapshot)
    async with contextlib.AsyncExitStack() as opened:
        coming = asyncio.Semaphore(_COMING_AT_ONCE)

        async def open_one() -> Sandbox:
            async with coming:
                sandbox = await open_sandbox(spec)
                opened.push_async_exit(sandbox)
                if snapshot is not None:
                    await sandbox.restore(snapshot)
                return sandbox

        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(open_one()) for _ in range(count)]
        except ExceptionGroup as errors:
            # The first to fail cancelled the others.
            raise errors.exceptions[0] from errors
        opened.pop_all()
        return tuple(task.result() for task in tasks)


async def image_fingerprint(spec: SandboxSpec) -> str:
    """Return what `Sandbox.fingerprint` of a sandbox of this spec says, without opening one.

    Raises:
        SandboxUnavailableError: The Docker daemon does not answer, or has no such image.
    """
    backend = _choice.backend if spec.backend == "auto" else spec.backend
    if not backend.startswith("docker"):
        return await asyncio.to_thread(template_fingerprint, spec.template)
    from execgym.sandbox.docker_container import template_image
    from execgym.sandbox.docker_engine import engines

    return await asyncio.to_thread(lambda: template_image(engines.get(), spec.template))


async def _open(backend: str, spec: SandboxSpec) -> Sandbox:
    # Docker's SDK takes longer to import than all the rest.
    if backend == "docker":
        from execgym.sandbox.docker_pod import open_pod_sandbox

        return await open_pod_sandbox(spec)
    if backend == "docker-per-episode":
        from execgym.sandbox.docker_episode import open_episode_sandbox

        return await open_episode_sandbox(spec)
    return await open_namespace_sandbox(spec)
