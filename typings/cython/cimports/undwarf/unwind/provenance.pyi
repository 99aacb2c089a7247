"""undwarf/unwind/provenance.pxd"""

from undwarf.unwind.provenance import Provenance as Provenance
