"""Looking into an image by running its own Python in a container of it."""

from __future__ import annotations

import dataclasses
import importlib.resources
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from execgym.sandbox.images.errors import ImageError

if TYPE_CHECKING:
    from docker import DockerClient

OLDEST_PYTHON = (3, 8)
_PROGRAM = ("python3", "-I", "-B", "-c")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ImageContents:
    """What an image was found to hold.

    Attributes:
        python: Version of its `python3`.
        implementation: `"CPython"` or another.
        machine: Processor architecture, as in `uname -m`.
        libc: Name and version of its C library.
        python_packages: Versions of its Python packages, by name.
        debian_packages: Versions of its Debian packages, by name.
        privileges: Pairs of a file and what it gives: set-user-id, set-group-id, file capabilities,
            a device.
        import_errors: Why each wanted module that does not import does not.
        missing_programs: Wanted programs that are not on its PATH.
    """

    python: str
    implementation: str
    machine: str
    libc: tuple[str, str]
    python_packages: Mapping[str, str]
    debian_packages: Mapping[str, str]
    privileges: tuple[tuple[str, str], ...]
    import_errors: Mapping[str, str]
    missing_programs: tuple[str, ...]

    @property
    def python_version(self) -> tuple[int, int]:
        """Major and minor version of its Python."""
        major, minor, *_ = self.python.split(".")
        return int(major), int(minor)


def look_into(
    client: DockerClient,
    image: str,
    *,
    modules: tuple[str, ...] = (),
    programs: tuple[str, ...] = (),
) -> ImageContents:
    """Run the probe in a container of an image that has no network and can write nothing.

    Raises:
        ImageError: It has no `python3` of version 3.8 or newer that runs.
    """
    import docker

    source = importlib.resources.files("execgym.sandbox.images").joinpath("probe.py").read_text()
    wanted = json.dumps({"modules": modules, "programs": programs})
    try:
        output = client.containers.run(
            image,
            [*_PROGRAM, source, wanted],
            entrypoint=[],
            user="0:0",
            network_mode="none",
            read_only=True,
            cap_drop=["ALL"],
            # It walks folders that belong to other users.
            cap_add=["DAC_READ_SEARCH"],
            security_opt=["no-new-privileges"],
            remove=True,
        )
    except docker.errors.ContainerError as error:
        words = (error.stderr or b"").decode("utf-8", "replace").strip()[-500:]
        raise ImageError(
            f"the Python of image {image} does not run as it should: {words}"
        ) from None
    except docker.errors.APIError as error:
        if "executable file not found" not in str(error):
            raise
        raise ImageError(
            f"image {image} has no python3 on its PATH: a sandbox needs Python "
            f"{'.'.join(map(str, OLDEST_PYTHON))} or newer, so name a base that has one"
        ) from None
    report: dict[str, Any] = json.loads(output)
    return ImageContents(
        python=report["python"],
        implementation=report["implementation"],
        machine=report["machine"],
        libc=(report["libc"][0], report["libc"][1]),
        python_packages=report["python_packages"],
        debian_packages=report["debian_packages"],
        privileges=tuple((path, what) for path, what in report["privileges"]),
        import_errors=report["import_errors"],
        missing_programs=tuple(report["missing_programs"]),
    )
