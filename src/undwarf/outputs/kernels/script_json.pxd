from undwarf.outputs.kernels.text_buffer cimport Names, Text
