"""undwarf/perfdata/rounds.pxd"""

from undwarf.perfdata.rounds import Rounds as Rounds
