"""``python -m undwarf``."""

from undwarf.cli.main import main

if __name__ == "__main__":
    main()
