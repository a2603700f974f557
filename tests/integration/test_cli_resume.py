"""Resuming from the command line, with the demo's export: nothing twice, nothing lost."""

import json
import re
import shlex
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.integration.commands import PROGRAM, ROOT, Run, linux_only, run, run_on_terminal, start
from tests.patience import PATIENCE_S
from tests.servers.definition import COMMAND

CHUNKS = 12
PER_ATTEMPT = 4
ATTEMPTS = CHUNKS // PER_ATTEMPT


class Folders:
    """Where one test's jobs and chunks lie, and commands that use them."""

    def __init__(self, data_dir: Path, state_dir: Path) -> None:
        self.data_dir = data_dir
        self.state_dir = state_dir

    @property
    def server(self) -> tuple[str, ...]:
        """The command that starts the demo server."""
        return ("--", *COMMAND, "--state-dir", str(self.state_dir))

    def call(self, *args: str, **arguments: object) -> tuple[str, ...]:
        """The command that begins an export."""
        given = {"chunks": CHUNKS, "chunks_per_attempt": PER_ATTEMPT, "interval_s": 0, **arguments}
        pairs = [word for name, value in given.items() for word in ("--arg", f"{name}={value}")]
        data = ("--data-dir", str(self.data_dir))
        return ("call", *data, "resumable_export", *pairs, *args, *self.server)

    def resume(self, *arguments: str) -> tuple[str, ...]:
        """The command that resumes it."""
        return ("resume", "--data-dir", str(self.data_dir), *arguments)

    def saved(self) -> list[dict[str, Any]]:
        """What `resume --list` knows."""
        ran = run(*self.resume("--list", "--json"))
        assert (ran.code, ran.err) == (0, "")
        jobs: list[dict[str, Any]] = json.loads(ran.out)["jobs"]
        return jobs

    def chunks(self) -> list[str]:
        """What the export wrote."""
        return (self.state_dir / "export.txt").read_text().splitlines()


WHOLE = [f"chunk {number}" for number in range(1, CHUNKS + 1)]


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    return Folders(tmp_path / "my data", tmp_path / "state")


def pasted(command: str) -> Run:
    """Run a command line in a shell, where the first one was run."""
    ran = subprocess.run(
        ["/bin/sh", "-c", command], capture_output=True, check=False, cwd=ROOT, timeout=PATIENCE_S
    )
    assert b"Traceback" not in ran.stderr
    return Run(ran.returncode, ran.stdout.decode(), ran.stderr.decode())


def repeated(command: str, *arguments: str) -> Run:
    """Run what a shell would run, without a shell and a new interpreter: that is tried once."""
    split = shlex.split(command)
    assert tuple(split[: len(PROGRAM)]) == PROGRAM
    return run(*split[len(PROGRAM) :], *arguments)


def shown_command(err: str) -> str:
    """The command that goes on, as printed."""
    head, _, rest = err.partition("but can be resumed. To resume:\n")
    assert rest, head
    return rest.splitlines()[0].strip()


def events_until(process: subprocess.Popen[str], event: str, **fields: Any) -> list[dict[str, Any]]:
    """Read events up to the first of a kind with these fields."""
    assert process.stdout is not None
    read = []
    for line in process.stdout:
        read.append(json.loads(line))
        if read[-1]["event"] == event and fields.items() <= read[-1].items():
            return read
    raise AssertionError(f"no {event} with {fields} among {read}")


def test_one_command_goes_through_all_attempts(folders: Folders) -> None:
    ran = run(*folders.call("--auto-resume", "--json"))
    assert ran.code == 0, ran.err
    assert folders.chunks() == WHOLE
    requests = ran.only("request")
    assert [event["attempt"] for event in requests] == list(range(1, ATTEMPTS + 1))
    assert len({event["job"] for event in requests}) == 1
    assert len({event["token"] for event in requests}) == 1
    assert [event["progress"] for event in ran.only("progress")] == list(range(1, CHUNKS + 1))
    assert [event["attempt"] for event in ran.only("resumable")] == list(range(1, ATTEMPTS))
    assert len(ran.only("result")) == ATTEMPTS
    assert folders.saved() == []


