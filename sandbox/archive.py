"""A folder's contents as bytes, and back. Standard library only, Python 3.8 or newer.

The sandbox's PID 1 packs and unpacks; the host checks every archive on its way in and out, since
both a guest and a caller may be wrong or lie. An archive is a line that names the format, then one
entry after the other: the contents of a folder come between its own entry and an end, by names in
the order of their bytes. So no name can come twice, be a path, or lie below anything but a folder,
and nothing in an archive can lead out of where it is unpacked: links are made and never followed.

Regular files, folders and symbolic links are kept, with permission bits and times of change. Hard
links become files of their own. FIFOs and sockets, which belong to running programs, are left out,
as is what is mounted below the folder.
"""

from __future__ import annotations

import errno
import os
import stat
import struct
from typing import Iterator, List, NamedTuple, Set, Tuple

from execgym.sandbox import kernel

MAGIC = b"execgym-archive-1\n"
MAX_DEPTH = 256
"""Folders within one another."""

END = 0
FOLDER = 1
FILE = 2
LINK = 3

_ENTRY = struct.Struct(">BHHqQ")
_MAX_NAME_BYTES = 255
_MAX_TARGET_BYTES = 4095
_PERMISSIONS = 0o777
_OWNER = 0o700
_LATEST = 2**63 - 1
# A file of less is read at once, one of more when its bytes are sent.
_LARGE_BYTES = 64 * 1024
# Small enough to stay in a processor's cache between a read and a write.
_PIECE_BYTES = 256 * 1024
_IN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class ArchiveError(Exception):
    """The bytes are no archive, or a folder cannot be made one."""


class Entry(NamedTuple):
    """One entry of an archive.

    Attributes:
        kind: `END` of the folder that was begun last, `FOLDER`, `FILE` or `LINK`.
        name: The name in its folder.
        mode: Permission bits.
        mtime_ns: When it was changed last, in nanoseconds since 1970.
        start: Where a file's bytes or a link's target begin in the archive.
        size: Their number.
    """

    kind: int
    name: bytes
    mode: int
    mtime_ns: int
    start: int
    size: int


def entries(data: bytes) -> Iterator[Entry]:
    """Yield an archive's entries, each checked before it is given.

    Raises:
        ArchiveError: The bytes are no archive.
    """
    if data[: len(MAGIC)] != MAGIC:
        raise ArchiveError("it does not begin as an archive of this version does")
    place = len(MAGIC)
    last_names = [b""]
    while last_names:
        if len(data) - place < _ENTRY.size:
            raise ArchiveError("it ends within an entry")
        kind, name_length, mode, mtime_ns, size = _ENTRY.unpack_from(data, place)
        start = place + _ENTRY.size + name_length
        place = start + size
        if place > len(data):
            raise ArchiveError("it ends within an entry")
        name = data[start - name_length : start]
        _check(kind, name, mode, size)
        if kind == END:
            last_names.pop()
        else:
            if name <= last_names[-1]:
                raise ArchiveError("its names are not in order")
            last_names[-1] = name
            if kind == FOLDER:
                if len(last_names) > MAX_DEPTH:
                    raise ArchiveError("its folders lie more than %d deep" % MAX_DEPTH)
                last_names.append(b"")
            elif kind == LINK and b"\0" in data[start:place]:
                raise ArchiveError("a link's target has a NUL")
        yield Entry(kind, name, mode, mtime_ns, start, size)
    if place != len(data):
        raise ArchiveError("something follows its end")


def _check(kind: int, name: bytes, mode: int, size: int) -> None:
    if kind == END:
        if name or mode or size:
            raise ArchiveError("the end of a folder holds something")
        return
    if kind not in (FOLDER, FILE, LINK):
        raise ArchiveError("it has an entry of an unknown kind")
    if not name or len(name) > _MAX_NAME_BYTES or b"/" in name or b"\0" in name:
        raise ArchiveError("a name is empty, too long, or a path")
    if name in (b".", b".."):
        raise ArchiveError("a name leads out of its folder")
    if mode & ~_PERMISSIONS:
        raise ArchiveError("a mode has more than permission bits")
    if kind == FOLDER and size:
        raise ArchiveError("a folder's entry has bytes of its own")
    if kind == LINK and not 0 < size <= _MAX_TARGET_BYTES:
        raise ArchiveError("a link's target is empty or too long")


def check(data: bytes) -> None:
    """Check that bytes are an archive.

    Raises:
        ArchiveError: They are not.
    """
    for _ in entries(data):
        pass


# ---- packing ----------------------------------------------------------------------------------


