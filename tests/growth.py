"""How the cost of work grows with its size, in processor time: a busy machine takes none of it."""

import time
from collections.abc import Callable
from typing import Final

_FACTOR: Final = 8
_MOST: Final = 20
"""Eight times as much costs about eight times as much, and would cost 64 times if quadratic."""
_TRIES: Final = 4


def is_linear(work: Callable[[int], object], size: int) -> bool:
    """Tell whether work on `size` costs no more than its share of work on an eighth of that.

    Processor time has its noise too: a verdict against the work must come again and again.
    """
    part = max(1, size // _FACTOR)
    return any(_spent(work, size) < _MOST * _spent(work, part) for _ in range(_TRIES))


def _spent(work: Callable[[int], object], size: int) -> float:
    began = time.thread_time()
    work(size)
    return time.thread_time() - began
