"""What can go wrong with images."""

from __future__ import annotations


class ImageError(Exception):
    """An image cannot be built, found or unpacked. The message names the way out."""


class UnsafeArchiveError(ImageError):
    """An archive has an entry that would leave its folder or that may not be in an image."""
