"""Removing what an owner left behind that went without being able to clean up.

A container ends with its owner's connection, and the daemon then removes it. What is left to do
here is for owners and daemons that were both lost, or a container that did not end.
"""

from __future__ import annotations

import contextlib
import pathlib
import shutil
import tempfile
import threading

from execgym.sandbox import docker_owner
from execgym.sandbox.docker_engine import Engine, engines
from execgym.sandbox.errors import SandboxError

FOLDER_PREFIX = "execgym-pod-"
"""Of the folders in which pods connect to their owner; the owner's mark comes behind it."""


def lost_containers(engine: Engine) -> tuple[str, ...]:
    """Return the ids of containers whose owner has gone: never those of one that lives."""
    return tuple(
        str(container["Id"])
        for container in engine.owned_containers()
        if docker_owner.is_lost(container["Labels"])
    )


def remove_lost_containers() -> tuple[str, ...]:
    """Remove containers, and folders of their sockets, whose owner has gone.

    Returns:
        The ids of the containers.

    Raises:
        SandboxUnavailableError: No daemon answers.
    """
    engine = engines.get()
    lost = lost_containers(engine)
    for container in lost:
        engine.remove(container)
    for folder in pathlib.Path(tempfile.gettempdir()).glob(f"{FOLDER_PREFIX}*"):
        mark = folder.name.removeprefix(FOLDER_PREFIX)
        if docker_owner.mark_is_lost(mark):
            shutil.rmtree(folder, ignore_errors=True)
    return lost


_started = threading.Event()


def start_reaper() -> None:
    """Remove in the background what was lost, once a process."""
    if not _started.is_set():
        _started.set()
        threading.Thread(target=_reap, name="execgym-reaper", daemon=True).start()


def _reap() -> None:
    # Whoever opens a sandbox is told of a failure. What is left here waits for the next start.
    with contextlib.suppress(SandboxError):
        remove_lost_containers()
