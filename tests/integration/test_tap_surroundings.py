"""What a server inherits behind a tap: the same as without one, byte for byte."""

import json
import os
import random
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from mcp_progress_monitor.catalogue.taps import this_program, wrapper
from tests.integration.commands import linux_only
from tests.integration.surroundings import Surroundings
from tests.integration.tapping import PYTHON, tap_command
from tests.patience import PATIENCE_S

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
    return tap_command(data_dir)


def _installed(data_dir: Path, shell: str = "/bin/sh") -> list[str]:
    """As an entry in a client's file starts a tap."""
    return [shell, *wrapper(this_program(data_dir), "a", "b").args]


_SHELLS = [found for name in ("sh", "dash", "bash", "busybox-sh") if (found := shutil.which(name))]


@pytest.mark.parametrize(
    "entries",
    [
        [*_USUAL, *_ODD],
        [*_USUAL, f"L={'x' * 60_000}"],
        *(
            pytest.param(entries, marks=pytest.mark.campaign)
            for entries in (_USUAL, [*_ODD, *_USUAL], [*_USUAL, "A=1"])
        ),
    ],
)
def test_the_environment_is_the_same_to_the_byte(tmp_path: Path, entries: list[str]) -> None:
    for command in [_by_hand(tmp_path), *(_installed(tmp_path, shell) for shell in _SHELLS)]:
        _check({"environment": entries}, tmp_path, command)


def test_an_environment_that_is_too_large_to_hand_over_starts_the_server(tmp_path: Path) -> None:
    entries = [*_USUAL, *(f"V{number}={'x' * 1000}" for number in range(200))]
    command = [*_installed(tmp_path), "/bin/cat", "/proc/self/environ"]
    code, out, errors = _seen({"environment": entries}, tmp_path, command, "behind")
    assert (code, errors) == (0, b"")
    assert {entry.encode() for entry in entries} <= set(out.split(b"\0"))
    assert b"MCP_TAP" not in out


def test_what_python_would_read_does_not_reach_an_installed_tap(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('from sitecustomize')")
    (tmp_path / "queue.py").write_text("raise SystemExit('shadowed')")
    entries = [*_USUAL, f"PYTHONPATH={tmp_path}", "PYTHONHOME=/nowhere", "PYTHONWARNINGS=error"]
    _check({"environment": entries}, tmp_path, _installed(tmp_path))


@pytest.mark.parametrize("is_installed", [False, True])
def test_what_else_a_process_inherits_is_the_same(tmp_path: Path, is_installed: bool) -> None:
    given: Surroundings = {
        "environment": _USUAL,
        "folder": str(tmp_path),
        "ignored": [signal.SIGHUP, signal.SIGUSR1, signal.SIGURG],
        "blocked": [signal.SIGTERM, signal.SIGUSR2],
        "files": [5, 9, 20],
        "limits": {"RLIMIT_CORE": 0, "RLIMIT_NOFILE": 100, "RLIMIT_STACK": 1 << 23},
        "umask": 0o027,
        "niceness": 3,
    }
    if not is_installed:  # a shell never ignores it
        given["ignored"].append(signal.SIGCHLD)
    _check(given, tmp_path, (_installed if is_installed else _by_hand)(tmp_path))


@pytest.mark.parametrize("is_installed", [False, True])
def test_a_server_starts_in_a_deleted_folder(tmp_path: Path, is_installed: bool) -> None:
    given: Surroundings = {
        "environment": _USUAL,
        "folder": str(tmp_path / "deleted"),
        "is_folder_deleted": True,
    }
    command = (_installed if is_installed else _by_hand)(tmp_path)
    code, out, errors = _seen(given, tmp_path, [*command, "/bin/echo", "here"], "behind")
    assert (code, out) == (0, b"here\n")
    assert b"Traceback" not in errors


@pytest.mark.parametrize("is_installed", [False, True])
@pytest.mark.parametrize(
    ("limit", "most", "why"),
    [
        ("RLIMIT_NPROC", 1, "Resource temporarily unavailable"),
        ("RLIMIT_NPROC", 3, "can't start new thread"),
        ("RLIMIT_NOFILE", 8, "Too many open files"),
    ],
)
def test_a_server_starts_alone_where_a_tap_cannot_run(
    tmp_path: Path, limit: str, most: int, why: str, is_installed: bool
) -> None:
    given: Surroundings = {"environment": _USUAL, "limits": {limit: most}}
    if limit == "RLIMIT_NPROC":
        if os.geteuid() != 0:
            pytest.skip("the user's other processes count as well")
        given["user"] = _UNUSED
    shell, *rest = _installed(tmp_path)
    tap = [shell, "-p", *rest] if is_installed else _by_hand(tmp_path)  # keeps reading all files
    command = [*tap, "/bin/sh", "-c", "echo alive; exit 3"]
    code, out, errors = _seen(given, tmp_path, command, "behind")
    assert (code, out) == (3, b"alive\n")
    said = f"mcp-progress-monitor tap: {why}. The server runs without being watched\n".encode()
    assert re.sub(rb"^[^\n]*Cannot fork\n", b"", errors) == said


def _drawn(chance: random.Random, folder: Path) -> Surroundings:
    """Surroundings at random."""
    odd = chance.sample(_ODD, chance.randrange(len(_ODD)))
    many = [
        f"V{number}={chance.randbytes(9).hex()}" for number in range(chance.choice((0, 9, 400)))
    ]
    entries = [*_USUAL, *odd, *many]
    chance.shuffle(entries)
    signals = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGALRM, 40, 64)
    return {
        "environment": entries,
        "folder": str(chance.choice((folder, Path("/"), Path("/proc")))),
        "ignored": chance.sample(signals, chance.randrange(4)),
        "blocked": chance.sample(signals, chance.randrange(4)),
        "files": chance.sample(range(3, 32), chance.randrange(6)),
        "limits": {
            "RLIMIT_CORE": chance.choice((0, 1 << 20)),
            "RLIMIT_NOFILE": chance.choice((64, 256, 1024)),
            "RLIMIT_CPU": chance.choice((60, 600)),
            "RLIMIT_FSIZE": chance.choice((1 << 16, 1 << 30)),
        },
        "umask": chance.choice((0, 0o022, 0o077)),
        "niceness": chance.randrange(5),
    }


@pytest.mark.campaign
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(60))
def test_sixty_surroundings_are_the_same(tmp_path: Path, seed: int) -> None:
    given = _drawn(random.Random(seed), tmp_path)  # noqa: S311  # no secret
    for command in [_by_hand(tmp_path), *(_installed(tmp_path, shell) for shell in _SHELLS)]:
        _check(given, tmp_path, command)
