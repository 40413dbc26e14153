"""Unpacking images: what is in one comes out, and nothing that is in an archive gets out."""

import contextlib
import io
import json
import os
import stat
import tarfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from execgym.sandbox import SandboxSpec, Template, open_sandbox, run_sync
from execgym.sandbox.images import ImageError, UnsafeArchiveError, image_states, unpack_image
from execgym.sandbox.images.unpacking import extract

LARGE = 2**20


def entry(name, kind=tarfile.REGTYPE, data=b"", link="", mode=0o644, size=None):
    member = tarfile.TarInfo(name)
    member.type, member.linkname, member.mode, member.mtime = kind, link, mode, 1_000_000_000
    member.size = len(data) if size is None else size
    return member, data


def archive(*entries):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for member, data in entries:
            tar.addfile(member, io.BytesIO(data))
    file.seek(0)
    return file


@pytest.fixture
def folder(tmp_path):
    inner = tmp_path / "outside" / "root"
    inner.mkdir(parents=True)
    (tmp_path / "outside" / "kept").write_text("kept")
    yield inner
    assert sorted(os.listdir(tmp_path / "outside")) == ["kept", "root"]
    assert (tmp_path / "outside" / "kept").read_text() == "kept"


def test_a_tree_is_unpacked_with_its_bits_times_and_links(folder):
    extract(
        archive(
            entry("usr", tarfile.DIRTYPE, mode=0o555),
            entry("usr/bin/tool", data=b"#!/bin/sh", mode=0o755),
            entry("usr/bin/same", tarfile.LNKTYPE, link="usr/bin/tool"),
            entry("bin", tarfile.SYMTYPE, link="usr/bin"),
            entry("./etc/", tarfile.DIRTYPE, mode=0o755),
            entry("./etc/naïve", data=bytes(1000)),
        ),
        str(folder),
        LARGE,
    )
    assert (folder / "usr/bin/tool").read_bytes() == b"#!/bin/sh"
    assert stat.S_IMODE((folder / "usr/bin/tool").stat().st_mode) == 0o755
    assert stat.S_IMODE((folder / "usr").stat().st_mode) == 0o555
    assert (folder / "usr").stat().st_mtime == 1_000_000_000
    assert os.path.samefile(folder / "usr/bin/same", folder / "usr/bin/tool")
    assert os.readlink(folder / "bin") == "usr/bin"
    assert (folder / "etc/naïve").stat().st_size == 1000


def test_bits_that_give_privileges_stay_behind(folder):
    extract(
        archive(entry("su", mode=0o6755), entry("t", tarfile.DIRTYPE, mode=0o7777)), str(folder), 1
    )
    assert stat.S_IMODE((folder / "su").stat().st_mode) == 0o755
    assert stat.S_IMODE((folder / "t").stat().st_mode) == 0o777


def test_what_the_daemon_makes_for_a_container_is_left_out(folder):
    extract(
        archive(
            entry("dev", tarfile.DIRTYPE),
            entry("dev/console", tarfile.CHRTYPE),
            entry("proc/1/status", data=b"x"),
            entry("sys", tarfile.DIRTYPE),
            entry(".dockerenv"),
            entry(".execgym-image.json", data=b'{"digest": "forged"}'),
        ),
        str(folder),
        LARGE,
    )
    assert os.listdir(folder) == []


ATTACKS = {
    "a path from the root": [entry("/etc/passwd", data=b"x")],
    "a way up": [entry("../kept", data=b"x")],
    "a way up within": [entry("a/../../kept", data=b"x")],
    "a file through a link": [
        entry("a", tarfile.SYMTYPE, link=".."),
        entry("a/kept", data=b"x"),
    ],
    "a folder through a link": [
        entry("a", tarfile.SYMTYPE, link=".."),
        entry("a/b", tarfile.DIRTYPE),
    ],
    "a folder in the place of a link": [
        entry("a", tarfile.SYMTYPE, link=".."),
        entry("a", tarfile.DIRTYPE),
        entry("a/kept", data=b"x"),
    ],
    "a file in the place of a link": [
        entry("a", tarfile.SYMTYPE, link="../kept"),
        entry("a", data=b"x"),
    ],
    "a link in the place of a folder": [
        entry("a", tarfile.DIRTYPE),
        entry("a", tarfile.SYMTYPE, link=".."),
    ],
    "a link to a link, and into it": [
        entry("a", tarfile.SYMTYPE, link="b"),
        entry("b", tarfile.SYMTYPE, link=".."),
        entry("a/kept", data=b"x"),
    ],
    "a hard link to the outside": [entry("a", tarfile.LNKTYPE, link="../kept")],
    "a hard link to the root's file": [entry("a", tarfile.LNKTYPE, link="/etc/passwd")],
    "a hard link through a link": [
        entry("a", tarfile.SYMTYPE, link=".."),
        entry("b", tarfile.LNKTYPE, link="a/kept"),
    ],
    "a hard link to nothing": [entry("a", tarfile.LNKTYPE, link="b")],
    "a hard link to a folder": [
        entry("b", tarfile.DIRTYPE),
        entry("a", tarfile.LNKTYPE, link="b"),
    ],
    "a hard link over a file": [
        entry("a", data=b"1"),
        entry("b", data=b"2"),
        entry("a", tarfile.LNKTYPE, link="b"),
    ],
    "a device": [entry("null", tarfile.CHRTYPE)],
    "a disk": [entry("sda", tarfile.BLKTYPE)],
    "a pipe": [entry("pipe", tarfile.FIFOTYPE)],
    "a file through a file": [entry("a", data=b"x"), entry("a/b", data=b"x")],
    "a file twice": [entry("a", data=b"x"), entry("a", data=b"y")],
    "more than it may hold": [entry("a", data=bytes(600_000)), entry("b", data=bytes(600_000))],
    "a path that is too deep": [entry("a/" * 200 + "f", data=b"x")],
    "a link to nothing": [entry("a", tarfile.SYMTYPE, link="")],
    "a name that is too long": [entry("x" * 300, data=b"x")],
}


