"""The benchmarks by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from tests.benchmarks.ingest import ingest
from tests.benchmarks.resume_store import resume_store
from tests.benchmarks.startup import startup
from tests.benchmarks.token_making import tokens
from tests.benchmarks.window_suites import idle, latency, long_line, many_jobs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.benchmarks.figures import Figure


class Suite(Protocol):
    """A benchmark: runs for a while and yields figures."""

    def __call__(self, *, quick: bool) -> list[Figure]:
        """Measure; `quick` at a tenth of the size and once."""


SUITES: Mapping[str, Suite] = {
    "ingest": ingest,
    "latency": latency,
    "many-jobs": many_jobs,
    "startup": startup,
    "long-line": long_line,
    "idle": idle,
    "tokens": tokens,
    "resume-store": resume_store,
}
