"""Formats that other programs read, one module each: ``write(profile, target, ...)``."""
