"""Container images of our own: templates, building, checking and unpacking them."""

from execgym.sandbox.images.build import (
    DEBIAN_BASE,
    DEFAULT_BASE,
    BuiltImage,
    ImageState,
    build_images,
    image_states,
)
from execgym.sandbox.images.checking import ImageFinding, check_images
from execgym.sandbox.images.daemon import daemon_address, docker_client
from execgym.sandbox.images.errors import ImageError, UnsafeArchiveError
from execgym.sandbox.images.labels import ImageRecord
from execgym.sandbox.images.templates import IMAGE_TEMPLATES, ImageTemplate, image_template
from execgym.sandbox.images.unpacking import unpack_image

__all__ = [
    "DEBIAN_BASE",
    "DEFAULT_BASE",
    "IMAGE_TEMPLATES",
    "BuiltImage",
    "ImageError",
    "ImageFinding",
    "ImageRecord",
    "ImageState",
    "ImageTemplate",
    "UnsafeArchiveError",
    "build_images",
    "check_images",
    "daemon_address",
    "docker_client",
    "image_states",
    "image_template",
    "unpack_image",
]
