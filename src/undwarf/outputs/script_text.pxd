from undwarf.outputs.text_buffer cimport Names, Text
