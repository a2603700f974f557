"""`python -m app`: the same as the installed command `mcp-progress-monitor`."""

from __future__ import annotations

import sys

from app.cli import main

if __name__ == "__main__":
    sys.exit(main())
