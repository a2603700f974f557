"""Saved jobs are listed with those of recordings, each of them once, and nothing is written."""

from pathlib import Path
from typing import Any

import pytest

from mcp_progress_monitor.store.chains import Origin, SavedProgress
from mcp_progress_monitor.store.resumes import FILE, ResumeStore
from mcp_progress_monitor.store.tasks import TaskStanding, Times
from mcp_progress_monitor.store.watched import watched_key
from tests.taps import HandTap
from tests.unit.agents.recorded import asked, asking, live
from tests.unit.serving.recordings import answer, call

WHEN = 1_700_000_000.0
HALF = SavedProgress(5, 10, "half\u202e done")


async def chain(data_dir: Path, server: str = "db", name: str = "T1", client: str = "") -> None:
    """Save a job whose token has that name."""
    store = ResumeStore(data_dir)
    await store.open()
    key = watched_key(client, "key") if client else "key"
    params = {"name": "export", "arguments": {}}
    origin = Origin(server, key, "{}", "", "tools/call", params)
    await store.begin(origin, name, HALF, started_when=WHEN, when=WHEN)
    await store.close()


def _files(folder: Path) -> list[Path]:
    """All but the log of what was read."""
    return sorted(path for path in folder.rglob("*") if folder / "agents" not in path.parents)


async def test_a_saved_job_is_listed_without_a_recording(tmp_path: Path) -> None:
    await chain(tmp_path)
    await chain(tmp_path, "db@77", "T2", "Claude Code")
    before = _files(tmp_path)
    async with asking(tmp_path) as client:
        jobs = (await asked(client, "jobs", states=["resumable"]))["jobs"]
        others = [
            (await asked(client, "jobs", **how))["jobs"]
            for how in ({"states": ["failed"]}, {"server": "x"}, {"newer_than_minutes": 1})
        ]
        few = await asked(client, "jobs", limit=1)
    assert [(each["job"], each["saved"], each["client_quoted"]) for each in jobs] == [
        ("s2", "s2", "Claude Code"),
        ("s1", "s1", None),
    ]
    assert {each["server"] for each in jobs} == {"db"}
    assert (jobs[0]["state"], jobs[0]["percent"]) == ("Resumable", 50)
    assert "\u202e" not in jobs[0]["message_quoted"]
    assert others == [[], [], []]
    assert few["note"].startswith("1 older job omitted")
    assert {*_files(tmp_path)} - {*before} <= {tmp_path / "agents"}


async def test_a_saved_job_that_a_recording_shows_is_listed_once(tmp_path: Path) -> None:
    await chain(tmp_path)
    tap = HandTap(live(tmp_path))
    tap.write(tap.handshake(), tap.sent(call(1, token="a")))
    tap.write(tap.received(_stopped("T1")), tap.sent(call(2, token="b")))
    tap.write(tap.received(_stopped("gone")))
    async with asking(tmp_path) as client:
        jobs = (await asked(client, "jobs"))["jobs"]
    assert [(each["job"], each["state"], each["saved"]) for each in jobs] == [
        ("r1-2", "Resumable", ""),
        ("r1-1", "Resumable", "s1"),
    ]


def _stopped(token: str) -> dict[str, Any]:
    return answer(1 if token == "T1" else 2, content=[], _meta={"nextResumeToken": token})


async def test_only_saved_jobs_of_the_chosen_servers_are_shown(tmp_path: Path) -> None:
    await chain(tmp_path, "shown@1", client="C")
    await chain(tmp_path, "secret", "T2")
    async with asking(tmp_path, "shown") as client:
        jobs = (await asked(client, "jobs"))["jobs"]
    assert [each["server"] for each in jobs] == ["shown"]


async def test_a_task_that_was_left_at_its_server_is_listed(tmp_path: Path) -> None:
    store = ResumeStore(tmp_path)
    await store.open()
    origin = Origin("db", "key", "{}", "", "tools/call", {"name": "export"})
    times = Times(WHEN, WHEN)
    await store.tasks.begin(origin, "id", TaskStanding("working"), is_flat=True, times=times)
    await store.close()
    async with asking(tmp_path) as client:
        (job,) = (await asked(client, "jobs"))["jobs"]
    assert (job["job"], job["saved"]) == ("t1", "")
    assert job["state"] == "A task, left at its server"


@pytest.mark.parametrize("content", [b"", b"rubbish" * 1000])
async def test_a_store_that_cannot_be_read_hides_nothing_else(
    tmp_path: Path, content: bytes
) -> None:
    (tmp_path / FILE).write_bytes(content)
    async with asking(tmp_path) as client:
        assert (await asked(client, "jobs"))["jobs"] == []
    assert (tmp_path / FILE).read_bytes() == content
