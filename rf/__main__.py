"""Run the command ``rf`` as ``python -m rf``."""

import sys

from rf.cli.parser import main

if __name__ == "__main__":
    sys.exit(main())
