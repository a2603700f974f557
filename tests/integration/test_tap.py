"""The stdio tap: bytes pass unchanged and at once, and the recording holds all of them."""

import itertools
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from mcp_progress_monitor import paths
from mcp_progress_monitor.protocol.frames import Channel
from mcp_progress_monitor.recording.folder import RecordingsFolder
from mcp_progress_monitor.recording.reader import RecordingReader
from mcp_progress_monitor.recording.settings import RecordingSettings, save_settings
from tests.integration.commands import run
from tests.integration.tapping import (
    PYTHON,
    SHELL,
    Tap,
    events,
    frames_of,
    live,
    raws,
    recorded,
    recordings,
    tap_command,
    tapped,
    until,
)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="shells and signals of POSIX")

_ODD = b'\x00\xff\xfe{"a":1}\r\n\n\xe2\x82 \x1b[2J\n' + bytes(range(256)) + b"no line feed"
_THREE = 'cat; printf "err\\r\\n\\377rest" >&2'


def test_bytes_pass_unchanged_on_all_three_streams(tmp_path: Path) -> None:
    with Tap(tmp_path, *SHELL, _THREE) as tap:
        out, err = tap.rest(_ODD)
    assert out == _ODD
    assert err == b"err\r\n\xffrest"
    assert tap.returncode == 0


def test_the_first_messages_have_their_times(tmp_path: Path) -> None:
    with Tap(tmp_path, *SHELL, "read x; sleep 0.4; echo $x") as tap:
        tap.rest(b"{}\n")
    sent, received = (frame for frame in frames_of(recorded(tmp_path)) if frame.raw == b"{}")
    assert received.at - sent.at > 0.39
    assert received.when - sent.when == pytest.approx(received.at - sent.at, abs=1e-4)


def test_every_byte_passes_at_once_even_within_a_line(tmp_path: Path) -> None:
    with Tap(tmp_path, "cat") as tap:
        for piece in (b"{", b'"a"', b":1}", b"\n"):
            tap.send(piece)
            assert tap.read(len(piece)) == piece
        tap.rest()


def test_large_messages_pass_both_ways_together(tmp_path: Path) -> None:
    data = os.urandom(3_000_000) + b"\n"
    with Tap(tmp_path, "cat") as tap:
        sending = threading.Thread(target=tap.send, args=(data,))
        sending.start()
        assert tap.read(len(data)) == data
        sending.join()
        # A tap does not wait for a disk, or for a processor, when its server has ended.
        until(lambda: recordings(tmp_path))
        until(lambda: recordings(tmp_path)[0].stat().st_size > 2 * len(data))
        tap.rest()
    frames = frames_of(recorded(tmp_path))
    assert b"\n".join(raws(frames, Channel.SENT)) + b"\n" == data
    assert b"\n".join(raws(frames, Channel.RECEIVED)) + b"\n" == data


def test_the_recording_says_what_was_sent_and_received(tmp_path: Path) -> None:
    code, _ = tapped(tmp_path, *SHELL, f"{_THREE}; exit 7", data=b"one\n\ntwo\nhal")
    assert code == 7
    reader = recorded(tmp_path)
    frames = frames_of(reader)
    assert raws(frames, Channel.SENT) == [b"one", b"", b"two", b"hal"]
    assert raws(frames, Channel.RECEIVED) == [b"one", b"", b"two", b"hal"]
    assert raws(frames, Channel.STDERR) == [b"err\r", b"\xffrest"]
    assert [frame.is_complete for frame in frames if frame.raw == b"hal"] == [False, False]
    assert {frame.connection for frame in frames} == {"sh#1"}
    tap = reader.header["tap"]
    assert tap == {"client": None, "pid": tap["pid"], "parent": os.getpid(), "transport": "stdio"}
    (opened,), (closed,) = events(frames, "opened"), events(frames, "closed")
    assert opened["command"] == "/bin/sh"
    assert opened["parent"] == tap["pid"] != opened["pid"]
    assert opened["cwd"] == str(Path.cwd())
    assert "HOME" in opened["env"]
    assert closed == {
        "event": "closed",
        "reason": "The client closed the connection",
        "exit_code": 7,
        "signal": None,
        "ended_by": "client",
        "wanted": True,
    }


def test_a_request_is_recorded_before_its_reply(tmp_path: Path) -> None:
    with Tap(tmp_path, "cat") as tap:
        until(lambda: recordings(tmp_path))
        for number in range(300):
            line = b"%d\n" % number
            tap.send(line)
            assert tap.read(len(line)) == line
        tap.rest()
    frames = [f for f in frames_of(recorded(tmp_path)) if f.channel is not Channel.EVENT]
    assert [f.channel for f in frames] == [Channel.SENT, Channel.RECEIVED] * 300
    assert [f.raw for f in frames[::2]] == [f.raw for f in frames[1::2]]
    assert all(a.at <= b.at for a, b in itertools.pairwise(frames))


