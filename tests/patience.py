"""Promises of time on a machine that is busy with other things, too."""

import time
from typing import Final

PATIENCE_S: Final = 60.0
"""Tells "soon" from "never" for what one process, or one message, is waited for."""
_SAMPLE_S: Final = 0.05


def allowed(seconds: float) -> float:
    """So many seconds of a machine of one's own, in seconds of this one, as busy as it is now.

    Asked after what was promised: while others have the processors, a program waits for its turn.
    """
    began, worked = time.monotonic(), time.thread_time()
    while time.thread_time() - worked < _SAMPLE_S:
        pass
    return seconds * max(1.0, (time.monotonic() - began) / _SAMPLE_S)
