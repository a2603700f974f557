"""The demo server's tasks behind a monitor, in both eras, for tests of following them."""

import json
from collections.abc import Callable
from typing import Any

import anyio

from mcp_progress_monitor.engine.call import Call, Outcome
from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.protocol.frames import Channel
from mcp_progress_monitor.snapshots.definitions import Era
from mcp_progress_monitor.tracker.snapshot import JobId, JobSnapshot
from tests.integration.resumable import Place, the_job
from tests.integration.watching import Watch
from tests.patience import PATIENCE_S
from tests.unit.store.samples import query

ERAS: tuple[Era, ...] = ("handshake", "per-request")
_UNWISHED = {"task_required", "task_unasked", "task_answers_plainly"}
_OF_CALL = {"as_task", "task_ttl_ms", "total_timeout_s", "idle_timeout_s"}
_ALL = {"poll_ms": 100, "interval_s": 0.05, "steps": 4}
_TAKEN = {
    "task_work": {"steps", "interval_s"},
    "task_required": {"steps", "interval_s"},
    "task_fails": {"steps", "interval_s"},
    "task_cooperative": {"steps", "interval_s"},
    "task_asks": {"steps", "interval_s"},
    "task_result_early": {"steps", "interval_s"},
    "task_status_after_end": {"steps", "interval_s"},
    "task_unasked": {"steps", "interval_s"},
    "task_forgets_id": set(),
    "task_answers_plainly": {"steps", "interval_s"},
    "task_forbidden": {"steps", "interval_s"},
}
_WITHOUT_POLLS = {"task_answers_plainly", "task_forbidden"}


def task_call(tool: str, era: Era, **wished: Any) -> Call:
    """A call of a tool as a task, fast by default; `wished` of the call or its tool."""
    of_call = {name: wished.pop(name) for name in set(wished) & _OF_CALL}
    if era == "handshake" and tool not in _UNWISHED:
        of_call.setdefault("as_task", True)
    taken = _TAKEN.get(tool, {"interval_s"}) | (set() if tool in _WITHOUT_POLLS else {"poll_ms"})
    usual = {name: value for name, value in _ALL.items() if name in taken}
    params = {"name": tool, "arguments": usual | wished}
    return Call("demo", "tools/call", params, **of_call)


async def called(engine: Engine, tool: str, era: Era, **wished: Any) -> Outcome:
    """The outcome of such a call."""
    with anyio.fail_after(PATIENCE_S):
        return await engine.calls.make(task_call(tool, era, **wished))


async def begun(
    engine: Engine, watch: Watch, job: JobId = 1, is_so: Callable[[JobSnapshot], object] = bool
) -> JobSnapshot:
    """A job once it is a task for which `is_so`."""

    def is_task() -> bool:
        found = engine.jobs.snapshot(job)
        return found is not None and found.task is not None and bool(is_so(found))

    await watch.until(is_task)
    return the_job(engine, job)


def saved_tasks(place: Place) -> list[str]:
    """The ids of the tasks in the file, as any other program reads them."""
    return [json.loads(task) for (task,) in query(place.data_dir, "SELECT task FROM tasks")]


def sent(watch: Watch) -> list[dict[str, Any]]:
    """Everything that was written, decoded."""
    frames = [f for u in watch.updates for f in u.frames if f.channel is Channel.SENT]
    return [json.loads(frame.raw) for frame in frames]
