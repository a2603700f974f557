"""`python -m app.demo`: the demo server on stdio."""

import sys
from collections.abc import Sequence
from functools import partial

from app.demo import options, profiles, stdio


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until the client is done and return the exit code."""
    return stdio.serve(partial(profiles.run, options.parse(arguments)))


if __name__ == "__main__":
    sys.exit(main())
