from undwarf.outputs.kernels.frame_texts cimport FrameTexts
from undwarf.outputs.kernels.script_columns cimport ScriptColumns
from undwarf.outputs.kernels.text_buffer cimport Names, Text
