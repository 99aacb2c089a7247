from undwarf.types.effects cimport Effects
