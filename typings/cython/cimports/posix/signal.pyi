"""signal.h"""

from typing import Any

SA_SIGINFO: int

class siginfo_t:
    si_code: int
    si_addr: Any

class sigaction_t:
    sa_handler: Any
    sa_sigaction: Any
    sa_mask: Any
    sa_flags: int

def sigaction(number: int, action: Any, before: Any) -> int: ...
def sigemptyset(signals: Any) -> int: ...
