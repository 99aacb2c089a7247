"""Images: what the mappings of a recording hold, and the files on this machine that really are those images."""

from undwarf.images.finder import Finder
from undwarf.images.image import Image, ImageStore
from undwarf.images.image_kind import ImageKind

__all__ = ["Finder", "Image", "ImageKind", "ImageStore"]
