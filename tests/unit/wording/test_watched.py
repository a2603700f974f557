"""A watched server as text: whose, whether it runs, how it ended, what is missing."""

from pathlib import Path

import pytest

from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.snapshots.definitions import StdioDefinition
from mcp_progress_monitor.snapshots.servers import ServerSnapshot, ServerState
from mcp_progress_monitor.snapshots.watched import (
    Gaps,
    MachineSnapshot,
    MachineState,
    TapEnd,
    WatchedSnapshot,
)
from mcp_progress_monitor.tracker.snapshot import JobState
from mcp_progress_monitor.wording import jobs as job_texts
from mcp_progress_monitor.wording import watched
from mcp_progress_monitor.wording.watched import about, details, end_text, why_read_only
from tests.job_stand_ins import job

SERVER = ServerSnapshot(
    "db@4242",
    StdioDefinition(name="db@4242", command="uvx", args=("db", "--token", "s3cret")),
    state=ServerState.CONNECTED,
    revision="2025-11-25",
    server_info={"name": "Database", "version": "1"},
    pid=77,
)
LIVE = WatchedSnapshot(
    SERVER, "db", "Claude Code", "2.1", 4242, "stdio", Path("/data/x.mcprec"), None
)
MACHINE = MachineSnapshot("box", "ssh box", MachineState.CONNECTING)


@pytest.mark.parametrize(
    ("end", "text"),
    [
        (TapEnd("x", 1, None, "server"), "Ended: exit code 1, the server ended first"),
        (TapEnd("x", None, "SIGTERM", "client"), "Ended: signal SIGTERM, the client ended it"),
        (TapEnd("x", 0, None, "tap"), "Ended: exit code 0, the tap was stopped"),
        (TapEnd("x", None, "SIGKILL", "script"), "Ended: signal SIGKILL, killed by the script"),
        (TapEnd("x"), "Ended: the tap stopped without a report"),
    ],
)
def test_how_a_session_ended(end: TapEnd, text: str) -> None:
    assert end_text(end) == text


def test_a_server_in_short() -> None:
    assert about(LIVE) == "Live · 2025-11-25 · stdio"
    starting = SERVER._replace(state=ServerState.CONNECTING, revision=None)
    assert about(LIVE._replace(server=starting)) == "Live, starting · stdio"
    lost = LIVE._replace(is_reached=False)
    assert about(lost) == "Connection lost"
    assert details(lost).startswith("db: connection lost")


def test_a_session_that_a_script_changes_is_never_shown_as_mere_watching() -> None:
    changed = LIVE._replace(script="flaky\n.txt")
    assert about(changed).startswith("Changed by the script flaky")
    assert "\n" not in about(changed)
    over = changed._replace(end=TapEnd("x", 0, None, "client"))
    assert about(over).startswith("Changed by the script flaky")
    assert details(changed).splitlines()[1].startswith("Changed by the script flaky")


def test_the_whole_story_names_client_processes_and_gaps_and_no_secret() -> None:
    reported = details(
        LIVE._replace(
            end=TapEnd("The client closed it", 0, None, "client"),
            gaps=Gaps(2, 2048, "the queue was full"),
        )
    )
    assert reported.splitlines() == [
        "db: Ended: exit code 0, the client ended it",
        "Run by Claude Code 2.1",
        SERVER.definition.address,
        "Database · 2025-11-25 · server pid 77 · tap pid 4242",
        "The client closed it",
        "2 messages not recorded (2.0 kB): the queue was full",
        f"Recording: {LIVE.path}",
    ]
    assert "s3cret" not in reported


def test_a_question_of_another_client_is_answered_there() -> None:
    asked = job(state=JobState.NEEDS_YOU, watched_client="Cursor")
    assert job_texts.status(asked).startswith("answer in Cursor · ")
    assert "answer in" not in job_texts.status(job(state=JobState.NEEDS_YOU))
    assert why_read_only("Cur\nsor").startswith("Cur")


def test_what_is_not_known_of_a_server_is_named() -> None:
    assert watched.unknown_values((), 0) == ""
    text = watched.unknown_values(("TOKEN", "LEVEL"), 1)
    assert text == (
        "Values that are not recorded and not set here: TOKEN, LEVEL. 1 argument with a hidden "
        "secret: the server may refuse to start. Save the server with its settings first if it "
        "needs them."
    )
    many = watched.unknown_values([f"V{number}" for number in range(11)], 0)
    assert "V7 and 3 more." in many


def test_what_is_done_here_names_the_client() -> None:
    assert watched.resume_here("Agent").startswith("Resume Agent's job on a connection")
    assert watched.reissue_here("Agent").startswith("Send Agent's request again")


def test_what_an_approval_is_for() -> None:
    assert watched.why_approve("Cursor", has_url=False).startswith("Cursor started this server. ")
    reported = "Cursor used this server. This program connects to it as well."
    assert watched.why_approve("Cursor", has_url=True) == reported


def test_a_server_in_one_line_and_its_processes() -> None:
    assert watched.server_of_client(LIVE) == "db (Claude Code)"
    assert watched.processes(LIVE) == "db@4242: run by Claude Code 2.1, tap pid 4242, server pid 77"


@pytest.mark.parametrize(
    ("machine", "text"),
    [
        (MACHINE, "Connecting…"),
        (MACHINE._replace(state=MachineState.LIVE), "Live · 1 server"),
        (MACHINE._replace(state=MachineState.WAITING, retry_at=107.5), "Tries again in 8 s"),
        (
            MACHINE._replace(
                state=MachineState.WAITING, retry_at=1.0, error=ErrorDetails("No way")
            ),
            "Tries again in 0 s: No way",
        ),
        (MACHINE._replace(state=MachineState.STOPPED), "Stopped"),
    ],
)
def test_a_machine_says_its_state(machine: MachineSnapshot, text: str) -> None:
    assert watched.machine_about(machine, 1, 100.0) == text
