"""What programs import: the public names of undwarf, each composed of the machinery below.

Nothing here computes; `undwarf/__init__.pyi` is made of these modules and is the reference.
"""
