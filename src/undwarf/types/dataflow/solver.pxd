from undwarf.types.dataflow.transfer cimport Effects
