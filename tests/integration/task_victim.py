"""A program that follows a task of the demo server until it is killed.

Started with the place's folder, the era and a number of steps; says `seen ID` once the task is
shown, then its states, and at last `ended STATE`.
"""

import sys
from pathlib import Path
from typing import Any

import anyio

from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.snapshots.definitions import Era
from tests.integration.resumable import Place, running
from tests.integration.tasks import task_call


def say(*arguments: object) -> None:
    """Say a line at once."""
    sys.stdout.write(" ".join(map(str, arguments)) + "\n")
    sys.stdout.flush()


async def main(folder: str, era: Era, steps: int) -> None:
    """Follow one task to its end."""
    async with running(Place(Path(folder)), era=era) as (engine, _watch):
        seen: list[str] = []

        def look(_update: object) -> None:
            identity = _task_of(engine)
            if identity and not seen:
                seen.append(identity)
                say("seen", identity)

        engine.subscribe(look)
        outcome = await engine.calls.make(task_call("task_work", era, steps=steps))
        say("ended", outcome.state.value)


def _task_of(engine: Engine) -> str:
    found = engine.jobs.snapshot(1)
    return "" if found is None or found.task is None else found.task.id


if __name__ == "__main__":
    chosen: Any = sys.argv[2]
    anyio.run(main, sys.argv[1], chosen, int(sys.argv[3]))
