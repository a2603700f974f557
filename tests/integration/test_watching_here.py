"""Jobs of other clients go on here: their client is killed in the middle, every chunk once."""

import contextlib
import functools
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from mcp_progress_monitor.catalogue.trust import FILE_NAME, Trust
from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.engine.origins import WatchedServerError
from mcp_progress_monitor.engine.servers_here import RECORDED, find_server_here
from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.tracker.snapshot import JobDetail, JobSnapshot, JobState
from tests.integration.commands import ROOT, linux_only, run
from tests.integration.resumable import Place, saved_tokens, whole
from tests.integration.tapping import tap_command
from tests.integration.tasks import saved_tasks
from tests.integration.terminals import Terminal
from tests.integration.test_watching import jobs_of
from tests.patience import until
from tests.servers.definition import COMMAND

CLIENT = Path(__file__).with_name("watched_client.py")
ATTEMPT = {"chunks": 12, "chunks_per_attempt": 5, "interval_s": 0.002}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("HOME", str(tmp_path))  # without any other client's files
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return Place(tmp_path)


@contextlib.contextmanager
def agent(place: Place, **arguments: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A client that runs the export behind a tap, and is killed at the end."""
    server = (*COMMAND, "--state-dir", str(place.state_dir))
    args = tap_command(place.data_dir, *server, options=("--name", "export"))
    given = json.dumps(arguments if "task" in arguments else {**ATTEMPT, **arguments})
    with subprocess.Popen(
        [sys.executable, str(CLIENT), given, *args],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        cwd=ROOT,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def watching(place: Place) -> Engine:
    return Engine(store=place.store(), watched=[place.data_dir / "recordings" / "live"])


def the_job(engine: Engine) -> JobSnapshot:
    (job,) = jobs_of(engine)
    return job


def detail(engine: Engine) -> JobDetail:
    found = engine.jobs.detail(the_job(engine).id)
    assert found is not None
    return found


async def approve(engine: Engine) -> None:
    """Resume, and approve what is asked for: what was recorded."""
    with pytest.raises(WatchedServerError, match="started by Agent") as error:
        await engine.resumer.resume(the_job(engine).id)
    assert engine.servers.names() == ()
    origin = error.value.origin
    find = functools.partial(find_server_here, origin, ())
    found = await anyio.to_thread.run_sync(find)
    assert (found.source, found.hidden_count) == (RECORDED, 0)
    engine.resumer.use_here(origin, found.definition)


def made_by(engine: Engine) -> list[tuple[int, str | None]]:
    return [(attempt.number, attempt.client) for attempt in detail(engine).attempts]


async def killed_in_its_second_attempt(engine: Engine, client: subprocess.Popen[bytes]) -> None:
    """Kill the client while it resumes its job."""
    await until(lambda: jobs_of(engine) and the_job(engine).attempt_count == 2)
    await until(lambda: (the_job(engine).progress or 0) >= 7)
    client.kill()
    await until(lambda: the_job(engine).can_resume_here)


async def test_a_job_whose_client_was_killed_is_resumed_here_every_chunk_once(place: Place) -> None:
    async with watching(place) as engine:
        with agent(place, hangs=True, interval_s=0.05) as client:
            await killed_in_its_second_attempt(engine, client)
        job = the_job(engine)
        assert (job.state, job.attempt_count) == (JobState.RESUMABLE, 2)
        assert job.watched_client == "Agent"
        await approve(engine)
        outcome = await engine.resumer.resume(job.id)
        while outcome.state is JobState.RESUMABLE:
            outcome = await engine.resumer.resume(job.id)
        assert outcome.state is JobState.DONE
        job = the_job(engine)
        assert (job.watched_client, job.begun_by, job.server) == (None, "Agent", "export")
        assert made_by(engine)[:3] == [(1, "Agent"), (2, "Agent"), (3, None)]
    assert place.chunks() == whole()
    assert saved_tokens(place) == []


async def test_it_is_resumed_here_by_two_runs_of_the_program(place: Place) -> None:
    async with watching(place) as engine:
        with agent(place, hangs=True, interval_s=0.05) as client:
            await killed_in_its_second_attempt(engine, client)
        await until(lambda: the_job(engine).chain)
    async with watching(place) as engine:
        assert (the_job(engine).watched_client, the_job(engine).attempt_count) == ("Agent", 2)
        await approve(engine)
        outcome = await engine.resumer.resume(the_job(engine).id)
        assert outcome.state in {JobState.RESUMABLE, JobState.DONE}
        assert the_job(engine).attempt_count == 3
    if outcome.state is JobState.RESUMABLE:
        async with watching(place) as engine:
            assert the_job(engine).attempt_count == 3
            await approve(engine)
            await until(lambda: len(made_by(engine)) == 3)
            assert made_by(engine) == [(1, "Agent"), (2, "Agent"), (3, None)]
            outcome = await engine.resumer.resume(the_job(engine).id)
    assert outcome.state is JobState.DONE
    assert place.chunks() == whole()
    assert saved_tokens(place) == []


async def test_what_was_completed_here_is_not_offered_while_its_tap_lives_on(place: Place) -> None:
    with agent(place):  # it drops the result with the token, and lives
        async with watching(place) as engine:
            await until(lambda: jobs_of(engine) and the_job(engine).can_resume_here)
            await until(lambda: the_job(engine).chain)
            await approve(engine)
            first = await engine.resumer.resume(the_job(engine).id)
            assert first.state is JobState.RESUMABLE
        async with watching(place) as engine:
            # The tap repeats the first attempt; what was made of it here is known.
            await until(lambda: engine.timeline.end and len(jobs_of(engine)) == 1)
            # For a moment, the row of this program and that of the tap are two.
            await until(lambda: len(jobs_of(engine)) == 1 and the_job(engine).attempt_count == 2)
            await until(
                lambda: len(jobs_of(engine)) == 1 and made_by(engine) == [(1, "Agent"), (2, None)]
            )
            await approve(engine)
            assert (await engine.resumer.resume(the_job(engine).id)).state is JobState.DONE
        async with watching(place) as engine:
            await until(lambda: engine.timeline.end and jobs_of(engine))
            await until(lambda: the_job(engine).state is JobState.DONE)
            assert the_job(engine).resume_note == "It was resumed here and completed"
            assert not the_job(engine).can_resume_here
    assert place.chunks() == whole()
    assert saved_tokens(place) == []


async def test_the_request_of_another_client_is_issued_again_here(place: Place) -> None:
    async with watching(place) as engine:
        with agent(place):
            await until(lambda: jobs_of(engine) and the_job(engine).can_resume_here)
        job = the_job(engine).id
        with pytest.raises(WatchedServerError) as error:
            await engine.calls.reissue(job)
        find = functools.partial(find_server_here, error.value.origin, ())
        found = await anyio.to_thread.run_sync(find)
        engine.resumer.use_here(error.value.origin, found.definition)
        outcome = await engine.calls.reissue(job)
        again = engine.jobs.snapshot(outcome.job or 0)
        assert again is not None
        assert (again.watched_client, again.server, again.attempt_count) == (None, "export", 1)
        assert again.summary == jobs_of(engine)[0].summary


async def test_a_task_whose_client_was_killed_is_followed_here(place: Place) -> None:
    async with watching(place) as engine:
        with agent(place, task=True, steps=20, interval_s=0.02, poll_ms=50):
            await until(lambda: jobs_of(engine) and the_job(engine).task is not None)
            await until(lambda: len(saved_tasks(place)) == 1)
            assert not the_job(engine).can_resume_here
            with pytest.raises(UserError, match="belongs to Agent"):
                await engine.tasks.pick_up(the_job(engine).id)
        await until(lambda: the_job(engine).can_resume_here)
        assert (the_job(engine).state, the_job(engine).watched_client) == (JobState.LOST, "Agent")
    async with watching(place) as engine:
        job = the_job(engine)
        assert (job.watched_client, job.can_resume_here, job.state) == (
            "Agent",
            True,
            JobState.RUNNING,
        )
        with pytest.raises(WatchedServerError) as error:
            await engine.tasks.pick_up(job.id)
        find = functools.partial(find_server_here, error.value.origin, ())
        found = await anyio.to_thread.run_sync(find)
        engine.resumer.use_here(error.value.origin, found.definition)
        outcome = await engine.tasks.pick_up(job.id)
        assert (outcome.state, outcome.job) == (JobState.DONE, job.id)
        assert (the_job(engine).state, the_job(engine).watched_client) == (JobState.DONE, None)
    assert saved_tasks(place) == []


async def test_the_command_line_lists_and_resumes_it_after_approval(place: Place) -> None:
    async with watching(place) as engine:
        with agent(place):
            await until(lambda: jobs_of(engine) and the_job(engine).can_resume_here)
        await until(lambda: the_job(engine).chain)
        chain = the_job(engine).chain
        server = the_job(engine).server
    data = ("--data-dir", str(place.data_dir))
    list_all = functools.partial(run, "resume", *data, "--list")
    assert f"{server} (Agent)" in (await anyio.to_thread.run_sync(list_all)).out
    in_json = await anyio.to_thread.run_sync(functools.partial(list_all, "--json"))
    assert [job["client"] for job in json.loads(in_json.out)["jobs"]] == ["Agent"]
    resume = functools.partial(run, "resume", *data, str(chain), "--auto-resume")
    refused = await anyio.to_thread.run_sync(resume)
    assert refused.code == 2
    assert "You have not approved this server, so nothing was run" in refused.err
    assert str(place.state_dir) in refused.err  # what would be run
    assert place.chunks() == whole(5)
    async with watching(place) as engine:
        origin = engine._keeper.origins[1]  # noqa: SLF001
    found = await anyio.to_thread.run_sync(functools.partial(find_server_here, origin, ()))
    Trust(place.data_dir / FILE_NAME).approve(found.definition)
    resumed = await anyio.to_thread.run_sync(resume)
    assert (resumed.code, place.chunks()) == (0, whole())


async def saved_chain(place: Place) -> int:
    """A job of a client that was killed after the first attempt, as it is saved here."""
    async with watching(place) as engine:
        with agent(place):
            await until(lambda: jobs_of(engine) and the_job(engine).can_resume_here)
        await until(lambda: the_job(engine).chain)
        return the_job(engine).chain or 0


@linux_only
async def test_the_user_of_a_terminal_is_asked_before_it_is_resumed(place: Place) -> None:
    args = ("resume", "--data-dir", str(place.data_dir), str(await saved_chain(place)))

    def asked(answer: bytes, *expected: str) -> int:
        with Terminal(*args, "--auto-resume") as user:
            user.expect("Agent started this server.")
            user.expect(str(place.state_dir))  # what would be run
            user.expect("Approve?")
            user.press(answer)
            for text in expected:
                user.expect(text)
            code = user.end()
        assert "Traceback" not in user.shown
        assert "Exception" not in user.shown
        return code

    def all_asked() -> list[int]:
        refused = "You have not approved this server, so nothing was run"
        no, gone = asked(b"n\n", refused), asked(b"\x04", refused)
        interrupted = asked(b"\x03")
        assert place.chunks() == whole(5)
        return [no, gone, interrupted, asked(b"y\n", "done")]

    codes = await anyio.to_thread.run_sync(all_asked)
    assert codes == [2, 2, 5, 0]
    assert place.chunks() == whole()
