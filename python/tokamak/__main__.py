"""`python -m tokamak` is the `tokamak` command."""

import sys

from ._command import main

sys.exit(main())
