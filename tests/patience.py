"""Promises of time on a machine that is busy with other things, too."""

import time
from collections.abc import Callable
from typing import Final

import anyio

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


async def until(is_so: Callable[[], object]) -> None:
    """Wait until something is so that raises no event here."""
    with anyio.fail_after(PATIENCE_S):
        while not is_so():  # noqa: ASYNC110
            await anyio.sleep(0.01)
