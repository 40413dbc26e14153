"""What of an image is seen in a sandbox. Standard library only: it runs where the image is.

That is on the host for an unpacked root file system, and inside the container for an image of
Docker's, whose root is `/`.
"""

from __future__ import annotations

import os
from typing import Any

PYTHONS = ("/usr/local/bin/python3", "/usr/bin/python3")
# Each sandbox has its own of these, or none.
_NOT_SHOWN = ("dev", "execgym", "proc", "run", "sandbox", "sys", "tmp", "workspace")


class LayoutError(Exception):
    """The image is none that a sandbox can be made of."""


def image_layout(root: str) -> dict[str, Any]:
    """Return the layout of a root file system, with its trees where they are now.

    Raises:
        LayoutError: There is no folder, or no Python in it.
    """
    binds = {}
    links = {}
    folders = []
    try:
        entries = sorted(os.scandir(root), key=lambda entry: entry.name)
    except OSError as error:
        raise LayoutError("image %r: %s" % (root, error.strerror)) from None
    for entry in entries:
        name = "/" + entry.name
        if entry.name in _NOT_SHOWN:
            continue
        if entry.is_symlink():
            links[name] = os.readlink(entry.path)
        elif entry.is_dir() and _has_something(entry.path):
            binds[name] = entry.path
        elif entry.is_dir():
            folders.append(name)
    for python in PYTHONS:
        if os.path.lexists(os.path.join(root, python[1:])):
            break
    else:
        raise LayoutError("image %r has no python3 in /usr/local/bin or /usr/bin" % root)
    return {
        "binds": binds,
        "links": links,
        "folders": folders,
        "linker_cache": "",
        "masks": [],
        "masked_files": [],
        "covered": [],
        "python": python,
    }


def _has_something(folder: str) -> bool:
    # A mount is copied for every sandbox. One of nothing, or of what may not be read, does nothing.
    try:
        with os.scandir(folder) as entries:
            return any(True for _ in entries)
    except OSError:
        return False
