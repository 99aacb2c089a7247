"""undwarf/dwarf/root_places.pxd"""

from undwarf.dwarf.root_places import PLACES as PLACES
from undwarf.dwarf.root_places import Root as Root
