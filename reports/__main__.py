"""``python -m autograd_conformance.reports``: the commands of `reports.command`."""

import sys

from autograd_conformance.reports.command import main

if __name__ == "__main__":
    sys.exit(main())
