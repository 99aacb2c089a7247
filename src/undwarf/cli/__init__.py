"""The command line. What can be interrupted before it runs ends without a word, as any program does."""

import contextlib
import gc
import signal
import sys

if sys.argv and f"/{sys.argv[0]}".endswith(("/undwarf", "/undwarf/__main__.py")):
    # As main has it: what modules are made of stays, and cycles in it were looked for again and again.
    gc.set_threshold(2_000_000, 20, 20)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # Until main says otherwise: modules that are still being imported cannot catch anything.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Where kernels are not compiled there are no functions of C: what Cython has in their place cannot be imported.
    with contextlib.suppress(ImportError, AttributeError):
        from undwarf.arenas import use_large_pages

        use_large_pages()
