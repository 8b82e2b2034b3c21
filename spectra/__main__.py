"""Run the command line as ``python -m spectra``."""

import sys

from spectra.cli.commands import main

if __name__ == "__main__":
    sys.exit(main())