def test_a_recording_that_grows_is_in_use_and_can_be_read(tmp_path: Path) -> None:
    with Tap(tmp_path, "cat") as tap:
        tap.send(b"hello\n")
        until(lambda: recordings(tmp_path) and b"> hello\n" in recordings(tmp_path)[0].read_bytes())
        (entry,) = RecordingsFolder(live(tmp_path)).entries()
        assert entry.is_in_use
        assert raws(frames_of(recorded(tmp_path)), Channel.SENT) == [b"hello"]
        tap.rest()
    (entry,) = RecordingsFolder(live(tmp_path)).entries()
    assert not entry.is_in_use
    assert list(live(tmp_path).iterdir()) == [entry.path]


def test_a_recording_whose_tap_was_killed_can_be_opened_and_exported(tmp_path: Path) -> None:
    line = '{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"x"}}'
    with Tap(tmp_path, "yes", line) as tap:
        tap.read(100_000)
        until(lambda: recordings(tmp_path) and recordings(tmp_path)[0].stat().st_size > 150_000)
        tap.kill()
        assert tap.stdout is not None
        tap.stdout.close()
    (path,) = recordings(tmp_path)
    with path.open("ab") as file:  # killed within a line
        file.write(path.read_bytes().splitlines(keepends=True)[-1][:70])
    reader = RecordingReader(path)
    got = raws([frame for chunk in reader for frame in chunk.frames], Channel.RECEIVED)
    assert len(got) * len(line) > 100_000
    assert set(got) == {line.encode()}
    (error,) = reader.errors
    assert "ends in the middle of a line" in error.what
    (entry,) = RecordingsFolder(live(tmp_path)).entries()
    assert not entry.is_in_use
    ran = run("export", str(path), "--format", "jsonl")
    assert ran.code == 0
    assert len(ran.out.splitlines()) >= len(got)


def test_files_are_the_owners_alone_whatever_the_umask(tmp_path: Path) -> None:
    data_dir = tmp_path / "home" / ".local" / "data"
    with Tap(data_dir, "cat", umask=0) as tap:
        tap.send(b"x\n")
        until(lambda: recordings(data_dir))
        files = [path for path in data_dir.rglob("*") if path.is_file()]
        assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
        assert len(files) == 2  # with the lock
        folders = [path for path in tmp_path.rglob("*") if path.is_dir()]
        assert {stat.S_IMODE(path.stat().st_mode) for path in folders} == {0o700}
        tap.rest()


def test_secrets_among_arguments_are_hidden(tmp_path: Path) -> None:
    def recorded_arguments(folder: Path, *command: str) -> list[str]:
        with Tap(folder, *command) as tap:
            # Before it ends: on a busy machine there may be no time left to write it then.
            until(lambda: any(b'"opened"' in path.read_bytes() for path in recordings(folder)))
            tap.rest()
        (opened,) = events(frames_of(recorded(folder)), "opened")
        arguments: list[str] = opened["args"]
        return arguments

    command_line = (
        "--api-key",
        "s3cret",
        "--token=t0ken",
        "postgres://me:pa55@host/db",
        "--depth",
        "3",
    )
    assigned = ("MY_TOKEN=t0ken", "sh", "-c", "DB_KEY=s3cret exec cat", "GATEWAY=x")
    assert recorded_arguments(tmp_path / "env", "env", *assigned) == [
        "MY_TOKEN=***", "sh", "-c", "DB_KEY=*** exec cat", "GATEWAY=x"
    ]  # fmt: skip
    reads = ("-c", "import os; os.read(0, 1)")
    assert recorded_arguments(tmp_path, *PYTHON, *reads, *command_line)[-6:] == [
        "--api-key", "***", "--token=***", "postgres://me:***@host/db", "--depth", "3"
    ]  # fmt: skip
    content = recordings(tmp_path)[0].read_bytes()
    assert not any(secret in content for secret in (b"s3cret", b"t0ken", b"pa55"))


def test_nothing_is_recorded_while_recording_is_turned_off(tmp_path: Path) -> None:
    save_settings(tmp_path, RecordingSettings(is_on=False))
    with Tap(tmp_path, "cat") as tap:
        assert tap.rest(_ODD) == (_ODD, b"")
    assert tap.returncode == 0
    assert [path.name for path in tmp_path.rglob("*")] == ["recordings", "settings.json"]
    save_settings(tmp_path, RecordingSettings())
    assert tapped(tmp_path, "cat", data=_ODD) == (0, _ODD)
    assert len(recordings(tmp_path)) == 1


def test_taps_nest(tmp_path: Path) -> None:
    inner = tap_command(tmp_path, "cat", options=("--name", "inner"))
    code, out = tapped(tmp_path, *inner, data=_ODD, options=("--name", "outer"))
    assert (code, out) == (0, _ODD)
    assert sorted(path.name.rpartition("-")[2] for path in recordings(tmp_path)) == [
        "inner.mcprec",
        "outer.mcprec",
    ]


