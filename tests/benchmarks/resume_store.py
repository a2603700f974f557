"""What saving a token costs, committed to disk, and listing ten thousand chains."""

from __future__ import annotations

import gc
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from mcp_progress_monitor.store.chains import Origin, SavedProgress
from mcp_progress_monitor.store.resumes import ResumeStore
from tests.benchmarks.figures import Figure, Size

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

_DEFINITION = {"type": "stdio", "command": "python3", "args": ["-m", "server"], "env": {"A": "b"}}
_CHAINS, _SAVED, _LISTED = 10_000, 1_000, 100


def resume_store(size: Size) -> list[Figure]:
    """Saving tokens one by one and listing all chains, with many chains on disk."""
    part = size.pick(1, 10, 100)
    return anyio.run(_measured, _CHAINS // part, _SAVED // part, max(10, _LISTED // part))


async def _measured(chains: int, saved: int, listed: int) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="bench-resume-store-") as folder:
        store = ResumeStore(Path(folder))
        await store.open()
        first = await _begin(store, 0)
        for number in range(1, chains):
            await _begin(store, number)

        async def save(number: int) -> None:
            await store.advance(
                first, f"token-{number}", SavedProgress(number, saved, "Row"), when=2.0
            )

        async def show(_: int) -> None:
            assert len(await store.chains()) == chains

        saving = [await _timed_save(store, first, save, number) for number in range(saved)]
        gc.collect()
        listing = [await _timed(show, number) for number in range(listed)]
        await store.close()
        opening = await _timed_opening(Path(folder))
    return [
        Figure("save_p50", statistics.median(saving), "ms"),
        Figure("save_p99", _p99(saving), "ms", "<= 10"),
        Figure("chains", chains, ""),
        Figure("list_p50", statistics.median(listing), "ms"),
        Figure("list_p99", _p99(listing), "ms", "<= 100"),
        Figure("open", opening, "ms"),
    ]


async def _begin(store: ResumeStore, number: int) -> int:
    params = {
        "name": "export",
        "arguments": {"table": "orders", "from": "2026-01-01", "limit": 5_000, "rate": 1.5},
        "_meta": {"progressToken": f"prog-{number}"},
    }
    origin = Origin("Files", "5f" * 32, json.dumps(_DEFINITION), "2025-11-25", "tools/call", params)
    standing = SavedProgress(number, 5_000, f"Row {number}")
    return await store.begin(origin, f"token-{number}", standing, started_when=1.0, when=2.0)


async def _timed_save(
    store: ResumeStore, chain: int, save: Callable[[int], Awaitable[None]], number: int
) -> float:
    """Only the token's way to the disk: the attempt before it is another commit."""
    await store.start_attempt(chain, when=1.0)
    return await _timed(save, number)


async def _timed_opening(folder: Path) -> float:
    store = ResumeStore(folder)

    async def start(_: int) -> None:
        await store.open()

    spent = await _timed(start, 0)
    await store.close()
    return spent


async def _timed(work: Callable[[int], Awaitable[None]], number: int) -> float:
    """How many milliseconds `work` takes."""
    started = time.perf_counter()
    await work(number)
    return (time.perf_counter() - started) * 1e3


def _p99(values: list[float]) -> float:
    return statistics.quantiles(values, n=100, method="inclusive")[98]
