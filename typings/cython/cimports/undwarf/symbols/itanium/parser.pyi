"""undwarf/symbols/itanium/parser.pxd"""

from undwarf.symbols.itanium.parser import parse_name as parse_name
