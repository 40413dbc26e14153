"""Building the images: once for each set of inputs, and with a record of what went in."""

from __future__ import annotations

import dataclasses
import itertools
import json
import pathlib
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from execgym.sandbox.images import labels
from execgym.sandbox.images.daemon import docker_client
from execgym.sandbox.images.debian import debian_image, make_debian_image
from execgym.sandbox.images.errors import ImageError
from execgym.sandbox.images.labels import ImageRecord, read_record
from execgym.sandbox.images.probing import OLDEST_PYTHON, ImageContents, look_into
from execgym.sandbox.images.templates import (
    IMAGE_TEMPLATES,
    ImageTemplate,
    digest_of,
    image_template,
    with_parents,
)
from execgym.sandbox.images.wheels import PIP, download_wheels

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.models.images import Image

DEFAULT_BASE = "python:3.11-slim-bookworm"
DEBIAN_BASE = "debian"
_REQUIREMENTS = "requirements.txt"
_LOG_LINES = 15

Progress = Callable[[str], object]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class BuiltImage:
    """An image that `build_images` has brought about.

    Attributes:
        record: What it is.
        built: False where it was there already, from the same inputs.
    """

    record: ImageRecord
    built: bool


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ImageState:
    """What the daemon has of a template.

    Attributes:
        template: The template.
        record: The image, or None where it has not been built.
        current: Whether it was built from what would be put in now.
    """

    template: ImageTemplate
    record: ImageRecord | None
    current: bool


def build_images(
    names: Sequence[str] = (),
    *,
    base: str = "",
    rebuild: bool = False,
    progress: Progress = lambda line: None,
) -> tuple[BuiltImage, ...]:
    """Build images, and those that they are built on, where what is put in has changed.

    Args:
        names: Names of templates; all where there is none.
        base: What `base` is built on: `"debian"` for one from Debian's packages, or the name of an
            image with a Python, which is pulled where the daemon lacks it. Where it is `""`, what
            `base` is built on now, else the official slim Python image.
        rebuild: Whether to build the named ones anew, with the newest packages, though nothing has
            changed.
        progress: Takes a line about what is being done.

    Returns:
        What has been asked for, each after the one that it is built on.

    Raises:
        ImageError: A name is unknown, no daemon answers, or a build failed.
    """
    named = tuple(names) or tuple(IMAGE_TEMPLATES)
    templates = with_parents(named)
    done: dict[str, BuiltImage] = {}
    with docker_client() as client:
        for template in templates:
            anew = rebuild and template.name in named
            if template.parent:
                base_name = image_template(template.parent).tag
                base_digest = done[template.parent].record.digest
            else:
                base_name = base or _base_in_use(client, template) or DEFAULT_BASE
                base_digest = _outside_base(client, base_name, anew=anew, progress=progress)
            image = None if anew else _current_image(client, template, base_digest)
            if image is None:
                progress(f"building {template.tag}")
                built = _build(client, template, base_name, base_digest, anew, progress)
                done[template.name] = BuiltImage(record=read_record(built), built=True)
            else:
                done[template.name] = BuiltImage(record=read_record(image), built=False)
    return tuple(done.values())


def image_states() -> tuple[ImageState, ...]:
    """Return what the daemon has of each template.

    Raises:
        ImageError: No daemon answers.
    """
    states: dict[str, ImageState] = {}
    with docker_client() as client:
        for template in IMAGE_TEMPLATES.values():
            image = _local_image(client, template.tag)
            if image is None:
                states[template.name] = ImageState(template=template, record=None, current=False)
                continue
            record = read_record(image)
            if template.parent:
                parent = states[template.parent]
                digest = parent.record.digest if parent.record is not None else ""
                inherited = parent.current
            else:
                digest = _local_base(client, record.base) or record.base_digest
                inherited = True
            current = inherited and record.inputs == _inputs(template, digest)
            states[template.name] = ImageState(template=template, record=record, current=current)
    return tuple(states.values())


def _base_in_use(client: DockerClient, template: ImageTemplate) -> str:
    image = _local_image(client, template.tag)
    return read_record(image).base if image is not None else ""


def _local_base(client: DockerClient, base: str) -> str:
    """Return the id that the daemon has for a base from outside, or `""`."""
    if base == DEBIAN_BASE:
        return debian_image(client)
    image = _local_image(client, base) if base else None
    return str(image.id) if image is not None else ""


def _outside_base(client: DockerClient, base: str, *, anew: bool, progress: Progress) -> str:
    digest = "" if anew else _local_base(client, base)
    if digest:
        return digest
    if base == DEBIAN_BASE:
        return make_debian_image(client, progress=progress)
    return _pull(client, base, progress)


