"""Lines copied for a shell do what they show, whatever others put into them."""

import ast
import csv
import functools
import io
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from mcp_progress_monitor.exports.frames import chosen
from mcp_progress_monitor.exports.redaction import Redaction
from mcp_progress_monitor.exports.snippet import as_command_line, as_curl, as_program, command_line
from mcp_progress_monitor.exports.ticks import TicksCsv
from mcp_progress_monitor.snapshots.definitions import HttpDefinition, StdioDefinition
from tests.unit.exports.sessions import Session

CANARY: Final = "PWNED"
HOSTILE: Final = (
    "`touch$IFS'PWNED'`",
    "$(touch PWNED)",
    "'; touch PWNED; '",
    '"; touch PWNED; "',
    '"$(touch PWNED)"',
    "\\'; touch PWNED #",
    "a\ntouch PWNED\n",
    "a\r\ntouch PWNED\r\n",
    "&& touch PWNED",
    "| touch PWNED",
    "> PWNED",
    "${PWNED:=x}",
    "@PWNED",
    "-oPWNED",
    "!touch",
    "~",
    "*",
    "{a,b}",
    "[1-9]",
    "%s%n",
    "é \U0001f600 \u202e",
    "\\",
    "''",
    " ",
)
NAMES: Final = ("X-`touch$IFS'PWNED'`", "X-$IFS&touch|`id`", "'X'", "-oPWNED", "X!&#%*~")
DUMP: Final = """#!{python} -IS
import json, os, sys
with open(os.environ["DUMPED"], "ab") as file:
    file.write(json.dumps([os.fsencode(each).hex() for each in sys.argv[1:]]).encode() + b"\\n")
print("Mcp-Session-Id: s")
"""
SHELLS: Final = tuple(filter(shutil.which, ("sh", "bash", "dash", "zsh", "ksh", "busybox")))


