"""Bringing wheels for an image's Python to the host, for a build that needs no network."""

from __future__ import annotations

import pathlib
import subprocess
import sys

from execgym.sandbox.images.errors import ImageError
from execgym.sandbox.images.probing import ImageContents
from execgym.sandbox.images.templates import digest_of

# The pip that installs the wheels inside the image: Debian's Python has none of its own.
PIP = "pip==26.3"
_OLDEST_GLIBC = 17
_LAST_WORDS = 1500


def download_wheels(
    requirements: pathlib.Path, folder: pathlib.Path, contents: ImageContents
) -> dict[str, str]:
    """Download the wheels of pinned requirements, and pip's, for the Python of an image.

    The host's own pip does it, with the host's own index, certificates and cache.

    Args:
        requirements: A file of `name==version` lines.
        folder: Where the wheels go.
        contents: The image that they are to fit.

    Returns:
        The SHA-256 of each wheel, by its file name.

    Raises:
        ImageError: The image's Python is not one that wheels exist for, or pip failed.
    """
    command = [
        *(sys.executable, "-m", "pip", "download"),
        *("--quiet", "--disable-pip-version-check", "--no-input", "--no-deps"),
        *("--only-binary", ":all:", *_target(contents)),
        *("--dest", str(folder), "--requirement", str(requirements), PIP),
    ]
    result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if result.returncode != 0:
        words = result.stderr.decode("utf-8", "replace").strip()[-_LAST_WORDS:]
        hint = (
            f"{sys.executable} has no pip: run {sys.executable} -m ensurepip"
            if "No module named pip" in words
            else "is a package index in reach?"
        )
        raise ImageError(f"pip could not download the wheels ({hint}): {words}")
    return {wheel.name: digest_of(wheel.read_bytes()) for wheel in sorted(folder.glob("*.whl"))}


def _target(contents: ImageContents) -> list[str]:
    """Return the options with which pip takes wheels for another Python than its own."""
    libc, version = contents.libc
    if contents.implementation != "CPython" or libc != "glibc" or not version.startswith("2."):
        raise ImageError(
            f"the image has {contents.implementation} with {libc or 'another C library'} "
            f"{version}: wheels are there for CPython with glibc, so name a base such as Debian's"
        )
    newest = int(version.split(".")[1])
    platforms = [
        f"manylinux_2_{minor}_{contents.machine}" for minor in range(newest, _OLDEST_GLIBC - 1, -1)
    ]
    major, minor = contents.python_version
    options = ["--implementation", "cp", "--python-version", f"{major}.{minor}"]
    options += ["--abi", f"cp{major}{minor}", "--abi", "abi3", "--abi", "none"]
    for platform in [*platforms, f"manylinux2014_{contents.machine}"]:
        options += ["--platform", platform]
    return options
