from undwarf.types.dataflow.transfer cimport Transfer
