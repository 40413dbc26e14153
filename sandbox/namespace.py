"""The backend `namespace`: sandboxes on this host, forked by zygotes that this process owns."""

from __future__ import annotations

import contextlib
import os
import pathlib
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO

from execgym.sandbox import stages
from execgym.sandbox.client import NamespaceSandbox
from execgym.sandbox.doctor import diagnose
from execgym.sandbox.errors import SandboxUnavailableError, TemplateError
from execgym.sandbox.fingerprint import template_fingerprint
from execgym.sandbox.spec import SandboxSpec, Template
from execgym.sandbox.zygotes import Zygote, ZygoteEndedError, Zygotes, await_ready

_ENDING_SECONDS = 1.0
_CLOSING_SECONDS = 5.0
_LAST_WORDS_BYTES = 1500


class HostZygote(Zygote):
    """A zygote on this host: a child of this process."""

    def __init__(self, template: Template) -> None:
        bundle = _bundle(template)
        control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        super().__init__(control, template_fingerprint(template))
        # Its stderr goes to a file: a pipe that nobody reads would fill and block it.
        with theirs, _unnamed_file(bundle) as file, _unnamed_file() as last_words:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-I",
                    "-S",
                    "-c",
                    stages.BOOTSTRAP,
                    str(file.fileno()),
                    str(theirs.fileno()),
                    "root",
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=last_words,
                pass_fds=(file.fileno(), theirs.fileno()),
                env={"PATH": "/usr/bin:/bin"},
                cwd="/",
                start_new_session=True,
            )
            theirs.close()
            try:
                await_ready(control)
            except ZygoteEndedError:
                self.close()
                raise SandboxUnavailableError(_why_it_ended(last_words)) from None
            except BaseException:
                self.close()
                raise

    def has_ended(self) -> bool:
        """Return whether the zygote is gone, waiting a moment for one that is on its way out."""
        try:
            self._process.wait(timeout=_ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            return False
        return True

    def close(self) -> None:
        """End the zygote and with it every sandbox that it has made."""
        self._hang_up()
        try:
            self._process.wait(timeout=_CLOSING_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            # One that the kernel does not let go of, as on a file system that hangs, is left to it.
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=_CLOSING_SECONDS)

    def abandon(self) -> None:
        """Close this process's copy of the socket: the zygote is to end with its owner."""
        self._control.close()
        # In a fork this only notes that it is nobody's child, which spares a warning.
        self._process.poll()


_registry = Zygotes(HostZygote)


async def open_namespace_sandbox(spec: SandboxSpec) -> NamespaceSandbox:
    """Open a sandbox on this host.

    Raises:
        TemplateError: The template cannot be built.
        SandboxUnavailableError: This machine does not allow it.
        SandboxStartError: The sandbox did not come up.
    """
    return await _registry.open(spec.template, spec)


def _why_it_ended(last_words: BinaryIO) -> str:
    last_words.seek(max(0, last_words.seek(0, os.SEEK_END) - _LAST_WORDS_BYTES))
    last = last_words.read(_LAST_WORDS_BYTES).decode("utf-8", "replace").strip()
    reasons = "\n".join(diagnose().reasons)
    return f"the zygote ended before it was ready: {last}\n{reasons}".rstrip()


@contextlib.contextmanager
def _unnamed_file(data: bytes = b"") -> Iterator[BinaryIO]:
    with os.fdopen(os.memfd_create("execgym"), "w+b") as file:
        file.write(data)
        file.flush()
        yield file


def _bundle(template: Template) -> bytes:
    uid, gid = os.geteuid(), os.getegid()
    if template.image == "host":
        layout = _host_layout()
        path = ":".join(dict.fromkeys((os.path.dirname(layout["python"]), *stages.PATH.split(":"))))
        return stages.zygote_bundle(template, uid=uid, gid=gid, layout=layout, path=path)
    image = template.image
    if not os.path.isabs(image) or not os.path.isdir(image):
        raise TemplateError(f"image {image!r} is neither 'host' nor the absolute path of a folder")
    return stages.zygote_bundle(template, uid=uid, gid=gid, image_root=image)


def _host_layout() -> dict[str, Any]:
    """Return what of the host is seen in a sandbox: its system programs and this interpreter."""
    trees = ["/usr"]
    for path in (sys.base_prefix, os.path.realpath(sys.base_prefix), sys.prefix):
        if not any(path == tree or path.startswith(tree + "/") for tree in trees):
            trees.append(path)
    binds = {tree: tree for tree in trees}
    links = {}
    for name in ("/bin", "/lib", "/lib32", "/lib64", "/libx32", "/sbin"):
        if os.path.islink(name):
            links[name] = os.readlink(name)
        elif os.path.isdir(name):
            binds[name] = name
    if os.path.isdir("/etc/alternatives"):
        binds["/etc/alternatives"] = "/etc/alternatives"
    # execgym itself holds generators and references: none of it may be read in a sandbox.
    package = pathlib.Path(__file__).resolve().parents[1]
    # pip's configuration beside an interpreter may hold an index's password.
    masked_files = [
        path for path in (f"{tree}/pip.conf" for tree in binds.values()) if os.path.isfile(path)
    ]
    masks = [str(package)] if any(_is_below(package, tree) for tree in binds.values()) else []
    own = ("/dev/shm", "/sandbox", "/tmp", "/workspace")  # noqa: S108
    covered = [
        tree for tree in binds if any(pathlib.PurePath(tree).is_relative_to(place) for place in own)
    ]
    return {
        "binds": binds,
        "links": links,
        "folders": [],
        "linker_cache": "/etc/ld.so.cache",
        "masks": masks,
        "masked_files": masked_files,
        "covered": covered,
        "python": sys.executable,
    }


def _is_below(path: pathlib.Path, tree: str) -> bool:
    return path.is_relative_to(os.path.realpath(tree))
