"""The backend `docker-per-episode`: a container for each sandbox, under the daemon's defaults.

The container's PID 1 is the guest. Frames go over the container's standard input and output, to
which its owner is attached before it starts: no namespace is made in it, no profile of ours is
needed, and nothing of this machine is bound into it. When the owner ends, the daemon closes that
input, the guest ends, and the daemon removes the container.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket

from execgym.sandbox import stages
from execgym.sandbox.client import Connection, NamespaceSandbox
from execgym.sandbox.docker_container import template_image
from execgym.sandbox.docker_engine import Engine, engines, runtime_name
from execgym.sandbox.docker_episode_container import EpisodeKind, episode_container
from execgym.sandbox.docker_reaper import start_reaper
from execgym.sandbox.docker_stream import Demultiplexer
from execgym.sandbox.errors import SandboxDiedError, SandboxStartError, SandboxUnavailableError
from execgym.sandbox.spec import SandboxSpec
from execgym.sandbox.warm_pool import WarmPool
from execgym.sandbox.zygotes import START_SECONDS, at_close, raise_file_limit

_WARM_EACH = 2
_WARM_AT_MOST = 8


def kind_of(spec: SandboxSpec) -> EpisodeKind:
    """Return the kind of container that a sandbox of this spec takes."""
    limits = spec.limits
    return EpisodeKind(
        spec.template,
        spec.runtime,
        limits.workspace_bytes,
        limits.workspace_inodes,
        limits.memory_bytes,
        limits.processes,
    )


class Episode:
    """A container whose guest is ready, or about to be, and the socket to its streams."""

    def __init__(self, kind: EpisodeKind) -> None:
        raise_file_limit()
        engine = self._engine = engines.get()
        start_reaper()
        facts = engine.facts()
        runtime = runtime_name(facts, kind.runtime)
        if reason := why_no_episodes(engine):
            raise SandboxUnavailableError(reason)
        self.image = template_image(engine, kind.template)
        config = episode_container(kind, self.image, engine.pick_id(facts), runtime)
        self.container = engine.create(config)
        self.attached: socket.socket | None = None
        try:
            self.attached = engine.attach(self.container)
            engine.start(self.container, runtime)
            self._greet(self.attached, kind)
        except BaseException:
            self.close()
            raise

    def _greet(self, attached: socket.socket, kind: EpisodeKind) -> None:
        """Send what the guest is to run, and wait until it says the first word."""
        attached.settimeout(START_SECONDS)
        try:
            attached.sendall(stages.lone_bundle(kind.template))
        except TimeoutError:
            raise SandboxStartError(
                f"the container took nothing within {START_SECONDS:.0f} s"
            ) from None
        except OSError:
            pass  # It has ended, and what it said at its end is there to be read.
        attached.setblocking(False)
        if not _events(attached, select.POLLIN, START_SECONDS):
            raise SandboxStartError(f"the guest was not ready within {START_SECONDS:.0f} s")

    def has_ended(self) -> bool:
        """Return whether the container's streams have ended."""
        return self.attached is None or bool(_events(self.attached, select.POLLRDHUP, 0))

    def hang_up(self) -> None:
        """Close the container's standard input, which ends it."""
        if self.attached is not None:
            # A fork of this process may hold the socket, too: closing alone would not do.
            with contextlib.suppress(OSError):
                self.attached.shutdown(socket.SHUT_RDWR)
            self.attached.close()

    def close(self) -> None:
        """End the container and have it removed."""
        self.hang_up()
        self._engine.remove(self.container)

    def abandon(self) -> None:
        """In a fork, close this process's copy of the socket."""
        if self.attached is not None:
            self.attached.close()


_pool = WarmPool(
    Episode,
    each=_WARM_EACH,
    at_most=_WARM_AT_MOST,
    workers=max(2, min(8, os.cpu_count() or 1)),
)
at_close(_pool.close)


class AttachedConnection(Connection):
    """The connection over an attached container's streams."""

    def __init__(self) -> None:
        super().__init__()
        self._streams = Demultiplexer(super().data_received)

    def data_received(self, data: bytes) -> None:
        """Take bytes from the daemon."""
        self._streams.feed(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """The container is gone."""
        said = self._streams.last_words
        self.fail(SandboxDiedError(f"the container ended{': ' if said else ''}{said}"))
        super().connection_lost(exc)


class EpisodeSandbox(NamespaceSandbox):
    """A sandbox in a container of its own; see `execgym.sandbox.Sandbox`."""

    _protocol = AttachedConnection
    _episode: Episode | None = None

    @classmethod
    async def take(cls, spec: SandboxSpec, episode: Episode) -> EpisodeSandbox:
        """Return the sandbox that a container is."""
        assert episode.attached is not None  # noqa: S101
        try:
            sandbox = await cls.connect(spec, episode.attached, episode.image)
        except BaseException:
            _pool.give_up(episode)
            raise
        sandbox._episode = episode
        return sandbox

    async def close(self) -> None:
        """Destroy the sandbox. The daemon removes its container soon after."""
        await super().close()
        if self._episode is not None:
            _pool.give_up(self._episode)


async def open_episode_sandbox(spec: SandboxSpec) -> EpisodeSandbox:
    """Open a sandbox in a container of its own.

    Raises:
        TemplateError: The template cannot be built.
        SandboxUnavailableError: No daemon answers, it lacks the image or the runtime, or the
            runtime cannot run containers here.
        SandboxStartError: The sandbox did not come up.
    """
    while True:
        episode, waited = await _pool.take(kind_of(spec))
        try:
            return await EpisodeSandbox.take(spec, episode)
        except (SandboxDiedError, OSError) as error:
            # One that was started long ago may have been ended by anybody since.
            if not waited:
                raise SandboxStartError(f"the sandbox did not come up: {error}") from error


def why_no_episodes(engine: Engine) -> str:
    """Return why there can be no container for each sandbox with a daemon, or nothing."""
    if engine.is_encrypted:
        return (
            "an attached container's streams go over a bare socket, and the connection to this "
            "Docker daemon is encrypted: forward its socket, and name that in DOCKER_HOST"
        )
    return ""


def _events(end: socket.socket, wanted: int, seconds: float) -> int:
    poll = select.poll()
    poll.register(end, wanted)
    return sum(event for _, event in poll.poll(seconds * 1000))