def _is_killed_at_its_result(folders: Folders, started: list[subprocess.Popen[str]]) -> None:
    """Kill the program as soon as it prints the result of a job that had stopped before."""
    process = start(*folders.call("--auto-resume", "--json"))
    started.append(process)
    assert process.stdout is not None
    results = 0
    for line in process.stdout:
        results += json.loads(line)["event"] == "result"
        if results == ATTEMPTS:
            break
    process.kill()
    process.communicate()
    assert results == ATTEMPTS


@linux_only
def test_a_job_whose_result_was_printed_is_never_offered_again(
    folders: Folders, started: list[subprocess.Popen[str]]
) -> None:
    for _ in range(3):
        _is_killed_at_its_result(folders, started)
        assert folders.saved() == []


def test_attempts_are_reported_to_people(folders: Folders) -> None:
    ran = run(*folders.call("--auto-resume"))
    assert ran.code == 0, ran.err
    assert re.search(r"resumable after .*, 4 ticks", ran.err)
    assert re.search(r"done in .*, 12 ticks, 3 attempts", ran.err)
    assert ran.out.splitlines()[-1].startswith("Wrote all 12 chunks")
    assert "but can be resumed" not in ran.err


def test_the_printed_command_goes_on_when_pasted(folders: Folders) -> None:
    ran = run(*folders.call())
    assert ran.code == 6
    assert folders.chunks() == WHOLE[:PER_ATTEMPT]
    command = shown_command(ran.err)
    assert shlex.split(command)[-4:] == ["resume", "1", "--data-dir", str(folders.data_dir)]
    for attempt in range(2, ATTEMPTS):
        ran = pasted(command)
        assert ran.code == 6, ran.err
        assert folders.chunks() == WHOLE[: PER_ATTEMPT * attempt]
        assert shown_command(ran.err) == command
    ran = repeated(command)
    assert (ran.code, folders.chunks()) == (0, WHOLE)
    ran = repeated(command)
    assert ran.code == 2
    assert "No saved job 1" in ran.err


@linux_only
@pytest.mark.parametrize(
    ("era", "token"),
    [
        ("handshake", ("--token", "mine")),
        ("per-request", ("--int-token", "0")),
        ("per-request", ("--no-token",)),
    ],
)
def test_requests_of_one_job_differ_in_id_and_resume_token_alone(
    folders: Folders, tmp_path: Path, era: str, token: tuple[str, ...]
) -> None:
    wire = tmp_path / "wire.jsonl"
    arguments = folders.call("--era", era, *token)
    server = arguments.index("--") + 1
    tee = ("/bin/sh", "-c", 'tee -a "$0" | "$@"', str(wire))
    assert run(*arguments[:server], *tee, *arguments[server:]).code == 6
    assert run(*folders.resume("1", "--auto-resume")).code == 0
    messages = [json.loads(line) for line in wire.read_text().splitlines()]
    requests = [message for message in messages if message.get("method") == "tools/call"]
    resume_tokens = [r["params"].get("_meta", {}).pop("resumeToken", None) for r in requests]
    assert resume_tokens[0] is None
    assert len({*resume_tokens}) == ATTEMPTS
    for request in requests:
        assert request.pop("id")
        if not request["params"].get("_meta", True):
            del request["params"]["_meta"]
    assert requests == [requests[0]] * ATTEMPTS


def test_events_tell_of_what_stopped(folders: Folders) -> None:
    ran = run(*folders.call("--json"))
    (resumable,) = ran.only("resumable")
    (saved,) = folders.saved()
    assert ran.code == 6
    assert resumable["resume_id"] == saved["resume_id"]
    assert (saved["progress"], saved["total"], saved["attempts"]) == (PER_ATTEMPT, CHUNKS, 1)
    assert saved["name"] == "resumable_export"
    assert saved["usable"]
    token = re.findall(r"[\w-]{16}", (folders.state_dir / "export.json").read_text())[-1]
    listed = run(*folders.resume("--list", "--json")).out + run(*folders.resume("--list")).out
    assert token not in ran.out + ran.err + listed
    kinds = [event["event"] for event in ran.events()]
    assert kinds.index("result") < kinds.index("resumable") < kinds.index("closed")


