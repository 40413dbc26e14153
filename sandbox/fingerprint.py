"""What a sandbox's image is, as one digest that goes into `info` and every trajectory.

An image of Docker's has an id, and so does one that `execgym images unpack` has unpacked. The host
has none, so its fingerprint is a digest of what a program can tell one host from another by: the
Python and its compiler, the C library, SQLite, the system's release and processor architecture, and
the name and version of every distribution that a sandbox can import. Not part of it are the kernel,
which is not part of a Docker image either, and the system's other programs.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import pathlib
import platform
import re
import site
import sqlite3
import stat
import sys
from collections.abc import Iterable
from typing import Any

from execgym.sandbox.spec import Template

RECORD_NAME = ".execgym-image.json"
"""The file at the top of an unpacked image that holds the image's digest. No sandbox sees it."""

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}\Z")
_DISTRIBUTION_SUFFIXES = (".dist-info", ".egg-info")
_PACKAGE_FOLDERS = ("usr/lib/python3*/*-packages", "usr/local/lib/python3*/*-packages")
_RELEASE_FILES = ("usr/lib/os-release", "var/lib/dpkg/status")
_LARGEST_FILE_BYTES = 16 * 1024 * 1024


def template_fingerprint(template: Template) -> str:
    """Return the fingerprint of a template's image in the backend `namespace`: `"sha256:..."`."""
    if template.image == "host":
        return host_fingerprint()
    return folder_fingerprint(template.image)


@functools.cache
def host_fingerprint() -> str:
    """Return the fingerprint of this host's interpreter and packages, as they were at first use."""
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        release = {}
    return _digest(
        {
            "python": sys.version,
            "implementation": sys.implementation.name,
            "machine": platform.machine(),
            "libc": platform.libc_ver(),
            "sqlite": sqlite3.sqlite_version,
            "release": [release.get("ID", ""), release.get("VERSION_ID", "")],
            "distributions": _distributions(pathlib.Path(path) for path in site.getsitepackages()),
        }
    )


@functools.cache
def folder_fingerprint(folder: str) -> str:
    """Return the digest of the image that a folder was unpacked from.

    A root file system without such a record, which somebody has made by hand, is told by its
    system's release, its Debian packages and its Python distributions.
    """
    root = pathlib.Path(folder)
    try:
        record = json.loads(_read_regular(root / RECORD_NAME))
    except (ValueError, RecursionError):
        record = None
    digest = record.get("digest") if isinstance(record, dict) else None
    if isinstance(digest, str) and _DIGEST.match(digest):
        return digest
    return _digest(
        {
            "files": [_sha256(_read_regular(root / name)) for name in _RELEASE_FILES],
            "distributions": _distributions(
                path for pattern in _PACKAGE_FOLDERS for path in sorted(root.glob(pattern))
            ),
        }
    )


def _distributions(folders: Iterable[pathlib.Path]) -> list[str]:
    """Return the name and version of what is installed, as its metadata folders are named."""
    found: set[str] = set()
    for folder in folders:
        if folder.is_dir():
            found.update(
                entry.name
                for entry in os.scandir(folder)
                # No sandbox sees execgym itself.
                if entry.name.endswith(_DISTRIBUTION_SUFFIXES)
                and not entry.name.startswith("execgym-")
            )
    return sorted(found)


def _read_regular(path: pathlib.Path) -> bytes:
    """Return a file's contents up to a limit, and nothing for what is missing or no plain file."""
    try:
        # A folder's maker may have put anything there: a link to elsewhere, a pipe that blocks.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return b""
        return file.read(_LARGEST_FILE_BYTES)


def _digest(parts: dict[str, Any]) -> str:
    return f"sha256:{_sha256(json.dumps(parts, sort_keys=True).encode())}"


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
