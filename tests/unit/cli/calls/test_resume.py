"""Going on with saved jobs: which, with which server, and how each of them ends."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import pytest

from mcp_progress_monitor.cli.calls import visit
from mcp_progress_monitor.cli.entry import main
from mcp_progress_monitor.engine.call import AutoResume, Outcome
from mcp_progress_monitor.engine.updates import Update
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.recording.recorder import Recorder
from mcp_progress_monitor.snapshots.definitions import ServerDefinition
from mcp_progress_monitor.snapshots.servers import ServerSnapshot
from mcp_progress_monitor.store.resumes import FILE
from mcp_progress_monitor.tracker.snapshot import JobId, JobState
from tests.job_stand_ins import FakeJobs, job
from tests.server_stand_ins import server
from tests.unit.cli.outcomes import outcome


class FakeEngine(FakeJobs):
    """Saved jobs 30, 50 and 70 are our jobs 3, 5 and 7; the last is of another server."""

    def __init__(self) -> None:
        saved: dict[str, Any] = {"state": JobState.RESUMABLE, "can_resume": True}
        super().__init__(
            job(id=3, chain=30, **saved),
            job(id=5, chain=50, **saved),
            job(id=7, chain=70, server="remote", **saved),
            job(id=8),
        )
        self.ends: dict[JobId, Outcome | ErrorDetails] = {}
        self.done: list[tuple[Any, ...]] = []
        self.jobs = self
        self.recorded_path = None
        self.servers = SimpleNamespace(add=self.add_server, snapshots=self.servers_now)
        self.questions = SimpleNamespace(open=list, find=lambda _question: None)
        self.tasks = SimpleNamespace(
            find=self.find_task,
            saved_id=self.saved_task,
            pick_up=self.pick_up,
            stop_automatic=lambda: None,
            leave=lambda: None,
        )
        self.resumer = SimpleNamespace(
            find=self.find_resumable, resume=self.resume, use_server=self.use_server, error=None
        )
        self.unreachable: ErrorDetails | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return

    def subscribe(self, _listener: Callable[[Update], None]) -> Callable[[], None]:
        return self.asked.clear

    def find_resumable(self, resume_id: int) -> JobId | None:
        """The job as numbered above."""
        return resume_id // 10 if resume_id in {30, 50, 70} else None

    def find_task(self, saved: int) -> JobId | None:
        """Task t80 is our job 8."""
        return 8 if saved == 80 else None

    def saved_task(self, job_id: JobId) -> int | None:
        """As numbered above, until it has ended."""
        return 80 if job_id == 8 and ("pick up", 8) not in self.done else None

    async def pick_up(self, job_id: JobId) -> Outcome:
        """End as the test said."""
        self.done.append(("pick up", job_id))
        end = self.ends.get(job_id, outcome({}, None, JobState.DONE, b"{}"))
        if isinstance(end, ErrorDetails):
            raise UserError(end)
        return end

    def add_server(self, definition: ServerDefinition) -> str:
        """Note it."""
        self.done.append(("add", definition.name, *getattr(definition, "args", ())))
        return definition.name

    def use_server(self, job_id: JobId, name: str) -> None:
        """Note it."""
        self.done.append(("use", job_id, name))

    def servers_now(self) -> list[ServerSnapshot]:
        """One server, which cannot be reached if the test said so."""
        return [server("local-db", error=self.unreachable)]

    async def resume(self, job_id: JobId, *, auto_resume: AutoResume | None) -> Outcome:
        """End as the test said, by default with a result that completes the job."""
        self.done.append(("resume", job_id, auto_resume))
        end = self.ends.get(job_id, outcome({"content": []}, None, JobState.DONE, b"{}"))
        if isinstance(end, ErrorDetails):
            raise UserError(end)
        self.put(job(id=job_id, state=end.state, chain=end.resume_id, can_resume=bool(end[-1])))
        return end._replace(job=job_id)


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch, data_dir: Path) -> FakeEngine:
    """The monitor that the command gets, and a data folder of the test's own."""
    engine = FakeEngine()

    def make(
        *, store: object, restores: bool, cancel_grace_s: float, recorder: Recorder, **secrets: Any
    ) -> FakeEngine:
        assert store is not None
        named = {"keyring", "prompt", "folder", "settings", "lists", "follows_lists"}
        assert set(secrets) == named
        assert restores
        assert cancel_grace_s <= 1
        assert recorder.error is None
        return engine

    monkeypatch.setattr(visit, "Engine", make)
    return engine


def test_each_job_is_resumed_once_with_its_saved_server(engine: FakeEngine) -> None:
    assert main(["resume", "30", "50", "30"]) == 0
    assert engine.done == [("resume", 3, None), ("resume", 5, None)]


def test_further_attempts_follow_where_that_is_chosen(engine: FakeEngine) -> None:
    assert main(["resume", "30", "--auto-resume"]) == 0
    assert engine.done == [("resume", 3, AutoResume())]


def test_the_number_of_further_attempts_can_be_limited(engine: FakeEngine) -> None:
    assert main(["resume", "30", "--auto-resume", "--resume-limit", "7"]) == 0
    assert engine.done == [("resume", 3, AutoResume(limit=7))]


def test_a_named_server_stands_in_for_the_saved_one(engine: FakeEngine) -> None:
    assert main(["resume", "30", "50", "--", "python", "server.py"]) == 0
    assert engine.done == [
        ("add", "server", "server.py"),
        ("use", 3, "server"),
        ("use", 5, "server"),
        ("resume", 3, None),
        ("resume", 5, None),
    ]


