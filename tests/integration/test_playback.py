"""A recording of live demo servers, played: the same jobs, servers and frames as live."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from mcp_progress_monitor.clock import Clock
from mcp_progress_monitor.engine.call import AutoResume, Call
from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.playback.playback import Playback
from mcp_progress_monitor.recording.folder import RecordingsFolder
from mcp_progress_monitor.recording.format import SUFFIX
from mcp_progress_monitor.recording.recorder import Recorder
from mcp_progress_monitor.recording.settings import RecordingSettings
from mcp_progress_monitor.snapshots.questions import Decline, Refused
from mcp_progress_monitor.snapshots.servers import ServerState
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.integration.watching import Watch
from tests.patience import PATIENCE_S
from tests.servers.definition import server_definition

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Sequence
    from pathlib import Path

    from mcp_progress_monitor.protocol.frames import Frame
    from mcp_progress_monitor.snapshots.definitions import Era, StdioDefinition
    from mcp_progress_monitor.snapshots.servers import ServerSnapshot
    from mcp_progress_monitor.tracker.snapshot import JobDetail

if TYPE_CHECKING:
    Scene = Callable[[Engine, Watch], Awaitable[None]]

_QUICK: dict[str, Any] = {"interval_s": 0.001, "pause_s": 0.0005, "steps": 6, "delay_s": 0.01}
_SMALLER: dict[str, dict[str, Any]] = {
    "worker": {"items": 30, "items_per_s": 1000},
    "download": {"megabytes": 3, "megabytes_per_s": 300},
    "stall": {"silence_s": 0.2},
    "burst": {"count": 4000},
    "long_line": {"megabytes": 3},
    "changing_total": {"steps": 40},
    "question_cancelled": {"after_s": 0.05},
    "task_cooperative": {"goes_on_s": 0.1},
}
_LEFT_OUT = frozenset(
    {"crash", "never_answers", "impossible_arguments", "resumable_export", "task_never_ends"}
)
"""Those have scenes of their own, or never end."""


class Live:
    """What was seen live, when all was over."""

    def __init__(self, engine: Engine, watch: Watch, now: float) -> None:
        details = [engine.jobs.detail(job) for job in engine.jobs.ids()]
        self.details = [_of_wire(detail) for detail in details if detail is not None]
        self.servers = engine.servers.snapshots()
        self.frames: list[Frame] = [frame for update in watch.updates for frame in update.frames]
        self.marked = {n: w for update in watch.updates for n, w in update.changes.marked.items()}
        self.stray = [engine.jobs.unattached_ticks(s.connection or "") for s in self.servers]
        self.now = now


def _of_wire(detail: JobDetail) -> JobDetail:
    """A job without what is not on the wire: ids of saved chains, plans to go on with them."""
    known = detail.snapshot._replace(
        chain=None, is_automatic=False, next_attempt_at=None, resume_note=""
    )
    if known.task is not None:
        # Both count from when they are read, which live is some milliseconds after the last frame.
        task = known.task._replace(ttl_left_s=None, polled_s=None)
        known = known._replace(task=task)
    return detail._replace(snapshot=known)


async def recorded(
    path: Path, scene: Scene, definitions: Sequence[StdioDefinition], **of_monitor: Any
) -> Live:
    """Live through a scene with a recorder on; what was there after the end of all servers."""
    clock = Clock()
    recorder = Recorder(path, clock=clock)
    async with Engine(clock, recorder=recorder, **of_monitor) as engine:
        watch = Watch(engine)
        for definition in definitions:
            engine.servers.add(definition)
            await engine.servers.connect(definition.name)
        await scene(engine, watch)
        await engine.aclose()
    assert recorder.error is None
    return Live(engine, watch, clock.monotonic())


def played(path: Path) -> Playback:
    playback = Playback(path)
    while playback.advance(0.005):
        pass
    return playback


def assert_same(live: Live, playback: Playback) -> None:
    """All that was seen live is seen again."""
    assert playback.errors == []
    details = [playback.jobs.detail(job) for job in playback.jobs.ids()]
    seen = [_of_wire(detail) for detail in details if detail is not None]
    for detail, before in zip(seen, live.details, strict=True):
        # Live, the age of a token counts until now.
        snapshot = detail.snapshot._replace(saved_s=None)
        assert snapshot == before.snapshot
        assert detail._replace(snapshot=snapshot) == before
    timeline = playback.timeline
    frames = timeline.frames(0, timeline.end)
    # Of wall time the index has no more than milliseconds.
    assert [f._replace(when=0.0) for f in frames] == [f._replace(when=0.0) for f in live.frames]
    assert [f.when for f in frames] == pytest.approx([f.when for f in live.frames], abs=0.001)
    places = range(timeline.end)
    marked = {timeline.number(place) for place in places if timeline.is_marked(place)}
    assert marked == set(live.marked)
    assert [_of_server(server) for server in playback.servers.snapshots()] == [
        _of_server(server) for server in live.servers
    ]
    connections = [server.connection or "" for server in playback.servers.snapshots()]
    assert [playback.jobs.unattached_ticks(connection) for connection in connections] == live.stray


def _of_server(server: ServerSnapshot) -> ServerSnapshot:
    """A server without what no event tells: values of variables, how to open, limits, advice."""
    definition = server.definition
    assert definition.transport == "stdio"
    definition = definition.model_copy(
        update={"env": dict.fromkeys(definition.env, ""), "era": "auto"}
    )
    error = server.error and server.error._replace(hint="")
    return server._replace(definition=definition, error=error)


def tool(name: str, arguments: dict[str, Any], **options: Any) -> Call:
    return Call("demo", "tools/call", {"name": name, "arguments": arguments}, **options)


async def every_tool(engine: Engine, _watch: Watch) -> None:
    """Call every tool of the demo, in its quickest form, several at a time."""
    limit = anyio.CapacityLimiter(4)

    async def call(name: str, arguments: dict[str, Any]) -> None:
        async with limit:
            await engine.calls.make(tool(name, arguments))

    async with anyio.create_task_group() as whole:
        whole.start_soon(say_no, engine)
        await _call_all(engine, call)
        # Read anew on news that may come last of all; a list that is not whole at the end is on
        # record all the same.
        with anyio.fail_after(PATIENCE_S):
            while all(  # noqa: ASYNC110
                offer.name != "extra_tool" for offer in engine.servers.snapshot("demo").tools
            ):
                await anyio.sleep(0.01)
        whole.cancel_scope.cancel()


async def say_no(engine: Engine) -> None:
    """Turn away whatever servers ask of the user."""
    while True:
        for question in engine.questions.open():
            is_sampling = question.kind == "sampling"
            engine.questions.answer(question.id, Refused("No") if is_sampling else Decline())
        await anyio.sleep(0.01)


async def _call_all(
    engine: Engine, call: Callable[[str, dict[str, Any]], Coroutine[Any, Any, None]]
) -> None:
    async with anyio.create_task_group() as calls:
        for offer in engine.servers.snapshot("demo").tools:
            known = offer.input_schema.get("properties", {})
            quick = {key: value for key, value in _QUICK.items() if key in known}
            if offer.name not in _LEFT_OUT:
                calls.start_soon(call, offer.name, quick | _SMALLER.get(offer.name, {}))


@pytest.mark.parametrize("era", ["handshake", "per-request"])
async def test_every_scene_is_played_as_it_was_live(tmp_path: Path, era: Era) -> None:
    path = tmp_path / f"all{SUFFIX}"
    live = await recorded(path, every_tool, [server_definition(era=era)])
    assert len(live.details) > 25
    playback = played(path)
    assert_same(live, playback)
    assert playback.servers.snapshot("demo").state is ServerState.CLOSED
    assert len(playback.servers.snapshot("demo").tools) > 25


async def test_a_recording_of_many_parts_is_played_as_one(tmp_path: Path) -> None:
    folder = RecordingsFolder(tmp_path / "recordings")
    clock = Clock()
    path = folder.new_path(clock.wall())
    settings = RecordingSettings(part_bytes=20_000)
    async with Engine(clock, recorder=Recorder(path, settings, clock, folder)) as engine:
        watch = Watch(engine)
        engine.servers.add(server_definition())
        await engine.servers.connect("demo")
        await every_tool(engine, watch)
        await engine.aclose()
    live = Live(engine, watch, clock.monotonic())
    files = sorted(path.parent.glob(f"*{SUFFIX}"))
    assert len(files) > 1
    for file in files:
        assert_same(live, played(file))


def _has_more(engine: Engine, known: int) -> bool:
    return len(engine.jobs.ids()) > known


async def _endings(engine: Engine, watch: Watch) -> None:
    """A time limit, two cancels, and a crash that takes a call with it."""
    silent = {"steps": 2, "interval_s": 0.001}
    await engine.calls.make(tool("never_answers", silent, idle_timeout_s=0.1))

    async def call(name: str, arguments: dict[str, Any]) -> None:
        await engine.calls.make(tool(name, arguments))

    for name, on_cancel in (("never_answers", "ignore"), ("known_total", "error")):
        async with anyio.create_task_group() as calls:
            known = len(engine.jobs.ids())
            calls.start_soon(call, name, {"steps": 900, "interval_s": 0.01, "on_cancel": on_cancel})
            await watch.until(functools.partial(_has_more, engine, known))
            await engine.calls.cancel(engine.jobs.ids()[-1], "Enough of it")
    async with anyio.create_task_group() as calls:
        calls.start_soon(call, "never_answers", silent)
        calls.start_soon(call, "crash", {"at_tick": 3, "interval_s": 0.002})


async def test_limits_cancels_and_crashes_are_played_as_they_were_live(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_progress_monitor.engine.engine._TICK_S", 0.05)
    path = tmp_path / f"endings{SUFFIX}"
    live = await recorded(path, _endings, [server_definition()], cancel_grace_s=0.2)
    states = {detail.snapshot.state for detail in live.details}
    assert {JobState.TIMED_OUT, JobState.CANCELLED, JobState.LOST} <= states
    playback = played(path)
    assert_same(live, playback)
    assert playback.servers.snapshot("demo").state is ServerState.FAILED


@pytest.mark.parametrize("fault", ["none", "rpc_error", "always_refused", "error_with_token"])
async def test_resumable_jobs_are_played_as_they_were_live(tmp_path: Path, fault: str) -> None:
    async def scene(engine: Engine, _watch: Watch) -> None:
        for limit in range(3):
            at_once = AutoResume(limit, pauses_s=(0,)) if limit else None
            arguments = {"job": f"export-{limit}", "chunks": 12, "interval_s": 0.001}
            await engine.calls.make(
                tool("resumable_export", arguments | faulty, auto_resume=at_once)
            )

    faulty = {} if fault == "none" else {"fault": fault, "at_attempt": 2}
    path = tmp_path / f"resumable{SUFFIX}"
    definition = server_definition("--state-dir", str(tmp_path / "state"))
    live = await recorded(path, scene, [definition])
    assert live.details[0].snapshot.state is JobState.RESUMABLE
    assert live.details[0].snapshot.can_resume
    assert_same(live, played(path))


async def test_a_session_that_was_killed_is_played_up_to_its_last_whole_line(
    tmp_path: Path,
) -> None:
    path = tmp_path / f"killed{SUFFIX}"
    await recorded(path, _one_call, [server_definition()])
    lines = path.read_bytes().splitlines(keepends=True)
    ticks = [place for place, line in enumerate(lines) if b"notifications/progress" in line]
    path.write_bytes(b"".join(lines[: ticks[3]]) + lines[ticks[3]][:-30])
    playback = played(path)
    job = playback.jobs.snapshot(1)
    assert job is not None
    assert (job.state, job.tick_count) == (JobState.RUNNING, 3)
    assert playback.servers.snapshot("demo").state is ServerState.CONNECTED
    assert playback.servers.snapshot("demo").pid is not None
    assert (job.rate, job.eta_s) == (None, None)
    assert [error.what for error in playback.errors] == [
        "The recording ends here while 1 job was running",
        "The recording ends in the middle of a line, which was skipped",
    ]


async def _one_call(engine: Engine, _watch: Watch) -> None:
    await engine.calls.make(tool("known_total", {"steps": 5, "interval_s": 0.001}))
