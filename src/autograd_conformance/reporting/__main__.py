"""Runs the commands of `reporting.command`: ``python -m autograd_conformance.reporting``."""

import sys

from autograd_conformance.reporting.command import main

if __name__ == "__main__":
    sys.exit(main())
