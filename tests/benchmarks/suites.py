"""The benchmarks by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from tests.benchmarks.exports import exports
from tests.benchmarks.ingest import ingest
from tests.benchmarks.logs import log_filter, log_open
from tests.benchmarks.resume_store import resume_store
from tests.benchmarks.scale import scale
from tests.benchmarks.soak import soak
from tests.benchmarks.stages import stages
from tests.benchmarks.startup import startup
from tests.benchmarks.streams import http
from tests.benchmarks.tap import tap
from tests.benchmarks.token_making import tokens
from tests.benchmarks.watch import watch
from tests.benchmarks.window_suites import floods, idle, latency, long_line, many_jobs, many_servers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tests.benchmarks.figures import Figure, Size


Suite: TypeAlias = "Callable[[Size], list[Figure]]"
"""A benchmark: measures so much for a while, and yields figures."""

SUITES: Mapping[str, Suite] = {
    "ingest": ingest,
    "stages": stages,
    "http": http,
    "latency": latency,
    "many-jobs": many_jobs,
    "many-servers": many_servers,
    "log-open": log_open,
    "log-filter": log_filter,
    "exports": exports,
    "startup": startup,
    "scale": scale,
    "soak": soak,
    "long-line": long_line,
    "idle": idle,
    "tokens": tokens,
    "floods": floods,
    "resume-store": resume_store,
    "tap": tap,
    "watch": watch,
}

SHAPED: Mapping[str, Callable[[Size, Sequence[str]], list[Figure]]] = {
    "ingest": ingest,
    "stages": stages,
}
"""Those that measure streams of many shapes, or some of them."""
