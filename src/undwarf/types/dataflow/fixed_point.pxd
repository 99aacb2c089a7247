from undwarf.types.dataflow.effects cimport Effects
