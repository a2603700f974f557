"""`python -m app.demo`: the demo server on stdio, or over HTTP."""

import sys
from collections.abc import Sequence
from functools import partial

from app.demo import options, profiles, stdio


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until the client is done, or until told to end, and return the exit code."""
    wanted = options.parse(arguments)
    if wanted.http is None:
        return stdio.serve(partial(profiles.run, wanted))
    # Imported here: servers on stdio are started by the dozen, and need no sockets.
    from app.demo.http import serving

    return serving.serve(wanted, wanted.http)


if __name__ == "__main__":
    sys.exit(main())
