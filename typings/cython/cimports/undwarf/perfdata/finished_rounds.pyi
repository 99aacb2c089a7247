"""undwarf/perfdata/finished_rounds.pxd"""

from undwarf.perfdata.finished_rounds import Rounds as Rounds
