"""A base image from Debian's packages, for where no image registry is in reach."""

from __future__ import annotations

import json
import pathlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from typing import TYPE_CHECKING

from execgym.sandbox.images.errors import ImageError
from execgym.sandbox.images.labels import BASE, INPUTS
from execgym.sandbox.images.templates import digest_of

if TYPE_CHECKING:
    from docker import DockerClient

SUITE = "bookworm"
DEBIAN_TAG = f"execgym/debian:{SUITE}"
_PROGRAM = "mmdebstrap"
# Manuals and translations are half of what a small system installs.
_LEFT_OUT = (
    "/usr/share/doc/*",
    "/usr/share/info/*",
    "/usr/share/lintian/*",
    "/usr/share/locale/*",
    "/usr/share/man/*",
)
_KEPT = ("/usr/share/doc/*/copyright", "/usr/share/locale/locale.alias")
_ARGUMENTS = (
    "--variant=minbase",
    "--include=python3",
    *(f"--dpkgopt=path-exclude={pattern}" for pattern in _LEFT_OUT),
    *(f"--dpkgopt=path-include={pattern}" for pattern in _KEPT),
    # The container's own /dev is mounted over it.
    "--skip=output/dev",
    SUITE,
)
_INPUTS = digest_of(json.dumps(_ARGUMENTS).encode())
_LAST_WORDS = 1500


def debian_image(client: DockerClient) -> str:
    """Return the id of the daemon's Debian image, `""` where it has none of the present rules."""
    for image in client.images.list(name=DEBIAN_TAG):
        if image.labels.get(INPUTS) == _INPUTS:
            return str(image.id)
    return ""


def make_debian_image(client: DockerClient, *, progress: Callable[[str], object]) -> str:
    """Make the Debian image from the newest packages and return its id.

    Raises:
        ImageError: mmdebstrap is missing, or it failed.
    """
    if shutil.which(_PROGRAM) is None:
        raise ImageError(
            f"--base debian needs {_PROGRAM}, which is not installed: apt-get install {_PROGRAM} "
            "(elsewhere than on Debian, debian-archive-keyring as well)"
        )
    with tempfile.TemporaryDirectory(prefix="execgym-debian-") as folder:
        archive = pathlib.Path(folder, "root.tar")
        progress(f"installing Debian {SUITE} with {_PROGRAM}")
        result = subprocess.run(
            [_PROGRAM, *_ARGUMENTS, str(archive)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        if result.returncode != 0:
            words = result.stderr.decode("utf-8", "replace").strip()[-_LAST_WORDS:]
            raise ImageError(f"{_PROGRAM} ended with status {result.returncode}: {words}")
        progress("importing it into the daemon")
        answer = client.api.import_image_from_file(
            str(archive),
            repository=DEBIAN_TAG.partition(":")[0],
            tag=SUITE,
            changes=[f"LABEL {BASE}=debian {INPUTS}={_INPUTS}", 'CMD ["python3"]'],
        )
    message = json.loads(answer.strip().splitlines()[-1])
    if "error" in message:
        raise ImageError(f"the Docker daemon could not import the archive: {message['error']}")
    return str(message["status"])
