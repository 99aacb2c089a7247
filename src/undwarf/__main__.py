"""The program: ``python -m undwarf``, and the console script ``undwarf``.

What holds for the whole process is set here and in :func:`undwarf.cli.main.main`: undwarf as a library sets nothing.
"""

import gc
import signal


def main() -> None:
    """Prepare the process, run the command line and exit."""
    # Modules and results live until the end: looking for cycles in them each 700 objects is 5 % of the time.
    gc.set_threshold(2_000_000, 20, 20)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # Modules that are being imported cannot catch KeyboardInterrupt: end quietly until a command runs.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from undwarf.cli.main import main as run
    from undwarf.mapped_files import handle_truncation

    handle_truncation()
    run()


if __name__ == "__main__":
    main()