_SEEN = """
env; grep -E "Sig(Blk|Ign|Cgt)" /proc/self/status; pwd; umask; printf "<%s>" "$0" "$@"; cat <&9
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux tells of signals")
def test_the_server_finds_what_it_finds_without_a_tap(tmp_path: Path) -> None:
    command = [*SHELL, f"exec 2>&1; {_SEEN}", "a b", "\udcff é", ""]

    def seen(arguments: list[str]) -> str:
        reader, writer = os.pipe()  # it is inherited, as channels beside the standard streams are
        os.write(writer, b"channel")
        os.close(writer)
        odd = {b"A": b"\xff", b"PATH": os.environb[b"PATH"]}  # no locale: Python would set one
        renamed = [*SHELL, 'exec 9<&0 0</dev/null; exec "$@"', "sh", *arguments]
        ran = subprocess.run(renamed, env=odd, capture_output=True, check=True, stdin=reader)
        os.close(reader)
        found = ran.stdout.decode(errors="replace")
        # Those that the C library keeps to itself: it has what it starts ignore them.
        return re.sub(r"SigIgn:\t\w{8}[018]", "SigIgn: ", found)

    direct, through = seen(command), seen(tap_command(tmp_path, *command))
    assert "channel" in direct
    assert "<a b>" in direct
    assert through == direct


def test_a_session_goes_on_when_the_program_is_removed(tmp_path: Path) -> None:
    package, data_dir = tmp_path / "copy" / "mcp_progress_monitor", tmp_path / "data"
    source = paths.import_root() / "mcp_progress_monitor"
    for part in ("__init__", "__main__", "errors", "bundle", "path_checks", "private_file"):
        package.mkdir(parents=True, exist_ok=True)
        shutil.copy(source / f"{part}.py", package / f"{part}.py")
    shutil.copy(source / "paths.py", package / "paths.py")
    for part in ("tap", "protocol"):
        shutil.copytree(source / part, package / part)
    (package / "cli").mkdir()
    for part in ("__init__.py", "tapping.py"):
        shutil.copy(source / "cli" / part, package / "cli" / part)
    arguments = [*PYTHON, str(package / "__main__.py"), "tap", "--data-dir", str(data_dir), "--"]
    with subprocess.Popen(
        [*arguments, *SHELL, "cat; exit 9"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
    ) as tap:
        assert tap.stdin is not None
        assert tap.stdout is not None
        tap.stdin.write(b"first\n")
        assert tap.stdout.read(6) == b"first\n"
        until(lambda: recordings(data_dir))
        shutil.rmtree(package.parent)
        tap.stdin.write(b"second\n")
        assert tap.stdout.read(7) == b"second\n"
        tap.stdin.close()
    assert tap.returncode == 9
    frames = frames_of(recorded(data_dir))
    assert raws(frames, Channel.RECEIVED) == [b"first", b"second"]
    assert len(events(frames, "closed")) == 1


def test_modules_on_the_servers_search_path_are_the_servers_alone(tmp_path: Path) -> None:
    modules = tmp_path / "modules"
    modules.mkdir()
    for name in ("signal", "queue", "threading", "select", "json", "urllib", "pathlib"):
        (modules / f"{name}.py").write_text("raise SystemExit(1)\n")
    start = (
        "import sys; sys.path.insert(0, sys.argv.pop(1))\n"
        "from mcp_progress_monitor.__main__ import main; sys.exit(main())"
    )
    arguments = [sys.executable, "-c", start, str(paths.import_root()), *tap_command(tmp_path)[4:]]
    with subprocess.Popen(
        [*arguments, *SHELL, "echo $PYTHONPATH; cat"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(modules)},
    ) as tap:
        until(lambda: recordings(tmp_path) or tap.poll() is not None)
        out, _ = tap.communicate(b"{}\n")
    assert out == f"{modules}\n{{}}\n".encode()
    assert tap.returncode == 0


def test_what_is_wrong_with_a_call_is_reported_as_for_other_commands(tmp_path: Path) -> None:
    for arguments in (
        ("tap",),
        ("tap", "--"),
        ("tap", "--nmae", "x", "--", "true"),
        ("--demo", "tap", "--", "true"),
    ):
        ran = (
            run(*arguments, "--data-dir", str(tmp_path))
            if "--" not in arguments
            else run(*arguments)
        )
        assert ran.code == 2
        assert ran.out == ""
        assert "Error: " in ran.err


def test_options_of_the_program_may_stand_before_tap(tmp_path: Path) -> None:
    arguments = [*PYTHON[:1], "-m", "mcp_progress_monitor", "--data-dir", str(tmp_path)]
    ran = subprocess.run(
        [*arguments, "tap", "--client", "Some Client", "--", "echo", "hi"],
        capture_output=True,
        check=True,
    )
    assert ran.stdout == b"hi\n"
    reader = recorded(tmp_path)
    assert reader.header["tap"]["client"] == "Some Client"
    assert json.dumps(reader.header)
