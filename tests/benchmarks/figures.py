"""What a benchmark yields: named figures, each with its unit and the value to reach."""

from __future__ import annotations

import enum
import json
import os
import statistics
import subprocess
import sys
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

_Value = TypeVar("_Value")


class Size(enum.Enum):
    """How much is measured."""

    FULL = "full"
    """What `performance.md` asks for."""
    QUICK = "quick"
    """A tenth or so, once: for a look while working on something."""
    TINY = "tiny"
    """Shows that a benchmark runs; its figures mean nothing. For tests."""

    def pick(self, full: _Value, quick: _Value, tiny: _Value) -> _Value:
        """The one of three values that belongs to this size."""
        return {Size.FULL: full, Size.QUICK: quick, Size.TINY: tiny}[self]


class Figure(NamedTuple):
    """One measured value. `target` is words such as ``>= 150000``; empty when none is set."""

    name: str
    value: float | None
    unit: str
    target: str = ""


def contend(name: str, *arguments: object) -> dict[str, Any]:
    """Run one contender and return its figures; how, tests may choose."""
    return run_contender(name, *map(str, arguments))


_NO_BYTECODE: Final = "PYTHONDONTWRITEBYTECODE"
CONTENDER = (sys.executable, "-m", "tests.benchmarks.contender")


def run_contender(name: str, *arguments: str) -> dict[str, Any]:
    """Run one contender in a process of its own and return the figures it printed.

    A process each, so that peak memory and caches are its own. Modules are kept compiled, as an
    installed program's are, also where the environment says otherwise.

    Raises:
        RuntimeError: the contender failed; quotes its stderr.
    """
    command = [*CONTENDER, name, *arguments]
    environ = {name: value for name, value in os.environ.items() if name != _NO_BYTECODE}
    done = subprocess.run(
        command, env=environ, capture_output=True, text=True, check=False, timeout=900
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}")
    figures = json.loads(done.stdout.splitlines()[-1])
    assert isinstance(figures, dict)
    return figures


def median(rows: Sequence[dict[str, Any]], key: str) -> float:
    """The median of one figure over several runs."""
    return statistics.median(float(row[key]) for row in rows)


def ratio(ours: Sequence[dict[str, Any]], theirs: Sequence[dict[str, Any]]) -> float:
    """The median of the ratios of neighbours' rates."""
    ratios = (float(a["rate"] / b["rate"]) for a, b in zip(ours, theirs, strict=True))
    return statistics.median(ratios)


def time_ratio(ours: Sequence[dict[str, Any]], theirs: Sequence[dict[str, Any]]) -> float:
    """The same of their processor times for a message, whatever else the machine had to do."""
    ratios = (float(b["cpu_us"] / a["cpu_us"]) for a, b in zip(ours, theirs, strict=True))
    return statistics.median(ratios)


def waiting(rows: list[dict[str, Any]]) -> Figure:
    """How busy the machine was with other things: the rest must be read with this in mind."""
    shares = [row["waiting_percent"] for row in rows if row["waiting_percent"] is not None]
    return Figure("waiting_for_cpu", statistics.median(shares) if shares else None, "% of time")