class Sandbox:
    """A folder in which `curl` and our command only write down their arguments."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.work = folder / "work"
        self.dumped = folder / "dumped"
        programs = folder / "bin"
        programs.mkdir()
        self.work.mkdir()
        for name in ("curl", "mcp-progress-monitor"):
            (programs / name).write_text(DUMP.format(python=sys.executable))
            (programs / name).chmod(0o755)
        path = f"{programs}{os.pathsep}{os.environ['PATH']}"
        self.environ = {"PATH": path, "DUMPED": str(self.dumped), "HOME": str(folder)}

    def run(self, shell: str, line: str) -> list[list[str]]:
        """Run a line; returns the arguments of each command that it started."""
        self.dumped.unlink(missing_ok=True)
        args = [shell, "sh"] if shell == "busybox" else [shell]
        values = {f"HEADER_{n}": "value" for n in ("X", "X_TOUCH_IFS_PWNED")}
        done = subprocess.run(
            [*args, "-c", line],
            cwd=self.work,
            env=self.environ | values,
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert list(self.work.iterdir()) == [], (shell, line)
        assert done.returncode == 0, (shell, line, done.stderr)
        lines = self.dumped.read_text().splitlines()
        return [[os.fsdecode(bytes.fromhex(each)) for each in json.loads(one)] for one in lines]


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    return Sandbox(tmp_path)


def _drawn(draw: random.Random, texts: Sequence[str], most: int) -> str:
    return "".join(draw.choices(texts, k=draw.randint(1, most)))


def calls(seed: int, count: int) -> list[tuple[Any, str, dict[str, Any]]]:
    """Servers, methods and parameters with hostile texts at every place."""
    draw = random.Random(seed)  # noqa: S311
    found = []
    for _ in range(count):
        text = functools.partial(_drawn, draw, HOSTILE, 2)
        path = draw.choice(("[1-9]", "{a,b}", "`id`", "$(id)", "a b"))
        headers = {draw.choice(NAMES): "$(touch PWNED)", "X": "1"}
        http = HttpDefinition(
            name="s", url=f"https://example.com/{path}?q={text()}", headers=headers
        )
        stdio = StdioDefinition(
            name="s", command=text(), args=(text(), "--a", text()), env={"A": text()}, cwd=text()
        )
        params = {"name": f"t{text()}", "arguments": {text(): text(), "n": [text(), 1]}}
        found.append((draw.choice((http, stdio)), "tools/call", params))
        found.append((http, "prompts/get", {"name": text() + "p", "arguments": {"a": text()}}))
        found.append((http, "resources/read", {"uri": f"file:///{text()}"}))
    return found


def check_lines(sandbox: Sandbox, seed: int, count: int) -> int:
    ran = 0
    for number, (server, method, params) in enumerate(calls(seed, count)):
        shell = SHELLS[number % len(SHELLS)]
        subject = str(params.get("uri") or params["name"])
        ((_, given, *rest),) = sandbox.run(shell, as_command_line(server, method, params))
        assert given == subject
        if method == "tools/call":
            assert json.loads(rest[rest.index("--args") + 1]) == params["arguments"]
        if isinstance(server, StdioDefinition):
            assert rest[rest.index("--cwd") + 1] == server.cwd
            end = rest.index("--")
            assert rest[end + 1] == server.command
        ran += 1
        ast.parse(as_program(server, method, params))
        if isinstance(server, HttpDefinition):
            for revision in ("2025-11-25", "2026-07-28"):
                curl = as_curl(server, revision, method, params, {})
                assert curl is not None
                for text in sandbox.run(shell, curl):
                    assert text[text.index("--url") + 1] == server.url
                    assert "--globoff" in text
                    headers = [text[n + 1] for n, each in enumerate(text) if each == "--header"]
                    assert not [each for each in headers if each.startswith("@")]
                    assert "X: value" in headers
                    json.loads(text[text.index("--data-raw") + 1])
                ran += 1
            headers = [name for name in server.headers if name.isascii()]
            (text,) = sandbox.run(shell, command_line(server.url, headers))
            assert text[1] == "--url"
            ran += 1
    return ran


@pytest.mark.skipif(sys.platform == "win32", reason="lines are for POSIX shells")
def test_copied_lines_run_nothing_that_a_server_wrote(sandbox: Sandbox) -> None:
    assert check_lines(sandbox, 1, 3) > 18


@pytest.mark.campaign
@pytest.mark.timeout(1200)
@pytest.mark.skipif(sys.platform == "win32", reason="lines are for POSIX shells")
def test_two_thousand_copied_lines_run_nothing_that_a_server_wrote(sandbox: Sandbox) -> None:
    assert check_lines(sandbox, 2, 260) > 2_000


CELLS: Final = (
    "=1+1",
    "\r=1+1",
    "a\r=cmd|' /C calc'!A0\r",
    "\n@SUM(1)",
    "\ufeff=1",
    "\xa0-1",
    '"',
    ",",
    "\t+1",
    "\x00",
)
SQLITE: Final = shutil.which("sqlite3")


def check_table(folder: Path, seed: int) -> None:
    """A CSV export is read as the same rows by Python's reader and by SQLite's."""
    draw, session = random.Random(seed), Session()  # noqa: S311
    text = functools.partial(_drawn, draw, (*CELLS, *HOSTILE), 3)
    session.called(text(), text())
    for n in range(draw.randint(1, 5)):
        session.at = n * 0.5
        session.ticked(n, total=7, message=text())
    made = b"".join(TicksCsv(session, Redaction()).lines(chosen(session)))
    rows = list(csv.reader(io.StringIO(made.decode(), newline=""), strict=True))
    assert len({len(row) for row in rows}) == 1
    formulas = (*"=+-@\t\r\n", "＝", "＋", "－", "＠")  # noqa: RUF001
    for row in rows[1:]:
        assert not [c for c in row if c.lstrip(" \xa0\u3000\u200b\ufeff").startswith(formulas)]
    if SQLITE is not None:
        path = folder / "ticks.csv"
        path.write_bytes(made)
        script = f".mode csv\n.import '{path}' ticks\n.mode list\nselect count(*) from ticks;\n"
        done = subprocess.run(
            [SQLITE, ":memory:"], input=script, capture_output=True, text=True, check=True
        )
        assert (done.stdout.strip(), done.stderr) == (str(len(rows) - 1), "")


@pytest.mark.parametrize("seed", range(5))
def test_a_table_has_the_same_rows_for_other_readers(tmp_path: Path, seed: int) -> None:
    check_table(tmp_path, seed)


@pytest.mark.campaign
def test_two_hundred_tables_have_the_same_rows_for_other_readers(tmp_path: Path) -> None:
    for seed in range(200):
        check_table(tmp_path, seed)