def test_one_server_cannot_stand_in_for_several(
    engine: FakeEngine, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["resume", "30", "70", "--", "python", "server.py"]) == 2
    assert "local-db, remote" in capsys.readouterr().err
    assert engine.done == []


def test_an_unknown_id_keeps_all_from_being_resumed(
    engine: FakeEngine, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["resume", "30", "3"]) == 2
    said = capsys.readouterr().err
    assert "No saved job 3" in said
    assert "Saved jobs: 30, 50, 70, t80." in said
    assert engine.done == []


def test_a_job_that_is_declined_does_not_keep_others_from_going_on(
    engine: FakeEngine, capsys: pytest.CaptureFixture[str]
) -> None:
    engine.ends[3] = ErrorDetails("The server refused this job's resume token")
    assert main(["resume", "30", "50"]) == 2
    assert ("resume", 5, None) in engine.done
    assert "The server refused this job's resume token (saved job 30)" in capsys.readouterr().err


def test_a_server_that_cannot_be_reached_is_no_connection(
    engine: FakeEngine, capsys: pytest.CaptureFixture[str]
) -> None:
    engine.unreachable = engine.ends[3] = ErrorDetails("It does not start", "local-db")
    assert main(["resume", "30"]) == 3
    assert "It does not start (local-db, saved job 30)" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["--json"]], ids=["text", "json"])
def test_a_store_that_cannot_be_written_is_reported_once_however_many_jobs_it_stops(
    engine: FakeEngine, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    locked = ErrorDetails("The saved resume tokens are locked", f"/data/{FILE}")
    engine.resumer.error = engine.ends[3] = engine.ends[5] = locked
    assert main(["resume", "30", "50", *arguments]) == 8
    said = capsys.readouterr()
    assert said.err.count("The saved resume tokens are locked") == 1
    assert "To resume" not in said.err
    assert said.out.count("The saved resume tokens are locked") == (2 if arguments else 0)


def test_a_store_that_fails_in_the_middle_is_no_wrong_usage(
    engine: FakeEngine, capsys: pytest.CaptureFixture[str]
) -> None:
    engine.ends[3] = ErrorDetails("The disk is full", f"/data/{FILE}")
    assert main(["resume", "30"]) == 8
    assert "The disk is full" in capsys.readouterr().err


def test_no_job_is_called_unknown_where_the_store_cannot_tell(
    engine: FakeEngine, capsys: pytest.CaptureFixture[str]
) -> None:
    engine.held.clear()
    engine.resumer.error = ErrorDetails("The saved resume tokens were damaged")
    assert main(["resume", "20", "--json"]) == 8
    said = capsys.readouterr()
    assert "saved job" not in said.err
    assert said.err.count("were damaged") == said.out.count("were damaged") == 1


def test_a_folder_that_cannot_be_is_reported(
    capsys: pytest.CaptureFixture[str], data_dir: Path
) -> None:
    (data_dir / "file").touch()
    for arguments in (["30"], [], ["--list"]):
        assert main(["resume", *arguments, "--data-dir", str(data_dir / "file" / "below")]) == 2
        said = capsys.readouterr().err
        assert "Cannot create the data folder" in said
        assert "saved" not in said


def test_a_job_that_got_further_before_it_was_stopped_is_offered_again(
    engine: FakeEngine, capsys: pytest.CaptureFixture[str]
) -> None:
    full = ErrorDetails("The disk is full", f"/data/{FILE}")

    async def resume(job_id: JobId, **_: object) -> Outcome:
        engine.put(engine.held[job_id]._replace(attempt_count=2))
        raise UserError(full)

    engine.resumer.resume = resume
    assert main(["resume", "30"]) == 8
    assert "resume 30" in capsys.readouterr().err


def test_what_stopped_again_is_reported_with_the_command_that_goes_on(
    engine: FakeEngine, capsys: pytest.CaptureFixture[str], data_dir: Path
) -> None:
    engine.ends[5] = outcome({}, None, JobState.RESUMABLE, b"{}", resume_id=50)
    assert main(["resume", "30", "50", "--data-dir", str(data_dir)]) == 6
    assert f"resume 50 --data-dir {data_dir}\n" in capsys.readouterr().err


def test_the_command_that_goes_on_names_the_same_server(
    engine: FakeEngine, capsys: pytest.CaptureFixture[str]
) -> None:
    engine.ends[5] = outcome({}, None, JobState.RESUMABLE, b"{}", resume_id=50)
    assert main(["resume", "50", "--", "ssh", "build", "server", "--token", "5ecret"]) == 6
    said = capsys.readouterr().err
    assert "resume 50 -- ssh build server --token" in said
    assert "5ecret" not in said


def test_several_servers_of_a_configuration_are_too_many(
    engine: FakeEngine, capsys: pytest.CaptureFixture[str], data_dir: Path
) -> None:
    config = data_dir / "servers.json"
    config.write_text('{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}}')
    assert main(["resume", "30", "--config", str(config)]) == 2
    assert "Choose one with --server: a, b" in capsys.readouterr().err
    assert engine.done == []


def test_a_task_is_picked_up_beside_resumed_jobs(engine: FakeEngine) -> None:
    assert main(["resume", "t80", "30"]) == 0
    assert ("pick up", 8) in engine.done
    assert len(engine.done) == 2


def test_a_task_that_cannot_be_picked_up_is_declined(
    engine: FakeEngine, capsys: pytest.CaptureFixture[str]
) -> None:
    engine.ends[8] = ErrorDetails("Another running program is following this task")
    assert main(["resume", "T80"]) == 2
    assert (
        "Another running program is following this task (saved job t80)" in capsys.readouterr().err
    )