@linux_only
@pytest.mark.parametrize("arguments", [(), ("--json",)], ids=["text", "json"])
def test_an_export_survives_the_kill_of_the_program(
    folders: Folders, started: list[subprocess.Popen[str]], arguments: tuple[str, ...]
) -> None:
    most = 20  # so that a second of the second attempt is left when it is killed
    long = {"interval_s": 0.05, "chunks": 2 * most, "chunks_per_attempt": most}
    process = start(*folders.call("--auto-resume", "--json", **long))
    started.append(process)
    events_until(process, "progress", progress=most + 1)
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=PATIENCE_S)
    (saved,) = folders.saved()
    assert (saved["attempts"], saved["usable"], saved["elsewhere"]) == (2, True, False)
    assert "exited before the reply" in saved["reason"]
    ran = run(*folders.resume(str(saved["resume_id"]), "--auto-resume", *arguments))
    assert ran.code == 0, ran.err
    assert folders.chunks() == [f"chunk {number}" for number in range(1, 2 * most + 1)]
    assert folders.saved() == []


@linux_only
def test_ctrl_c_during_a_resumed_attempt_leaves_it_resumable(
    folders: Folders, started: list[subprocess.Popen[str]]
) -> None:
    assert run(*folders.call(interval_s=0.05)).code == 6
    process = start(*folders.resume("1", "--json"))
    started.append(process)
    events_until(process, "progress")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 6
    (saved,) = folders.saved()
    assert saved["usable"]
    ran = repeated(shown_command(err), "--auto-resume")
    assert (ran.code, folders.chunks()) == (0, WHOLE)


@linux_only
def test_leaving_at_once_tells_how_to_go_on_as_well(
    folders: Folders, started: list[subprocess.Popen[str]]
) -> None:
    assert run(*folders.call(interval_s=0.05)).code == 6
    process = start(*folders.resume("1", "--json"))
    started.append(process)
    events_until(process, "progress")
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 6, err
    assert repeated(shown_command(err), "--auto-resume").code == 0


@linux_only
def test_ctrl_c_between_attempts_ends_the_wait(
    folders: Folders, started: list[subprocess.Popen[str]]
) -> None:
    process = start(*folders.call("--auto-resume", "--json", chunks=40, chunks_per_attempt=1))
    started.append(process)
    events_until(process, "resumable", attempt=3)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 6
    assert shown_command(err)


def test_a_refused_token_is_an_error_and_not_offered_again(folders: Folders) -> None:
    assert run(*folders.call(fault="always_refused")).code == 6
    ran = run(*folders.resume("1"))
    assert ran.code == 1
    assert "This resume token is no longer accepted" in ran.err
    assert "but can be resumed" not in ran.err
    (saved,) = folders.saved()
    assert not saved["usable"]
    assert "refused" in run(*folders.resume("--list")).out
    ran = run(*folders.resume("1"))
    assert ran.code == 2
    assert "refused" in ran.err


def test_an_error_keeps_the_token_and_stops_resuming(folders: Folders) -> None:
    ran = run(*folders.call("--auto-resume", fault="rpc_error", at_attempt=2))
    assert ran.code == 6
    assert "The backend went away" in ran.err
    ran = repeated(shown_command(ran.err), "--auto-resume")
    assert (ran.code, folders.chunks()) == (0, WHOLE)


def test_a_crash_of_the_server_keeps_the_token(folders: Folders) -> None:
    arguments = folders.call("--auto-resume", fault="crash", at_chunk=PER_ATTEMPT + 1)
    ran = run(*arguments)
    assert ran.code == 6
    ran = repeated(shown_command(ran.err), "--auto-resume")
    assert (ran.code, folders.chunks()) == (0, WHOLE)


def test_several_jobs_are_resumed_at_once(folders: Folders) -> None:
    names = ("a", "b", "c")
    for name in names:
        assert run(*folders.call(job=name)).code == 6
    ran = run(*folders.resume("1", "2", "3", "2", "--auto-resume", "--json"))
    assert ran.code == 0, ran.err
    assert len({event["job"] for event in ran.only("request")}) == len(names)
    assert len(ran.only("connected")) == 1
    for name in names:
        assert (folders.state_dir / f"{name}.txt").read_text().splitlines() == WHOLE


