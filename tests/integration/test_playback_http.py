"""Sessions over HTTP, recorded live: played they are the same again, and their HAR is sound."""

import json
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from mcp_progress_monitor.clock import Clock
from mcp_progress_monitor.engine.call import Call
from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.exports.formats import HAR, ExportOptions, export_chunks
from mcp_progress_monitor.exports.options import FindingTexts
from mcp_progress_monitor.exports.redaction import Redaction
from mcp_progress_monitor.findings import rules
from mcp_progress_monitor.playback.playback import Playback
from mcp_progress_monitor.recording.recorder import Recorder
from mcp_progress_monitor.snapshots.definitions import Era, HttpDefinition
from mcp_progress_monitor.tracker.snapshot import JobDetail, JobState
from tests.integration.commands import run
from tests.integration.http_servers import http_server

_SECRET = "k-7f3a9b1c"
_WORK = {"name": "worker", "arguments": {"items": 10, "items_per_s": 15}}


class Seen:
    """What was there live, when all was over."""

    def __init__(self, engine: Engine) -> None:
        found = (engine.jobs.detail(job) for job in engine.jobs.ids())
        self.details = [detail for detail in found if detail is not None]
        self.server = engine.servers.snapshot("remote")


async def lived(path: Path, era: Era, *options: str) -> Seen:
    """Call a tool of the demo over HTTP twice, and record it."""
    clock = Clock()
    recorder = Recorder(path, clock=clock)
    async with http_server(*options) as server, Engine(clock, recorder=recorder) as engine:
        headers = {"X-Api-Key": _SECRET}
        definition = HttpDefinition(name="remote", url=server.url, headers=headers, era=era)
        engine.servers.add(definition)
        await engine.servers.connect("remote")
        for _ in range(2):
            await engine.calls.make(Call("remote", "tools/call", _WORK))
        await engine.aclose()
        return Seen(engine)


def played(path: Path) -> Playback:
    playback = Playback(path)
    while playback.advance(0.005):
        pass
    return playback


def details_of(playback: Playback) -> list[JobDetail]:
    found = (playback.jobs.detail(job) for job in playback.jobs.ids())
    return [detail for detail in found if detail is not None]


def entries_of(playback: Playback) -> list[dict[str, Any]]:
    made = b"".join(export_chunks(playback, ExportOptions(HAR), Redaction(), FindingTexts()))
    entries: list[dict[str, Any]] = json.loads(made)["log"]["entries"]
    return entries


async def test_a_broken_and_resumed_stream_is_the_same_when_it_is_played(tmp_path: Path) -> None:
    path = tmp_path / "a.mcprec"
    seen = await lived(path, "handshake", "--break-after", "5", "--resumable", "--retry", "10")
    playback = played(path)
    assert details_of(playback) == seen.details
    (first, _) = seen.details
    assert first.snapshot.state is JobState.DONE
    assert [step.is_broken for step in first.stream_steps] == [True, False]
    (server,) = playback.servers.snapshots()
    assert isinstance(server.definition, HttpDefinition)
    assert server.definition.url == seen.server.definition.address
    assert server.definition.headers == {"X-Api-Key": ""}
    assert (server.state, server.revision) == (seen.server.state, seen.server.revision)


async def test_ticks_queued_until_a_later_reply_are_the_same_when_they_are_played(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.mcprec"
    seen = await lived(path, "handshake", "--reply", "batch", "--late-batch")
    assert details_of(played(path)) == seen.details
    job = seen.details[0].snapshot
    assert (job.state, job.progress, job.tick_count) == (JobState.DONE, 10, 10)
    assert job.late_count > 0
    assert {mark.key for mark in job.marks} == {rules.TICK_LATE_IN_BATCH.kind}


@pytest.mark.parametrize("reply", ["sse", "json"])
async def test_its_har_has_every_body_in_full_length_and_no_credentials(
    tmp_path: Path, reply: str
) -> None:
    path = tmp_path / "a.mcprec"
    await lived(path, "per-request", "--reply", reply)
    entries = entries_of(played(path))
    calls = [entry for entry in entries if entry["_mcp"]["method"] == "tools/call"]
    assert len(calls) == 2
    for entry in calls:
        response = entry["response"]
        assert response["status"] == 200
        assert len(response["content"]["text"].encode()) == response["bodySize"]
        assert json.loads(entry["request"]["postData"]["text"])["params"]["name"] == "worker"
    assert _SECRET not in json.dumps(entries)
    assert _SECRET.encode() not in path.read_bytes()


async def test_the_command_line_exports_the_exchanges_that_a_filter_chooses(tmp_path: Path) -> None:
    path = tmp_path / "a.mcprec"
    await lived(path, "per-request")
    arguments = ("export", str(path), "--to", "har", "--where", "method == tools/call")
    done = await anyio.to_thread.run_sync(run, *arguments)
    assert done.code == 0
    entries = json.loads(done.out)["log"]["entries"]
    assert [entry["_mcp"]["method"] for entry in entries] == ["tools/call"] * 2
