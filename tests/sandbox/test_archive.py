"""The archive of a folder: what is packed comes back, and hostile bytes are refused."""

import contextlib
import errno
import os
import stat
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from execgym.sandbox import archive
from execgym.sandbox.archive import END, FILE, FOLDER, LINK, MAGIC, ArchiveError

LARGE = 1 << 20
END_OF_ROOT = struct.pack(">BHHqQ", END, 0, 0, 0, 0)


def entry(kind, name=b"", data=b"", *, mode=0, name_length=None, size=None):
    lengths = (
        len(name) if name_length is None else name_length,
        len(data) if size is None else size,
    )
    return struct.pack(">BHHqQ", kind, lengths[0], mode, 0, lengths[1]) + name + data


def pack(folder, max_bytes):
    packed = archive.pack(folder, max_bytes)
    try:
        data = b"".join(bytes(piece) for piece in packed.pieces())
        assert len(data) == packed.size
        return data
    finally:
        packed.close()


def described(folder):
    """Return what a folder holds, by relative path."""
    found = {}
    for at, folders, files in os.walk(os.fsencode(folder)):
        for name in folders + files:
            path = os.path.join(at, name)
            status = os.lstat(path)
            contents = b""
            if stat.S_ISLNK(status.st_mode):
                contents = os.readlink(path)
            elif stat.S_ISREG(status.st_mode):
                with open(path, "rb") as file:
                    contents = file.read()
            relative = os.path.relpath(path, os.fsencode(folder))
            found[relative] = (status.st_mode, status.st_mtime_ns, contents)
    return found


names = st.binary(min_size=1, max_size=12).filter(
    lambda name: not set(name) & {0, 0x2F} and name not in (b".", b"..")
)
trees = st.recursive(
    st.one_of(
        st.binary(max_size=300),
        st.tuples(st.binary(min_size=1, max_size=30).filter(lambda target: 0 not in target)),
    ),
    lambda inner: st.dictionaries(names, inner, max_size=4),
    max_leaves=12,
)


def grow(folder, tree):
    for name, what in tree.items():
        path = os.path.join(folder, name)
        if isinstance(what, dict):
            os.mkdir(path)
            grow(path, what)
        elif isinstance(what, tuple):
            os.symlink(what[0], path)
        else:
            with open(path, "wb") as file:
                file.write(what)


@settings(max_examples=60, deadline=None)
@given(before=st.dictionaries(names, trees, max_size=4), other=st.dictionaries(names, trees))
def test_what_is_packed_comes_back_whatever_was_there(tmp_path_factory, before, other):
    source, target = (str(tmp_path_factory.mktemp("tree")) for _ in range(2))
    grow(os.fsencode(source), before)
    grow(os.fsencode(target), other)
    packed = pack(source, LARGE)
    archive.unpack(target, packed)
    assert described(target) == described(source)
    assert pack(target, LARGE) == packed


@settings(max_examples=300, deadline=None)
@given(data=st.binary(max_size=200), place=st.integers(0, 10_000), whole=st.booleans())
def test_no_bytes_raise_anything_but_the_error(data, place, whole):
    good = (
        MAGIC
        + entry(FOLDER, b"a", mode=0o755)
        + entry(FILE, b"b", b"contents", mode=0o644)
        + END_OF_ROOT
        + entry(LINK, b"c", b"../x")
        + END_OF_ROOT
    )
    place %= len(good)
    changed = MAGIC + data if whole else good[:place] + data + good[place + len(data) :]
    with contextlib.suppress(ArchiveError):
        list(archive.entries(changed))


