"""Images: the files, kernels and JIT code that a recording maps, and the verified files of them on this machine."""

from undwarf.images.finder import Finder
from undwarf.images.image import Image, ImageStore
from undwarf.images.image_kind import ImageKind

__all__ = ["Finder", "Image", "ImageKind", "ImageStore"]
