"""What is not sound in a recording: gathered by kind, so that a hostile file makes no long list."""

from __future__ import annotations

from typing import NamedTuple

from mcp_progress_monitor import text
from mcp_progress_monitor.problem import Problem


class _Fault(NamedTuple):
    problem: Problem
    times: int


class Faults:
    """Problems met while a recording is read: of each kind the first one, and how many there were.

    A kind is the words of `what`; these never hold anything that a file says.
    """

    def __init__(self) -> None:
        self._faults: dict[str, _Fault] = {}

    def note(self, what: str, where: str, hint: str = "", detail: str = "") -> None:
        """Count one more case; the first one's place and details stay."""
        known = self._faults.get(what)
        if known is None:
            self._faults[what] = _Fault(Problem(what, where, hint, detail), 1)
        else:
            self._faults[what] = known._replace(times=known.times + 1)

    @property
    def problems(self) -> list[Problem]:
        """One problem for each kind, in the order of their first cases."""
        return [_told(fault) for fault in self._faults.values()]


def _told(fault: _Fault) -> Problem:
    problem, times = fault
    if times == 1:
        return problem
    more = f"{text.count(times - 1, 'more case')} in this recording"
    detail = f"{problem.detail}\n{more}" if problem.detail else more
    return problem._replace(detail=detail)