class Packed:
    """An archive in the making, of which large files are read when it is their turn.

    Args:
        max_bytes: What it may have at most.
    """

    def __init__(self, max_bytes: int) -> None:
        self.size = 0
        self._max_bytes = max_bytes
        # What has been read, and the descriptors of large files with the bytes to take from them.
        self._parts: List[bytearray | Tuple[int, int]] = [bytearray(MAGIC)]
        self._add(len(MAGIC))

    def append(self, kind: int, name: bytes, mode: int, changed: int, size: int) -> None:
        """Add an entry, but not the bytes that it says it has.

        Raises:
            ArchiveError: There would be more than there may be.
        """
        self._add(_ENTRY.size + len(name) + size)
        self._last += _ENTRY.pack(kind, len(name), mode, changed, size) + name

    def append_bytes(self, data: bytes) -> None:
        """Add the bytes of the last entry."""
        self._last += data

    def append_file(self, fd: int, size: int) -> None:
        """Add a file as the bytes of the last entry. The descriptor stays the caller's."""
        if size >= _LARGE_BYTES:
            try:
                self._parts.append((os.dup(fd), size))
            except OSError as error:
                if error.errno != errno.EMFILE:
                    raise
            else:
                self._parts.append(bytearray())
                return
        for piece in _pieces(fd, size, memoryview(bytearray(min(size, _PIECE_BYTES)))):
            self._last += piece

    def pieces(self) -> Iterator[memoryview]:
        """Yield the archive, piece by piece; each is good until the next is asked for.

        Raises:
            OSError: A large file cannot be read.
        """
        buffer = memoryview(bytearray(_PIECE_BYTES))
        for part in self._parts:
            if isinstance(part, bytearray):
                yield memoryview(part)
            else:
                yield from _pieces(part[0], part[1], buffer)

    def close(self) -> None:
        """Close the large files."""
        while self._parts:
            part = self._parts.pop()
            if not isinstance(part, bytearray):
                os.close(part[0])

    @property
    def _last(self) -> bytearray:
        part = self._parts[-1]
        assert isinstance(part, bytearray)
        return part

    @_last.setter
    def _last(self, part: bytearray) -> None:
        self._parts[-1] = part

    def _add(self, size: int) -> None:
        self.size += size
        if self.size > self._max_bytes:
            raise ArchiveError("larger than %d bytes" % self._max_bytes)


def pack(folder: str, max_bytes: int) -> Packed:
    """Return the archive of a folder's contents, to be closed.

    What this user owns and has closed to itself is opened for a moment. What vanishes meanwhile is
    left out. Nothing may write to the files until the archive has been read.

    Raises:
        ArchiveError: It would be larger than `max_bytes`, or its folders lie too deep.
        OSError: Something cannot be read.
    """
    mode = os.stat(folder).st_mode & _PERMISSIONS
    root = _open_root(folder, mode)
    packed = Packed(max_bytes)
    try:
        _pack_folder(root, packed, os.fstat(root).st_dev, 1)
    except BaseException:
        packed.close()
        raise
    finally:
        os.fchmod(root, mode)
        os.close(root)
    return packed


def _pack_folder(folder: int, packed: Packed, device: int, depth: int) -> None:
    for name in sorted(os.fsencode(name) for name in os.listdir(folder)):
        try:
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if found.st_dev == device:
                _pack_one(folder, name, found, packed, depth)
        except FileNotFoundError:
            continue
    packed.append(END, b"", 0, 0, 0)


def _pack_one(
    folder: int,
    name: bytes,
    found: os.stat_result,
    packed: Packed,
    depth: int,
) -> None:
    mode = found.st_mode & _PERMISSIONS
    changed = max(-_LATEST, min(found.st_mtime_ns, _LATEST))
    if stat.S_ISLNK(found.st_mode):
        target = os.readlink(name, dir_fd=folder)
        packed.append(LINK, name, 0, changed, len(target))
        packed.append_bytes(target)
    elif stat.S_ISDIR(found.st_mode):
        if depth >= MAX_DEPTH:
            raise ArchiveError("its folders lie more than %d deep" % MAX_DEPTH)
        inner = _open_own(folder, name, _IN_FOLDER, mode, stat.S_IRUSR | stat.S_IXUSR)
        try:
            packed.append(FOLDER, name, mode, changed, 0)
            _pack_folder(inner, packed, found.st_dev, depth + 1)
        finally:
            os.fchmod(inner, mode)
            os.close(inner)
    elif stat.S_ISREG(found.st_mode):
        # A FIFO may have taken its place, which would block.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        fd = _open_own(folder, name, flags, mode, stat.S_IRUSR)
        try:
            os.fchmod(fd, mode)
            size = os.fstat(fd).st_size
            packed.append(FILE, name, mode, changed, size)
            packed.append_file(fd, size)
        finally:
            os.close(fd)


def _pieces(fd: int, size: int, buffer: memoryview) -> Iterator[memoryview]:
    """Yield the first bytes of a file, each piece in the same memory."""
    place = 0
    while place < size:
        piece = buffer[: size - place]
        read = os.preadv(fd, [piece], place)
        if not read:
            # Somebody has cut it since: what was there reads as zeros.
            read = len(piece)
            piece[:] = bytes(read)
        place += read
        yield piece[:read]


def _open_root(folder: str, mode: int) -> int:
    if mode & _OWNER != _OWNER:
        os.chmod(folder, mode | _OWNER)
    return os.open(folder, _IN_FOLDER)