def _pull(client: DockerClient, base: str, progress: Progress) -> str:
    import docker

    progress(f"pulling {base}")
    try:
        return str(client.images.pull(base if ":" in base else f"{base}:latest").id)
    except docker.errors.DockerException as error:
        # Made here, or pulled before: that it cannot be renewed takes nothing away.
        if digest := _local_base(client, base):
            return digest
        raise ImageError(
            f"image {base} cannot be pulled ({error}): build with --base {DEBIAN_BASE}, which "
            "needs no registry, or with --base and an image that the daemon has"
        ) from None


def _local_image(client: DockerClient, name: str) -> Image | None:
    import docker

    try:
        return client.images.get(name)
    except docker.errors.ImageNotFound:
        return None


def _current_image(client: DockerClient, template: ImageTemplate, base_digest: str) -> Image | None:
    image = _local_image(client, template.tag)
    if image is None or read_record(image).inputs != _inputs(template, base_digest):
        return None
    return image


def _inputs(template: ImageTemplate, base_digest: str) -> str:
    """Return a digest of everything that decides what an image is to be."""
    files = template.file_digests
    parts = {
        "base": base_digest,
        "files": files,
        "pip": PIP if _REQUIREMENTS in files else "",
        "modules": template.modules,
        "programs": template.programs,
    }
    return digest_of(json.dumps(parts, sort_keys=True).encode())


def _build(
    client: DockerClient,
    template: ImageTemplate,
    base_name: str,
    base_digest: str,
    anew: bool,
    progress: Progress,
) -> Image:
    with tempfile.TemporaryDirectory(prefix="execgym-build-") as name:
        folder = pathlib.Path(name)
        for file, data in template.files.items():
            (folder / file).write_bytes(data)
        wheels: Mapping[str, str] = {}
        if _REQUIREMENTS in template.files:
            progress("downloading wheels")
            contents = look_into(client, base_digest)
            wheels = download_wheels(folder / _REQUIREMENTS, folder / "wheels", contents)
        image = _run_build(
            client,
            template.tag,
            path=name,
            buildargs={"BASE": base_digest},
            # The host's network is what a daemon without a bridge has, too.
            network_mode="host" if template.fetches_packages else "none",
            nocache=anew,
        )
    client.images.prune(filters={"dangling": True, "label": labels.STAGE})
    contents = look_into(
        client, str(image.id), modules=template.modules, programs=template.programs
    )
    _check(template, contents)
    record = {
        labels.NAME: template.name,
        labels.INPUTS: _inputs(template, base_digest),
        labels.BASE: base_name,
        labels.BASE_DIGEST: base_digest,
        labels.FILES: _as_json(template.file_digests),
        labels.WHEELS: _as_json(wheels),
        labels.PYTHON: contents.python,
        labels.PYTHON_PACKAGES: _as_json(contents.python_packages),
        labels.DEBIAN_PACKAGES: _as_json(contents.debian_packages),
    }
    return _label(client, template, image, record)


def _label(
    client: DockerClient, template: ImageTemplate, image: Image, record: Mapping[str, str]
) -> Image:
    """Add what is only known once an image is there, and give it its name."""
    with tempfile.TemporaryDirectory(prefix="execgym-build-") as name:
        pathlib.Path(name, "Dockerfile").write_text(f"FROM {image.id}\n")
        return _run_build(client, template.tag, path=name, tag=template.tag, labels=record)


def _check(template: ImageTemplate, contents: ImageContents) -> None:
    """Refuse an image that could not be used, before it gets its name."""
    if contents.python_version < OLDEST_PYTHON:
        raise ImageError(
            f"the base of {template.tag} has Python {contents.python}: a sandbox needs "
            f"{'.'.join(map(str, OLDEST_PYTHON))} or newer"
        )
    for name, reason in contents.import_errors.items():
        raise ImageError(f"{template.tag} has been built, but {name} does not import: {reason}")
    for name in contents.missing_programs:
        raise ImageError(f"{template.tag} has been built, but it has no program {name}")


def _run_build(client: DockerClient, name: str, **arguments: object) -> Image:
    import docker

    try:
        image, _ = client.images.build(rm=True, forcerm=True, **arguments)
    except docker.errors.BuildError as error:
        lines = "".join(str(entry.get("stream", "")) for entry in error.build_log).splitlines()
        last = "\n".join(itertools.chain(lines[-_LOG_LINES:], [str(error)]))
        raise ImageError(f"{name} could not be built:\n{last}") from None
    return image


def _as_json(mapping: Mapping[str, str]) -> str:
    return json.dumps(dict(sorted(mapping.items())), separators=(",", ":"))
