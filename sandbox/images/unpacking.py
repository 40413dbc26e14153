"""Unpacking an image into a folder, which the backend `namespace` takes as its root file system."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

from execgym.sandbox.docker_owner import labels
from execgym.sandbox.fingerprint import RECORD_NAME
from execgym.sandbox.images.daemon import docker_client
from execgym.sandbox.images.errors import ImageError, UnsafeArchiveError
from execgym.sandbox.images.labels import ImageRecord, read_record
from execgym.sandbox.images.templates import IMAGE_TEMPLATES

if TYPE_CHECKING:
    from docker import DockerClient

# The daemon makes these for a container, and each sandbox has its own.
_NOT_OF_THE_IMAGE = ("dev", "proc", "sys")
_ALSO_NOT = (".dockerenv", RECORD_NAME)
_PIECE_BYTES = 1 << 20
_LARGEST_NAME = 255
_LONGEST_PATH = 4095
_DEEPEST = 128
_LATEST = float(2**33)
_SLACK_BYTES = 64 * 1024 * 1024
_MAX_ENTRIES = 2_000_000
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def unpack_image(name: str, folder: str | os.PathLike[str]) -> ImageRecord:
    """Unpack an image's files into a new folder, all of them or none.

    What would give privileges stays behind: set-user-id bits, file capabilities, owners. A record
    at the top names the image's digest, which is then the fingerprint of sandboxes made from the
    folder, as it is of those in Docker.

    Args:
        name: Name of a template, or of any image that the daemon has.
        folder: The folder, which is not there yet.

    Returns:
        What the image says of itself.

    Raises:
        ImageError: No daemon answers, it has no such image, the folder is there, or there is no
            room.
        UnsafeArchiveError: The image holds what may not be in one.
    """
    target = pathlib.Path(os.path.abspath(folder))
    if os.path.lexists(target):
        raise ImageError(f"{target} is there already: name a new folder, or remove it first")
    if not target.parent.is_dir():
        raise ImageError(f"there is no folder {target.parent} to make {target.name} in")
    with docker_client() as client:
        record = _record(client, name)
        try:
            partial = tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent)
        except OSError as error:
            raise ImageError(f"{target} cannot be made: {error.strerror}") from None
        try:
            with _Export(client, record.digest) as stream:
                extract(stream, partial, record.size_bytes + _SLACK_BYTES)
            text = json.dumps({"digest": record.digest, "name": name})
            pathlib.Path(partial, RECORD_NAME).write_text(text + "\n")
            os.chmod(partial, 0o755)  # noqa: S103 - every sandbox's user has to see its root
            os.rename(partial, target)
        except OSError as error:
            raise ImageError(f"{name} cannot be unpacked: {error}") from error
        finally:
            _remove(partial)
    return record


def extract(stream: BinaryIO, folder: str, max_bytes: int) -> None:
    """Unpack a tar archive of a root file system into an empty folder.

    The archive is taken as hostile: nothing in it can be written outside of the folder, or through
    a link. Devices and pipes are refused, but below `/dev`, which is left out. Permission bits and
    times are kept, owners and the bits that give privileges are not.

    Args:
        stream: The archive, of which only `read` is asked.
        folder: Where to.
        max_bytes: What its files may have together.

    Raises:
        UnsafeArchiveError: It is no archive, or it has an entry that may not be in one.
        OSError: Something cannot be written.
    """
    with _Tree(folder, max_bytes) as tree:
        try:
            with tarfile.open(fileobj=stream, mode="r|") as archive:
                for count, member in enumerate(archive):
                    if count >= _MAX_ENTRIES:
                        raise UnsafeArchiveError(f"it has more than {_MAX_ENTRIES} entries")
                    tree.add(archive, member)
                    # The module remembers every entry, for those who want to go back.
                    archive.members = []  # type: ignore[attr-defined]
        except (tarfile.TarError, ValueError, EOFError) as error:
            raise UnsafeArchiveError(f"it is no tar archive: {error}") from error
        tree.finish()


class _Tree:
    """The folder that is being filled. Every step into it goes from descriptor to descriptor."""

    def __init__(self, folder: str, max_bytes: int) -> None:
        self._root = os.open(folder, _FOLDER)
        self._bytes_left = max_bytes
        self._folders: dict[tuple[str, ...], tuple[int, float]] = {}
        self._parent: tuple[tuple[str, ...], int] = ((), os.dup(self._root))

    def __enter__(self) -> _Tree:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._parent[1])
        os.close(self._root)

    def add(self, archive: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        """Unpack one entry."""
        path = _path(member.name)
        if not path or path[0] in _NOT_OF_THE_IMAGE or path in [(name,) for name in _ALSO_NOT]:
            return
        parent, name = self._open_parent(path[:-1]), path[-1]
        try:
            if member.isdir():
                self._add_folder(parent, path, member)
            elif member.isreg():
                self._add_file(parent, name, archive, member)
            elif member.issym():
                _check_target(member)
                os.symlink(member.linkname, name, dir_fd=parent)
            elif member.islnk():
                self._add_hard_link(path, member)
            else:
                raise UnsafeArchiveError(f"{member.name!r} is a device or a pipe")
        except FileExistsError:
            raise UnsafeArchiveError(f"{member.name!r} comes twice") from None

    def finish(self) -> None:
        """Give the folders their bits and times, which filling them would have changed."""
        for path in sorted(self._folders, reverse=True):
            mode, modified = self._folders[path]
            parent = self._open_parent(path[:-1])
            fd = os.open(path[-1], _FOLDER, dir_fd=parent)
            try:
                os.utime(fd, (modified, modified))
                os.fchmod(fd, mode)
            finally:
                os.close(fd)

    def _add_folder(self, parent: int, path: tuple[str, ...], member: tarfile.TarInfo) -> None:
        if path not in self._folders:
            os.mkdir(path[-1], 0o700, dir_fd=parent)
        self._folders[path] = (member.mode & 0o777, _time(member))

    def _add_file(
        self, parent: int, name: str, archive: tarfile.TarFile, member: tarfile.TarInfo
    ) -> None:
        self._bytes_left -= member.size
        if self._bytes_left < 0:
            raise UnsafeArchiveError("its files are larger than the image is said to be")
        contents = archive.extractfile(member)
        fd = os.open(name, _NEW_FILE, 0o600, dir_fd=parent)
        with os.fdopen(fd, "wb", buffering=0) as file:
            if contents is not None:
                shutil.copyfileobj(contents, file, _PIECE_BYTES)
            os.fchmod(fd, member.mode & 0o777)
            os.utime(fd, (_time(member), _time(member)))

    def _add_hard_link(self, path: tuple[str, ...], member: tarfile.TarInfo) -> None:
        target = _path(member.linkname)
        if not target or target[0] in _NOT_OF_THE_IMAGE:
            raise UnsafeArchiveError(f"{member.name!r} is a link to {member.linkname!r}")
        # The one descriptor that is kept open is now of the target's folder.
        source = os.dup(self._open_parent(target[:-1]))
        try:
            os.link(
                target[-1],
                path[-1],
                src_dir_fd=source,
                dst_dir_fd=self._open_parent(path[:-1]),
                follow_symlinks=False,
            )
        except (FileNotFoundError, PermissionError):
            raise UnsafeArchiveError(
                f"{member.name!r} is a link to {member.linkname!r}, which is no file before it"
            ) from None
        finally:
            os.close(source)

    def _open_parent(self, path: tuple[str, ...]) -> int:
        """Return a descriptor of a folder that has been made before; it is good until the next."""
        if self._parent[0] == path:
            return self._parent[1]
        fd = os.dup(self._root)
        for depth, name in enumerate(path):
            try:
                inner = os.open(name, _FOLDER, dir_fd=fd)
            except FileNotFoundError:
                os.mkdir(name, 0o700, dir_fd=fd)
                self._folders[path[: depth + 1]] = (0o755, 0.0)
                inner = os.open(name, _FOLDER, dir_fd=fd)
            except OSError:
                raise UnsafeArchiveError(
                    f"{'/'.join(path)!r} leads through {name!r}, which is no folder"
                ) from None
            finally:
                os.close(fd)
            fd = inner
        os.close(self._parent[1])
        self._parent = (path, fd)
        return fd


def _path(name: str) -> tuple[str, ...]:
    """Return a path's parts, none for the root."""
    parts = tuple(part for part in name.split("/") if part not in ("", "."))
    if name.startswith("/") or ".." in parts or "\0" in name:
        raise UnsafeArchiveError(f"{name!r} leads out of the folder")
    if len(parts) > _DEEPEST or len(os.fsencode(name)) > _LONGEST_PATH:
        raise UnsafeArchiveError(f"{name[:80]!r}... is too long or too deep a path")
    if any(len(os.fsencode(part)) > _LARGEST_NAME for part in parts):
        raise UnsafeArchiveError(f"{name[:80]!r}... has a part of more than {_LARGEST_NAME} bytes")
    return parts


