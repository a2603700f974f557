"""What a server inherits behind a tap: the same as without one, byte for byte."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.integration.commands import linux_only
from tests.integration.tapping import PYTHON, tap_words
from tests.patience import PATIENCE_S

if TYPE_CHECKING:
    from tests.integration.surroundings import Surroundings

pytestmark = linux_only

_CLIENT = (*PYTHON, str(Path(__file__).with_name("surroundings.py")))
_USUAL = ["PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/nowhere", "LANG=C.UTF-8"]
_ODD = [
    *("npm_config_@corp:registry=https://x", "my.var=1", "1x=2", "A=1", "A=2", "=x", "=", "none"),
    *("\xff\xfe=\x80\x81", "PWD=/elsewhere", "OLDPWD=/old", "_=/usr/bin/other", "EMPTY=", "t=1"),
    *("PYTHONHOME=/nowhere", "SHLVL=7", "LC_CTYPE=C", "LC_ALL=", "L=a\nb", "IFS=o", "ENV=/no"),
]
_UNUSED = 54321  # a user without processes


def _seen(
    given: Surroundings, folder: Path, command: list[str], name: str
) -> tuple[int, bytes, bytes]:
    """Start a command in these surroundings; its code and what it wrote."""
    file = folder / f"{name}.json"
    file.write_text(json.dumps(given))
    if given.get("is_folder_deleted"):
        (folder / "deleted").mkdir()
    with subprocess.Popen(
        [*_CLIENT, str(file), *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as client:
        out, errors = client.communicate(timeout=PATIENCE_S)
    return client.returncode, out, errors


def _comparable(out: bytes) -> list[bytes]:
    """The lines without what differs from process to process."""
    kept = re.compile(rb"(?m)^(?:(?:Sig|Shd)(?!Q)|Umask|NoNewPrivs|Seccomp|Max |l|/)[^\n]*$")
    out = re.sub(rb"(?:pipe|socket):\[\d+\]|/proc/\d+|\S+ +\d+ \d\d:\d\d", b"", out)
    return kept.findall(out)


def _check(given: Surroundings, folder: Path, command: list[str]) -> None:
    """Compare what a server sees without and behind a tap that `command` starts."""
    environ = ["/bin/cat", "/proc/self/environ"]
    alone = _seen(given, folder, environ, "alone")
    assert _seen(given, folder, [*command, *environ], "behind") == alone
    assert alone[1]
    status = ["/bin/cat", "/proc/self/status", "/proc/self/limits"]
    files = ["/bin/ls", "-l", "/proc/self/fd", "/proc/self/cwd"]
    for server in (status, files):
        code, out, _ = _seen(given, folder, server, "alone")
        found, wrote, errors = _seen(given, folder, [*command, *server], "behind")
        assert (found, errors) == (code, b"")
        assert _comparable(wrote) == _comparable(out)
        assert _comparable(out)


def _by_hand(data_dir: Path) -> list[str]:
    return tap_words(data_dir)


def test_the_environment_is_the_same_to_the_byte(tmp_path: Path) -> None:
    for entries in ([*_USUAL, *_ODD], _USUAL, [*_ODD, *_USUAL], ["A=1"]):
        _check({"environment": entries}, tmp_path, _by_hand(tmp_path))


def test_what_else_a_process_inherits_is_the_same(tmp_path: Path) -> None:
    given: Surroundings = {
        "environment": _USUAL,
        "folder": str(tmp_path),
        "ignored": [signal.SIGHUP, signal.SIGCHLD, signal.SIGUSR1, signal.SIGURG],
        "blocked": [signal.SIGTERM, signal.SIGUSR2],
        "files": [5, 9, 20],
        "limits": {"RLIMIT_CORE": 0, "RLIMIT_NOFILE": 100, "RLIMIT_STACK": 1 << 23},
        "umask": 0o027,
        "niceness": 3,
    }
    _check(given, tmp_path, _by_hand(tmp_path))


def test_a_server_starts_in_a_deleted_folder(tmp_path: Path) -> None:
    given: Surroundings = {
        "environment": _USUAL,
        "folder": str(tmp_path / "deleted"),
        "is_folder_deleted": True,
    }
    assert _seen(given, tmp_path, [*_by_hand(tmp_path), "/bin/echo", "here"], "behind") == (
        *(0, b"here\n", b""),
    )


@pytest.mark.parametrize(
    ("limit", "most", "why"),
    [
        ("RLIMIT_NPROC", 1, "Resource temporarily unavailable"),
        ("RLIMIT_NPROC", 3, "can't start new thread"),
        ("RLIMIT_NOFILE", 8, "Too many open files"),
    ],
)
def test_a_server_starts_alone_where_a_tap_cannot_run(
    tmp_path: Path, limit: str, most: int, why: str
) -> None:
    given: Surroundings = {"environment": _USUAL, "limits": {limit: most}}
    if limit == "RLIMIT_NPROC":
        if os.geteuid() != 0:
            pytest.skip("the user's other processes count as well")
        given["user"] = _UNUSED
    command = [*_by_hand(tmp_path), "/bin/sh", "-c", "echo alive; exit 3"]
    assert _seen(given, tmp_path, command, "behind") == (
        3,
        b"alive\n",
        f"mcp-progress-monitor tap: {why}. The server runs without being watched\n".encode(),
    )
