"""The flow of single x86-64 instructions, without a listing: for code of which few instructions are looked at."""

from iced_x86 import Decoder

from undwarf.disasm.flow_control import Flow
from undwarf.disasm.instruction import as_signed
from undwarf.disasm.templates import Templates
from undwarf.disasm.x86_decoding import flow_of
from undwarf.disasm.x86_encoding import MAX_LENGTH
from undwarf.disasm.x86_length_decoder import LengthDecoder

__all__ = ["FlowDecoder"]

_RELATIVE = frozenset((Flow.JUMP, Flow.BRANCH, Flow.CALL))


class FlowDecoder:
    """Decodes the flow of instructions; what their encodings have in common is decoded once."""

    def __init__(self) -> None:
        self._lengths = LengthDecoder(Templates(), self._flow, self._decode)
        self._code: bytes | memoryview = b""

    def __call__(self, code: "bytes | memoryview", at: int) -> int:
        """As :meth:`LengthDecoder.flow_at`; an invalid byte is an instruction of flow STOP."""
        self._code = code
        found: int = self._lengths.flow_at(code, at)
        return found

    @staticmethod
    def _flow(code: bytes) -> int:
        native = Decoder(64, code).decode()
        return -1 if native.is_invalid or native.len != len(code) else flow_of(native)

    def _decode(self, at: int) -> int:
        code = bytes(self._code[at : at + MAX_LENGTH])
        native = Decoder(64, code).decode()
        if native.is_invalid:
            return Flow.STOP | 1 << 8
        flow = flow_of(native)
        size = 0
        if flow in _RELATIVE and native.op_count:
            distance = as_signed(native.near_branch_target - native.len & 0xFFFFFFFFFFFFFFFF)
            ends = {
                one: int.from_bytes(code[native.len - one : native.len], "little", signed=True) for one in (4, 2, 1)
            }
            size = next((one for one, number in ends.items() if number == distance), 0)
        return flow | size << 4 | native.len << 8