def _open_own(folder: int, name: bytes, flags: int, mode: int, needed: int) -> int:
    """Open something of this user's. Where it is closed to its owner, its mode has to be reset."""
    if mode & needed != needed:
        os.chmod(name, mode | needed, dir_fd=folder)
    return os.open(name, flags, dir_fd=folder)


# ---- unpacking --------------------------------------------------------------------------------


def unpack(folder: str, data: bytes) -> None:
    """Make a folder hold what an archive does, and nothing else.

    An archive that is none leaves the folder as it was. What cannot be written, as where space is
    short, leaves it empty.

    Raises:
        ArchiveError: The bytes are no archive.
        OSError: Something cannot be written.
    """
    checked = list(entries(data))
    root = _open_root(folder, os.stat(folder).st_mode & _PERMISSIONS)
    try:
        os.fchmod(root, 0o755)
        fixed = _mounted_below(folder)
        _clear(root, b"", fixed)
        try:
            _unpack_entries(root, checked, data)
        except OSError:
            _clear(root, b"", fixed)
            raise
    finally:
        os.close(root)


def _unpack_entries(root: int, checked: List[Entry], data: bytes) -> None:
    view = memoryview(data)
    # Each folder with the mode and the time that it gets once it is full.
    opened: List[Tuple[int, int, int]] = [(os.dup(root), 0o755, os.fstat(root).st_mtime_ns)]
    try:
        for kind, name, mode, mtime_ns, start, size in checked:
            folder = opened[-1][0]
            if kind == END:
                fd, mode, mtime_ns = opened.pop()
                _finish(fd, mode, mtime_ns)
            elif kind == FOLDER:
                try:
                    os.mkdir(name, _OWNER, dir_fd=folder)
                except FileExistsError:
                    pass  # Something is mounted below it.
                opened.append((os.open(name, _IN_FOLDER, dir_fd=folder), mode, mtime_ns))
            elif kind == FILE:
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
                fd = os.open(name, flags, 0o600, dir_fd=folder)
                try:
                    contents = view[start : start + size]
                    while contents:
                        contents = contents[os.write(fd, contents) :]
                except OSError:
                    os.close(fd)
                    raise
                _finish(fd, mode, mtime_ns)
            else:
                os.symlink(bytes(view[start : start + size]), name, dir_fd=folder)
                times = (mtime_ns, mtime_ns)
                os.utime(name, ns=times, dir_fd=folder, follow_symlinks=False)
    finally:
        for fd, _, _ in opened:
            os.close(fd)


def _finish(fd: int, mode: int, mtime_ns: int) -> None:
    try:
        os.fchmod(fd, mode)
        os.utime(fd, ns=(mtime_ns, mtime_ns))
    finally:
        os.close(fd)


def _mounted_below(folder: str) -> Set[bytes]:
    """Return the paths below a folder at which something is mounted, and the folders on the way."""
    paths: Set[bytes] = set()
    for place in kernel.mount_points():
        relative = place[len(os.fsencode(folder)) + 1 :]
        if relative and place == os.fsencode(folder) + b"/" + relative:
            parts = relative.split(b"/")
            paths.update(b"/".join(parts[: n + 1]) for n in range(len(parts)))
    return paths


def _clear(folder: int, path: bytes, fixed: Set[bytes]) -> None:
    """Remove what is in a folder but for what is mounted there and the folders on the way to it.

    A tree may be deeper than any path is long, or than there are descriptors: what a folder holds
    is moved up before the folder goes, so there is never more than one level to look into.
    """
    device = os.fstat(folder).st_dev
    spare = 0
    while True:
        left = False
        for name in [os.fsencode(name) for name in os.listdir(folder)]:
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
            inner_path = path + b"/" + name if path else name
            if inner_path in fixed:
                if found.st_dev == device:
                    os.chmod(name, found.st_mode & _PERMISSIONS | _OWNER, dir_fd=folder)
                    inner = os.open(name, _IN_FOLDER, dir_fd=folder)
                    try:
                        _clear(inner, inner_path, fixed)
                    finally:
                        os.close(inner)
            elif stat.S_ISDIR(found.st_mode):
                left = True
                spare = _flatten(folder, name, spare)
                os.rmdir(name, dir_fd=folder)
            else:
                os.unlink(name, dir_fd=folder)
        if not left:
            return


def _flatten(folder: int, name: bytes, spare: int) -> int:
    """Move the folders in a folder up beside it, and remove everything else that is in it."""
    os.chmod(name, _OWNER, dir_fd=folder)
    inner = os.open(name, _IN_FOLDER, dir_fd=folder)
    try:
        for each in [os.fsencode(each) for each in os.listdir(inner)]:
            if not stat.S_ISDIR(os.stat(each, dir_fd=inner, follow_symlinks=False).st_mode):
                os.unlink(each, dir_fd=inner)
                continue
            # To move a folder elsewhere, its own entry for the one above has to be written.
            os.chmod(each, _OWNER, dir_fd=inner)
            while True:
                spare += 1
                try:
                    os.rename(each, b"execgym-%d" % spare, src_dir_fd=inner, dst_dir_fd=folder)
                    break
                except OSError as error:
                    if error.errno not in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
                        raise
    finally:
        os.close(inner)
    return spare