def _time(member: tarfile.TarInfo) -> float:
    """Return when an entry was changed, within what a file system can say."""
    # Of NaN this makes zero, too.
    return min(max(0.0, float(member.mtime)), _LATEST) if member.mtime > 0 else 0.0


def _check_target(member: tarfile.TarInfo) -> None:
    # Where it leads is the sandbox's affair, in which the folder is the root.
    if not member.linkname or "\0" in member.linkname or len(os.fsencode(member.linkname)) > 4095:
        raise UnsafeArchiveError(f"{member.name!r} is a link to nothing that can be named")


class _Export:
    """An image's files as a tar stream, from a container that never runs."""

    def __init__(self, client: DockerClient, image: str) -> None:
        self._client = client
        self._image = image
        self._container = ""
        self._pieces: Iterator[bytes] = iter(())
        self._left = b""

    def __enter__(self) -> BinaryIO:
        made = self._client.api.create_container(
            self._image, ["execgym-unpack"], network_disabled=True, labels=labels("unpack")
        )
        self._container = str(made["Id"])
        try:
            self._pieces = self._client.api.export(self._container, chunk_size=_PIECE_BYTES)
        except BaseException:
            self.__exit__()
            raise
        return self  # type: ignore[return-value]

    def __exit__(self, *_: object) -> None:
        self._client.api.remove_container(self._container, force=True)

    def read(self, size: int) -> bytes:
        """Return the next bytes of the stream, fewer only at its end."""
        parts = []
        while size > 0:
            piece = self._left or next(self._pieces, b"")
            if not piece:
                break
            parts.append(piece[:size])
            self._left = piece[size:]
            size -= len(parts[-1])
        return b"".join(parts)


def _record(client: DockerClient, name: str) -> ImageRecord:
    import docker

    template = IMAGE_TEMPLATES.get(name)
    try:
        image = client.images.get(template.tag if template is not None else name)
    except docker.errors.ImageNotFound:
        way = (
            f"execgym images build {name}"
            if template is not None
            else f"docker pull {name}, or one of {', '.join(IMAGE_TEMPLATES)}"
        )
        raise ImageError(f"the daemon has no image {name!r}: {way}") from None
    return read_record(image)


def _remove(folder: str) -> None:
    """Remove a tree, closed folders included."""
    if not os.path.lexists(folder):
        return
    os.chmod(folder, 0o700)
    for path, folders, _ in os.walk(folder):
        # They are looked into next.
        for name in folders:
            if not os.path.islink(os.path.join(path, name)):
                os.chmod(os.path.join(path, name), 0o700)
    shutil.rmtree(folder, ignore_errors=True)