def test_several_that_stop_are_reported_in_one_command(folders: Folders) -> None:
    for name in ("a", "b"):
        assert run(*folders.call(job=name)).code == 6
    ran = run(*folders.resume("1", "2"))
    assert ran.code == 6
    assert " resume 1 2 --data-dir" in shown_command(ran.err)


def test_another_server_can_be_named(folders: Folders, tmp_path: Path) -> None:
    assert run(*folders.call()).code == 6
    moved = tmp_path / "moved"
    folders.state_dir.rename(moved)
    ran = run(*folders.resume("1", "--auto-resume", "--", *COMMAND, "--state-dir", str(moved)))
    assert ran.code == 0, ran.err
    assert (moved / "export.txt").read_text().splitlines() == WHOLE


def test_a_server_that_is_gone_is_no_connection(folders: Folders, tmp_path: Path) -> None:
    script = tmp_path / "server"
    script.write_text(f"#!/bin/sh\nexec {shlex.join(folders.server[1:])}\n")
    script.chmod(0o700)
    arguments = folders.call()
    assert run(*arguments[: arguments.index("--") + 1], str(script)).code == 6
    script.unlink()
    ran = run(*folders.resume("1", "--json"))
    assert ran.code == 3
    assert str(script) in ran.only("error")[0]["message"]
    assert folders.saved()[0]["usable"]


@linux_only
def test_two_programs_do_not_resume_one_job(
    folders: Folders, started: list[subprocess.Popen[str]]
) -> None:
    assert run(*folders.call(fault="silence", at_attempt=2)).code == 6
    first = start(*folders.resume("1", "--json"))
    started.append(first)
    events_until(first, "request", attempt=2)
    assert folders.saved()[0]["elsewhere"]
    second = run(*folders.resume("1"))
    assert second.code == 2
    assert "Another running program is resuming this job" in second.err
    first.kill()
    first.wait()
    assert not folders.saved()[0]["elsewhere"]
    third = run(*folders.resume("1", "--auto-resume"))
    assert (third.code, folders.chunks()) == (0, WHOLE)


def test_an_unknown_id_names_those_there_are(folders: Folders) -> None:
    assert run(*folders.call()).code == 6
    ran = run(*folders.resume("1", "7", "9"))
    assert ran.code == 2
    assert "No saved job 7 or 9" in ran.err
    assert "Saved jobs: 1." in ran.err
    assert folders.chunks() == WHOLE[:PER_ATTEMPT]


def _lead_nowhere(data_dir: Path) -> None:
    """Put a link that leads nowhere in the store's place: nothing to read, nothing to set aside."""
    data_dir.mkdir(parents=True, exist_ok=True)
    (data_dir / "resume.sqlite3").symlink_to(data_dir / "unmounted" / "resume.sqlite3")


@pytest.mark.parametrize("arguments", [(), ("--json",)], ids=["text", "json"])
def test_a_call_goes_on_without_a_store(folders: Folders, arguments: tuple[str, ...]) -> None:
    _lead_nowhere(folders.data_dir)
    ran = run(*folders.call("--auto-resume", *arguments))
    assert ran.code == 0, ran.err
    assert ran.err.count("The saved resume tokens cannot be used") == 1
    assert folders.chunks() == WHOLE


def test_a_token_that_cannot_be_saved_is_not_promised(folders: Folders) -> None:
    _lead_nowhere(folders.data_dir)
    ran = run(*folders.call())
    assert ran.code == 8
    assert "but can be resumed" not in ran.err
    assert "resume.sqlite3" in ran.err


def test_listing_tools_keeps_a_recording_and_no_tokens(folders: Folders) -> None:
    assert run("tools", "--data-dir", str(folders.data_dir), *folders.server).code == 0
    kept = {path.name for path in folders.data_dir.iterdir()}
    assert kept == {"recordings", "server-eras.json", "server-tools"}


@linux_only
def test_a_terminal_gets_a_bar_that_goes_on(folders: Folders) -> None:
    code, screen = run_on_terminal(*folders.call("--auto-resume", interval_s=0.05))
    assert code == 0
    assert "attempt 2" in screen
    assert "3 attempts" in screen
