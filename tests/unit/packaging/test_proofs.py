import os
import sys
from pathlib import Path

import pytest

from proofs import Program
from system import SetupError

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="stand-ins are shell scripts")

_RECORDS = 'mkdir -p "$3/recordings"; echo a > "$3/recordings/a.mcprec"'


def _program(folder: Path, script: str) -> Program:
    """A stand-in for the program."""
    file = folder / "program"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    data = folder / "data"
    path = {"PATH": os.environ["PATH"]}
    return Program(lambda arguments: [str(file), *arguments], str(data), data, path)


def test_a_job_is_watched_in_its_recording(tmp_path: Path) -> None:
    script = f'case "$1" in call) {_RECORDS};; watch) echo "burst of ${{2##*/}}";; esac'
    assert _program(tmp_path, script).watch_job() >= 0


@pytest.mark.parametrize(
    ("script", "text"),
    [
        ("echo no server >&2; exit 3", "call ended with exit code 3:\nno server"),
        (f'case "$1" in call) {_RECORDS};; esac', "watch does not show the job"),
    ],
)
def test_a_job_that_cannot_be_watched_is_an_error(tmp_path: Path, script: str, text: str) -> None:
    with pytest.raises(SetupError, match=text):
        _program(tmp_path, script).watch_job()


def test_a_tap_that_changes_a_message_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="passed on 'other"):
        _program(tmp_path, "echo other").tap()