@pytest.mark.parametrize("name", ATTACKS)
def test_an_archive_that_wants_out_is_refused(folder, name):
    with pytest.raises(UnsafeArchiveError):
        extract(archive(*ATTACKS[name]), str(folder), LARGE)


def test_a_hard_link_to_a_link_is_not_followed(folder):
    extract(
        archive(entry("a", tarfile.SYMTYPE, link="../kept"), entry("b", tarfile.LNKTYPE, link="a")),
        str(folder),
        LARGE,
    )
    assert os.readlink(folder / "b") == "../kept"


def test_holes_do_not_hide_how_large_a_file_is(folder):
    member, _ = entry("a", size=2**40)
    promise = member.tobuf(tarfile.PAX_FORMAT) + bytes(10_000)
    with pytest.raises(UnsafeArchiveError, match="larger"):
        extract(io.BytesIO(promise), str(folder), LARGE)


def test_an_archive_that_is_cut_off_is_none(folder):
    whole = archive(entry("a", data=bytes(100_000))).getvalue()
    with pytest.raises(UnsafeArchiveError):
        extract(io.BytesIO(whole[:50_000]), str(folder), LARGE)


@settings(deadline=None, max_examples=150)
@given(st.binary(max_size=3000), st.integers(0, 600), st.binary(min_size=1, max_size=20))
def test_no_bytes_break_out_or_give_another_error(tmp_path_factory, data, place, change):
    folder = tmp_path_factory.mktemp("root")
    whole = bytearray(archive(entry("a/b", data=data), entry("c", data=b"x")).getvalue())
    whole[place : place + len(change)] = change
    before = sorted(os.listdir(folder.parent))
    for candidate in (bytes(whole), data):
        with contextlib.suppress(UnsafeArchiveError, OSError):
            extract(io.BytesIO(candidate), str(folder), LARGE)
    assert sorted(os.listdir(folder.parent)) == before


def test_an_image_is_unpacked_and_its_sandboxes_are_told_by_its_digest(base_image, tmp_path):
    record = unpack_image("base", tmp_path / "base")
    assert record == image_states()[0].record
    assert (
        json.loads((tmp_path / "base/.execgym-image.json").read_text())["digest"] == record.digest
    )
    assert os.listdir(tmp_path) == ["base"]
    spec = SandboxSpec(backend="namespace", template=Template(image=str(tmp_path / "base")))

    async def look():
        async with await open_sandbox(spec) as sandbox:
            result = await sandbox.run_python(
                "import os, platform, sqlite3\n"
                "print(platform.python_version(), sqlite3.connect(':memory:').execute('SELECT 1')"
                ".fetchone(), os.path.exists('/.execgym-image.json'))"
            )
            return sandbox.fingerprint, result.stdout.decode().strip()

    assert run_sync(look()) == (record.digest, f"{record.python} (1,) False")


def test_a_name_that_the_daemon_does_not_know_says_what_to_do(base_image, tmp_path):
    with pytest.raises(ImageError, match="docker pull no/such"):
        unpack_image("no/such", tmp_path / "new")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("kind", ["folder", "file", "dangling link"])
def test_nothing_that_is_there_is_touched(tmp_path, kind):
    target = tmp_path / "there"
    if kind == "folder":
        target.mkdir()
    elif kind == "file":
        target.write_text("kept")
    else:
        target.symlink_to("nowhere")
    with pytest.raises(ImageError, match="is there already"):
        unpack_image("base", target)


def test_a_folder_to_make_it_in_has_to_be_there(tmp_path):
    with pytest.raises(ImageError, match="there is no folder"):
        unpack_image("base", tmp_path / "no" / "such")


def test_what_cannot_be_unpacked_whole_leaves_nothing(base_image, tmp_path, monkeypatch):
    def fail(stream, folder, max_bytes):
        with open(os.path.join(folder, "half"), "w") as file:
            file.write("x")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("execgym.sandbox.images.unpacking.extract", fail)
    with pytest.raises(ImageError, match="No space left"):
        unpack_image("base", tmp_path / "new")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("when", [float("inf"), float("nan"), 1e30, -1e30, -1.0])
def test_a_time_that_no_file_can_have_is_the_nearest_that_one_can(folder, when):
    file, made = entry("a", data=b"x"), entry("b", tarfile.DIRTYPE)
    for member, _ in (file, made):
        member.mtime = 0
        member.pax_headers = {"mtime": repr(when)}
    extract(archive(file, made), str(folder), LARGE)
    assert 0 <= (folder / "a").stat().st_mtime <= 2**33


def test_what_was_half_unpacked_goes_though_it_is_closed(tmp_path, monkeypatch, base_image):
    def fail(stream, folder, max_bytes):
        os.makedirs(os.path.join(folder, "closed", "inner"))
        os.chmod(os.path.join(folder, "closed"), 0)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("execgym.sandbox.images.unpacking.extract", fail)
    with pytest.raises(ImageError, match="No space left"):
        unpack_image("base", tmp_path / "new")
    assert os.listdir(tmp_path) == []
