"""Going on with what was begun in another folder: a command given by its path runs where it was."""

import contextlib
import json
import shlex
import sqlite3
import sys
from pathlib import Path

import pytest

from mcp_progress_monitor.snapshots.definitions import read_definition
from mcp_progress_monitor.store.chains import Origin
from mcp_progress_monitor.store.resumes import FILE
from tests.integration.commands import ROOT, Run, linux_only, run

pytestmark = linux_only

RAN = "ran"
CALL = ("call", "resumable_export", "--arg", "chunks=4", "--arg", "chunks_per_attempt=2")


class Project:
    """A folder with a program `srv` in it, which notes that it was run."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        script = folder / "srv"
        demo = shlex.join(
            [
                sys.executable,
                "-m",
                "mcp_progress_monitor.demo",
                "--state-dir",
                str(folder / "state"),
            ]
        )
        ran = shlex.quote(str(folder / RAN))
        path = shlex.quote(str(ROOT))
        script.write_text(f"#!/bin/sh\necho >> {ran}\nPYTHONPATH={path} exec {demo}\n")
        script.chmod(0o700)

    def run(self, *arguments: str, server: tuple[str, ...] = ()) -> Run:
        """Run our program in this folder."""
        data = ("--data-dir", str(self.folder.parent / "data"))
        return run(*arguments, *data, *(("--", *server) if server else ()), folder=self.folder)

    @property
    def runs(self) -> int:
        """How often the program was started."""
        noted = self.folder / RAN
        return len(noted.read_text().splitlines()) if noted.exists() else 0


@pytest.mark.parametrize("command", [("./srv",), ("/bin/sh", "srv")])
def test_from_another_folder_the_program_of_the_first_one_goes_on(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    mine, theirs = Project(tmp_path / "mine"), Project(tmp_path / "theirs")
    begun = mine.run(*CALL, server=command)
    assert (begun.code, mine.runs) == (6, 1), begun.err
    gone_on = theirs.run("resume", "1")
    assert theirs.runs == 0, "another folder's program was run, which nobody agreed to"
    assert (gone_on.code, mine.runs) == (0, 2), gone_on.err


def test_what_an_earlier_version_saved_without_a_folder_is_asked_about(tmp_path: Path) -> None:
    mine, theirs = Project(tmp_path / "mine"), Project(tmp_path / "theirs")
    assert mine.run(*CALL, server=("./srv",)).code == 6
    _forget_folder(tmp_path / "data")
    refused = theirs.run("resume", "1")
    assert (refused.code, theirs.runs) == (2, 0), refused.err
    assert "is not known" in refused.err
    gone_on = mine.run("resume", "1", server=("./srv",))
    assert (gone_on.code, mine.runs) == (0, 2), gone_on.err


def test_jobs_of_one_server_share_it_in_another_folder(tmp_path: Path) -> None:
    mine, theirs = Project(tmp_path / "mine"), Project(tmp_path / "theirs")
    for job in ("a", "b"):
        assert mine.run(*CALL, "--arg", f"job={job}", server=("/bin/sh", "srv")).code == 6
    gone_on = theirs.run("resume", "1", "2")
    assert (gone_on.code, theirs.runs, mine.runs) == (0, 0, 3), gone_on.err


def _forget_folder(data_dir: Path) -> None:
    """Make of what is saved what an earlier version would have: the definition as it was typed."""
    with contextlib.closing(sqlite3.connect(data_dir / FILE)) as connection, connection:
        ((text,),) = connection.execute("SELECT origin FROM chains")
        origin = Origin(*json.loads(text))
        older = read_definition(origin.definition).model_copy(update={"cwd": None})
        assert origin.server_key != older.fingerprint
        origin = origin._replace(server_key=older.fingerprint, definition=older.model_dump_json())
        connection.execute("UPDATE chains SET origin = ?", (json.dumps(origin),))
