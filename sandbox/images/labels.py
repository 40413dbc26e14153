"""What an image of ours says of itself: its labels, written by the builder and read back."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from docker.models.images import Image

_PREFIX = "execgym.image"
STAGE = f"{_PREFIX}.stage"
NAME = f"{_PREFIX}.name"
INPUTS = f"{_PREFIX}.inputs"
BASE = f"{_PREFIX}.base"
BASE_DIGEST = f"{_PREFIX}.base-digest"
FILES = f"{_PREFIX}.files"
WHEELS = f"{_PREFIX}.wheels"
PYTHON = f"{_PREFIX}.python"
PYTHON_PACKAGES = f"{_PREFIX}.python-packages"
DEBIAN_PACKAGES = f"{_PREFIX}.debian-packages"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ImageRecord:
    """An image that was built here, as its labels and the daemon tell of it.

    Attributes:
        name: The template's name.
        digest: The image's id, `"sha256:..."`: what `Sandbox.fingerprint` and `info["image"]` say.
        size_bytes: Size of all its layers.
        inputs: SHA-256 over everything that was put in: files, base, rules of the builder.
        base: What it was built on: `"debian"` or the name of an image.
        base_digest: The id that this had.
        files: SHA-256 of the Dockerfile and of each file beside it.
        wheels: SHA-256 of each wheel that was installed.
        python: Version of its Python.
        python_packages: Versions of its Python packages, by name.
        debian_packages: Versions of its Debian packages, by name.
    """

    name: str
    digest: str
    size_bytes: int
    inputs: str
    base: str
    base_digest: str
    files: Mapping[str, str]
    wheels: Mapping[str, str]
    python: str
    python_packages: Mapping[str, str]
    debian_packages: Mapping[str, str]


def read_record(image: Image) -> ImageRecord:
    """Read an image's labels; what they lack is empty."""
    labels = image.labels or {}
    return ImageRecord(
        name=labels.get(NAME, ""),
        digest=str(image.id),
        size_bytes=int(image.attrs.get("Size", 0)),
        inputs=labels.get(INPUTS, ""),
        base=labels.get(BASE, ""),
        base_digest=labels.get(BASE_DIGEST, ""),
        files=_mapping(labels.get(FILES)),
        wheels=_mapping(labels.get(WHEELS)),
        python=labels.get(PYTHON, ""),
        python_packages=_mapping(labels.get(PYTHON_PACKAGES)),
        debian_packages=_mapping(labels.get(DEBIAN_PACKAGES)),
    )


def _mapping(text: str | None) -> dict[str, str]:
    try:
        value: Any = json.loads(text or "{}")
    except ValueError:
        return {}
    if not isinstance(value, dict):
        return {}
    return {str(key): str(each) for key, each in value.items()}
