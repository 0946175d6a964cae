"""``python -m autograd_conformance.reporting``: the commands of `reporting.command`."""

import sys

from autograd_conformance.reporting.command import main

if __name__ == "__main__":
    sys.exit(main())