HOSTILE = {
    "nothing": b"",
    "another version": b"execgym-archive-2\n" + END_OF_ROOT,
    "no end": MAGIC + entry(FILE, b"a"),
    "more after the end": MAGIC + END_OF_ROOT + END_OF_ROOT,
    "a folder that is not ended": MAGIC + entry(FOLDER, b"a") + END_OF_ROOT,
    "a file twice": MAGIC + entry(FILE, b"a") * 2 + END_OF_ROOT,
    "a file below a link": MAGIC + entry(LINK, b"a", b"/") + entry(FILE, b"a/b") + END_OF_ROOT,
    "a link, then a folder of its name": MAGIC
    + entry(LINK, b"a", b"/etc")
    + entry(FOLDER, b"a")
    + END_OF_ROOT * 2,
    "names out of order": MAGIC + entry(FILE, b"b") + entry(FILE, b"a") + END_OF_ROOT,
    "an absolute name": MAGIC + entry(FILE, b"/etc/passwd") + END_OF_ROOT,
    "a path": MAGIC + entry(FILE, b"a/b") + END_OF_ROOT,
    "the folder itself": MAGIC + entry(FOLDER, b".") + END_OF_ROOT * 2,
    "the folder above": MAGIC + entry(FOLDER, b"..") + END_OF_ROOT * 2,
    "an empty name": MAGIC + entry(FILE, b"") + END_OF_ROOT,
    "a NUL in a name": MAGIC + entry(FILE, b"a\0b") + END_OF_ROOT,
    "a name of 256 bytes": MAGIC + entry(FILE, b"a" * 256) + END_OF_ROOT,
    "a device": MAGIC + entry(4, b"a") + END_OF_ROOT,
    "a setuid bit": MAGIC + entry(FILE, b"a", mode=0o4755) + END_OF_ROOT,
    "a folder with contents": MAGIC + entry(FOLDER, b"a", b"x") + END_OF_ROOT * 2,
    "an end with a name": MAGIC + entry(END, b"a"),
    "an empty link": MAGIC + entry(LINK, b"a") + END_OF_ROOT,
    "a NUL in a link": MAGIC + entry(LINK, b"a", b"b\0c") + END_OF_ROOT,
    "a link of 4,096 bytes": MAGIC + entry(LINK, b"a", b"x" * 4096) + END_OF_ROOT,
    "a size beyond the end": MAGIC + entry(FILE, b"a", b"x", size=2) + END_OF_ROOT[:-1],
    "a size of 2^64": MAGIC + entry(FILE, b"a", b"x", size=2**64 - 1) + END_OF_ROOT,
    "a name beyond the end": MAGIC + entry(FILE, b"a", name_length=65535),
    "folders without end": MAGIC + entry(FOLDER, b"a") * 300 + END_OF_ROOT * 301,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_archive_is_refused_and_changes_nothing(tmp_path, name):
    (tmp_path / "there").write_text("before")
    with pytest.raises(ArchiveError):
        archive.unpack(str(tmp_path), HOSTILE[name])
    assert (tmp_path / "there").read_text() == "before"
    assert os.listdir(tmp_path) == ["there"]


def test_links_are_made_and_never_followed(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("untouched")
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "link").symlink_to(outside)
    archive.unpack(
        str(inside),
        MAGIC
        + entry(FOLDER, b"link", mode=0o755)
        + entry(FILE, b"file", b"new", mode=0o644)
        + END_OF_ROOT * 2,
    )
    assert (outside / "file").read_text() == "untouched"
    assert (inside / "link" / "file").read_text() == "new"


def test_a_path_below_a_link_cannot_even_be_said():
    with pytest.raises(ArchiveError, match="order"):
        archive.check(MAGIC + entry(LINK, b"a", b"/etc") + entry(FOLDER, b"a") + END_OF_ROOT * 2)


def test_what_has_no_room_is_taken_away_again(tmp_path, monkeypatch):
    (tmp_path / "before").write_text("x")
    data = MAGIC + entry(FILE, b"a", b"x") + entry(FILE, b"b", b"y") + END_OF_ROOT
    written = []

    def write(fd, contents):
        if written:
            raise OSError(28, "No space left on device")
        written.append(bytes(contents))
        return len(contents)

    monkeypatch.setattr(archive.os, "write", write)
    with pytest.raises(OSError, match="No space"):
        archive.unpack(str(tmp_path), data)
    monkeypatch.undo()
    assert os.listdir(tmp_path) == []


def test_the_bound_is_on_the_whole_archive(tmp_path):
    (tmp_path / "file").write_bytes(bytes(100))
    size = len(pack(str(tmp_path), LARGE))
    assert len(pack(str(tmp_path), size)) == size
    with pytest.raises(ArchiveError, match=f"larger than {size - 1} bytes"):
        pack(str(tmp_path), size - 1)


@pytest.mark.parametrize("mode", [0, 0o100, 0o400, 0o555])
def test_packing_leaves_the_folder_as_closed_as_it_was(tmp_path, mode):
    (tmp_path / "file").write_text("x")
    tmp_path.chmod(mode)
    assert b"file" in pack(str(tmp_path), LARGE)
    assert stat.S_IMODE(tmp_path.stat().st_mode) == mode
    tmp_path.chmod(0o755)


@pytest.mark.parametrize("size", [0, 1, 65_535, 65_536, 262_144, 262_145])
def test_files_of_every_size_come_back(tmp_path, size):
    source, target = tmp_path / "source", tmp_path / "target"
    source.mkdir()
    target.mkdir()
    for name in ("a", "b"):
        (source / name).write_bytes(os.urandom(size))
    archive.unpack(str(target), pack(str(source), LARGE))
    assert described(target) == described(source)


def test_large_files_are_packed_without_a_descriptor_to_spare(tmp_path, monkeypatch):
    (tmp_path / "large").write_bytes(bytes(range(256)) * 1000)
    expected = pack(str(tmp_path), LARGE)

    def refuse(_):
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(archive.os, "dup", refuse)
    assert pack(str(tmp_path), LARGE) == expected


def test_a_file_that_is_cut_meanwhile_ends_in_zeros(tmp_path):
    large = tmp_path / "large"
    large.write_bytes(b"x" * 300_000)
    packed = archive.pack(str(tmp_path), LARGE)
    os.truncate(large, 100_000)
    data = b"".join(bytes(piece) for piece in packed.pieces())
    packed.close()
    (entry, _) = archive.entries(data)
    contents = data[entry.start : entry.start + entry.size]
    assert contents == b"x" * 100_000 + bytes(200_000)


def test_packing_leaves_no_descriptor_open_whether_or_not_it_can_be_done(tmp_path):
    (tmp_path / "folder").mkdir()
    for name in ("large", "folder/large"):
        (tmp_path / name).write_bytes(bytes(100_000))
    before = os.listdir("/proc/self/fd")
    pack(str(tmp_path), LARGE)
    with pytest.raises(ArchiveError):
        archive.pack(str(tmp_path), 150_000)
    assert os.listdir("/proc/self/fd") == before
