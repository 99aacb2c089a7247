"""undwarf/symbols/itanium/printer.pxd"""

from undwarf.symbols.itanium.printer import print_name as print_name
