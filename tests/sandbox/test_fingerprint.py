"""A fingerprint names what a sandbox was made from, and nothing more."""

import json
import os
import subprocess
import sys

import pytest

from execgym.sandbox import SandboxSpec, Template, image_fingerprint, run_sync
from execgym.sandbox.fingerprint import RECORD_NAME, folder_fingerprint, host_fingerprint

DIGEST = "sha256:" + "0123456789abcdef" * 4


def test_a_sandbox_carries_the_hosts_fingerprint(sandbox):
    assert sandbox.fingerprint == host_fingerprint()
    assert run_sync(image_fingerprint(SandboxSpec())) == host_fingerprint()
    kind, _, digest = host_fingerprint().partition(":")
    assert (kind, len(digest)) == ("sha256", 64)


def test_the_hosts_fingerprint_is_the_same_in_every_process():
    code = "from execgym.sandbox.fingerprint import host_fingerprint; print(host_fingerprint())"
    command = [sys.executable, "-c", code]
    output = subprocess.run(command, capture_output=True, text=True, check=True, cwd="/").stdout
    assert output.strip() == host_fingerprint()


def test_another_package_or_version_gives_another_fingerprint(monkeypatch, tmp_path):
    monkeypatch.setattr("site.getsitepackages", lambda: [str(tmp_path)])
    seen = set()
    for name in (None, "numpy-1.0.dist-info", "numpy-1.1.dist-info", "Debian-1.egg-info"):
        if name is not None:
            (tmp_path / name).mkdir()
        host_fingerprint.cache_clear()
        seen.add(host_fingerprint())
    assert len(seen) == 4
    (tmp_path / "execgym-9.dist-info").mkdir()
    (tmp_path / "numpy").mkdir()
    host_fingerprint.cache_clear()
    assert host_fingerprint() in seen
    host_fingerprint.cache_clear()


def test_an_unpacked_image_has_the_digest_that_was_recorded(tmp_path):
    (tmp_path / RECORD_NAME).write_text(json.dumps({"digest": DIGEST}))
    spec = SandboxSpec(template=Template(image=str(tmp_path)))
    assert run_sync(image_fingerprint(spec)) == DIGEST


@pytest.mark.parametrize(
    "record", ["", "[]", "{}", '{"digest": 1}', '{"digest": "sha256:x"}', "\xff", "[" * 100_000]
)
def test_a_damaged_record_is_no_digest(tmp_path, record):
    (tmp_path / RECORD_NAME).write_text(record)
    assert folder_fingerprint(str(tmp_path)) == folder_fingerprint(str(tmp_path / "empty"))


def test_a_root_file_system_made_by_hand_is_told_by_its_packages(tmp_path):
    seen = set()
    for name in ("one", "two", "three"):
        root = tmp_path / name
        (root / "usr/lib/python3.11/site-packages/numpy-1.0.dist-info").mkdir(parents=True)
        (root / "var/lib/dpkg").mkdir(parents=True)
        (root / "var/lib/dpkg/status").write_text("Package: python3\n")
    (tmp_path / "two/usr/lib/python3.11/site-packages/pandas-1.0.dist-info").mkdir()
    (tmp_path / "three/var/lib/dpkg/status").write_text("Package: python4\n")
    seen = {folder_fingerprint(str(tmp_path / name)) for name in ("one", "two", "three")}
    assert len(seen) == 3


def test_nothing_outside_a_root_file_system_is_read_and_nothing_blocks(tmp_path):
    (tmp_path / "outside").write_text(json.dumps({"digest": DIGEST}))
    root = tmp_path / "root"
    (root / "usr/lib").mkdir(parents=True)
    (root / RECORD_NAME).symlink_to(tmp_path / "outside")
    os.mkfifo(root / "usr/lib/os-release")
    assert folder_fingerprint(str(root)) == folder_fingerprint(str(tmp_path / "nothing"))
