"""undwarf/symbols/itanium/budget.pxd"""

from undwarf.symbols.itanium.budget import Budget as Budget
from undwarf.symbols.itanium.budget import new_budget as new_budget
