"""The images that execgym builds: a Dockerfile each, and what must be in the result."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.resources

from execgym.sandbox.images.errors import ImageError


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ImageTemplate:
    """An image that `execgym images` knows.

    Attributes:
        name: Its name, and that of its folder beside this module.
        title: What it is for.
        parent: The image of ours that it is built on, or `""` for one that is built on a base from
            outside.
        fetches_packages: Whether its build installs packages from Debian's archive, so that the
            build's commands get the daemon's network.
        modules: Python modules that must import in it.
        programs: Programs that must be on its PATH.
    """

    name: str
    title: str
    parent: str = "base"
    fetches_packages: bool = False
    modules: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()

    @property
    def tag(self) -> str:
        """The name under which the daemon has it."""
        return f"execgym/{self.name}:latest"

    @property
    def files(self) -> dict[str, bytes]:
        """The files that it is built from, by their names: the Dockerfile and what lies beside."""
        folder = importlib.resources.files("execgym.sandbox.images").joinpath(self.name)
        files = {entry.name: entry.read_bytes() for entry in folder.iterdir() if entry.is_file()}
        return dict(sorted(files.items()))

    @property
    def file_digests(self) -> dict[str, str]:
        """The SHA-256 of each of `files`."""
        return {
            name: f"sha256:{hashlib.sha256(data).hexdigest()}" for name, data in self.files.items()
        }


IMAGE_TEMPLATES = {
    template.name: template
    for template in (
        ImageTemplate(
            name="base",
            title="Python, its standard library",
            parent="",
            modules=("ctypes", "json", "sqlite3", "ssl", "zoneinfo"),
            programs=("sh",),
        ),
        ImageTemplate(
            name="data",
            title="data analysis",
            modules=("duckdb", "numpy", "pandas", "scipy", "sklearn"),
        ),
        ImageTemplate(
            name="network",
            title="network configuration",
            fetches_packages=True,
            programs=("ip", "nft", "tcpdump", "vtysh"),
        ),
    )
}


def digest_of(data: bytes) -> str:
    """Return the SHA-256 of some bytes, in the way images write it."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def image_template(name: str) -> ImageTemplate:
    """Return the template of a name.

    Raises:
        ImageError: There is none.
    """
    try:
        return IMAGE_TEMPLATES[name]
    except KeyError:
        raise ImageError(f"image {name!r} is not one of {', '.join(IMAGE_TEMPLATES)}") from None


def with_parents(names: tuple[str, ...]) -> tuple[ImageTemplate, ...]:
    """Return the templates of some names, each after the one that it is built on.

    Raises:
        ImageError: A name is unknown.
    """
    wanted: dict[str, ImageTemplate] = {}
    for name in names:
        lineage = [image_template(name)]
        while lineage[-1].parent:
            lineage.append(image_template(lineage[-1].parent))
        wanted.update((template.name, template) for template in reversed(lineage))
    return tuple(wanted.values())
