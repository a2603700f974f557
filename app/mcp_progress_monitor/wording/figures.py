"""A job's count and rate for reading: rounded, and in the unit that its message names.

Progress has no unit on the wire. "39.8 of 1400 MB" beside 39,765,000 of 1,400,000,000 shows that it
counts bytes; beside 39.8 of 1400, that it counts megabytes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_progress_monitor import formatting
from mcp_progress_monitor.tracker.estimate import as_float

if TYPE_CHECKING:
    from mcp_progress_monitor.tracker.snapshot import JobSnapshot

_READ: Final = 200  # characters of a message
_SAID: Final = re.compile(
    r"([0-9][0-9.,]*)\s*(?:(?:of|/)\s*([0-9][0-9.,]*)\s*)?([kKMGT]i?B|bytes|B)\b"
)
_NEAR: Final = 0.02
_POWERS: Final = {"k": 1, "K": 1, "M": 2, "G": 3, "T": 4}


class Unit(NamedTuple):
    """A unit of data: its name, its bytes, and the bytes of one unit of progress."""

    name: str
    size: float
    scale: float

    def of(self, value: float) -> str:
        """A progress value in this unit, without the unit's name."""
        return formatting.rounded(as_float(value) * self.scale / self.size, decimals=1)


def unit_of(job: JobSnapshot) -> Unit | None:
    """The unit that the message names, if its numbers are those of the progress."""
    message = job.message
    if message is None or job.progress is None or "B" not in message[:_READ].replace("b", "B"):
        return None
    said = _SAID.search(message[:_READ])
    if said is None:
        return None
    name = "B" if said[3] == "bytes" else said[3]
    size = float((1024 if "i" in name else 1000) ** _POWERS.get(name[0], 0))
    pairs = [(said[1], job.progress), (said[2], job.total)]
    known = [(_number(words), as_float(value)) for words, value in pairs if words and value]
    for scale in (1.0, size):  # bytes, or the unit itself
        if known and all(_is_near(one * size, value * scale) for one, value in known):
            return Unit(name, size, scale)
    return None


def _number(words: str) -> float:
    try:
        return float(words.rstrip(".,").replace(",", ""))
    except ValueError:
        return -1.0


def _is_near(one: float, other: float) -> bool:
    return abs(one - other) <= _NEAR * max(abs(one), abs(other))


def _is_share(job: JobSnapshot) -> bool:
    """Whether progress is counted from 0 to 1, for which a percentage is clearer."""
    return job.total == 1 and isinstance(job.progress, float)


def count(job: JobSnapshot) -> str:
    """`39.8 / 1,400 MB`, `632 / 1,000`; empty if the percentage says the same."""
    if job.progress is None or (_is_share(job) and job.fraction is not None):
        return ""
    unit = unit_of(job)
    if unit is not None:
        whole = "" if job.total is None else f" / {unit.of(job.total)}"
        return f"{unit.of(job.progress)}{whole} {unit.name}"
    whole = "" if job.total is None else f" / {formatting.rounded(job.total)}"
    return formatting.rounded(job.progress) + whole


def rate(job: JobSnapshot) -> str:
    """`5.5 MB/s`, `4.2 %/s`, `12/s`; empty if unknown."""
    if job.rate is None:
        return ""
    unit = unit_of(job)
    if unit is not None:
        return f"{formatting.size(round(job.rate * unit.scale))}/s"
    return formatting.rate(100 * job.rate, " %") if _is_share(job) else formatting.rate(job.rate)
