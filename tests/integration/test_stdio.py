"""The stdio transport against real processes and pipes."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

from mcp_progress_monitor.clock import Clock
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.protocol.frames import Channel, Frame
from mcp_progress_monitor.protocol.framing import RUN_LINES, FrameNumbers, Framer
from mcp_progress_monitor.sessions.transport.stdio import STDERR_LINE_BYTES, StdioTransport
from mcp_progress_monitor.snapshots.definitions import StdioDefinition
from tests.patience import PATIENCE_S, allowed

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and process groups")


def python(code: str, **options: Any) -> StdioDefinition:
    """A server that is a few lines of Python."""
    return StdioDefinition(name="test", command=sys.executable, args=("-c", code), **options)


class Running:
    """An open transport, and everything that came from it."""

    def __init__(self, definition: StdioDefinition) -> None:
        self.transport = StdioTransport(definition, Framer("t#1", FrameNumbers()), Clock())
        self.stderr: list[Frame] = []
        self.heard = anyio.Event()
        self.frames: list[Frame] = []

    async def take_stderr(self, frames: Sequence[Frame]) -> None:
        self.stderr.extend(frames)
        self.heard.set()

    async def read_all(self) -> list[Frame]:
        with contextlib.suppress(anyio.EndOfStream):
            while True:
                self.frames += await self.transport.receive()
        return self.frames

    async def line(self) -> bytes:
        """The next line, where the server writes one at a time."""
        (frame,) = await self.transport.receive()
        return frame.raw

    def byte_at(self) -> float | None:
        return self.transport.last_byte_at

    @property
    def pid(self) -> int:
        assert self.transport.pid is not None
        return self.transport.pid


@contextlib.asynccontextmanager
async def running(definition: StdioDefinition) -> AsyncIterator[Running]:
    server = Running(definition)
    await server.transport.open()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.transport.watch, server.take_stderr)
        try:
            yield server
        finally:
            tasks.start_soon(server.read_all)
            await server.transport.close()
    await server.transport.release()


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that only waits to be collected does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return sys.platform != "linux"


async def gone(pid: int) -> bool:
    with anyio.move_on_after(PATIENCE_S):
        while is_alive(pid):  # noqa: ASYNC110  # nobody tells of a stranger's end
            await anyio.sleep(0.01)
    return not is_alive(pid)


async def test_each_line_is_a_frame_with_its_exact_bytes() -> None:
    lines = [b'{"a": 1}', b"", b"\xff\xfe not text", b"with return\r", b"\xef\xbb\xbf{}"]
    code = f"import os\nfor line in {lines!r}: os.write(1, line + b'\\n')"
    async with running(python(code)) as server:
        frames = await server.read_all()
    assert [frame.raw for frame in frames] == lines
    assert [frame.number for frame in frames] == sorted({frame.number for frame in frames})
    assert {frame.channel for frame in frames} == {Channel.RECEIVED}
    assert all(frame.is_complete for frame in frames)


async def test_a_last_line_without_its_end_is_kept_and_marked() -> None:
    async with running(python("import os; os.write(1, b'{}\\n{\"half')")) as server:
        frames = await server.read_all()
    assert [(frame.raw, frame.is_complete) for frame in frames] == [
        (b"{}", True),
        (b'{"half', False),
    ]


async def test_the_time_of_a_message_s_first_bytes_is_known_before_its_end() -> None:
    code = "import os; os.write(1, b'{\"half'); os.read(0, 1); os.write(1, b'\"}\\n')"
    async with running(python(code)) as server:
        assert server.byte_at() is None
        with anyio.fail_after(PATIENCE_S):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(server.read_all)
                while server.byte_at() is None:  # noqa: ASYNC110
                    await anyio.sleep(0.01)  # nobody tells of bytes
                begun_at = server.byte_at() or 0.0
                await server.transport.send(b"", 1)
        assert server.frames
        assert (server.byte_at() or 0.0) > begun_at


async def test_what_a_dying_server_wrote_last_is_not_lost() -> None:
    code = "import os, sys\nfor n in range(20000): print('{}', n)\nsys.stdout.flush(); os._exit(7)"
    async with running(python(code)) as server:
        frames = await server.read_all()
    assert len(frames) == 20000
    assert frames[-1].raw == b"{} 19999"
    assert server.transport.exit_code == 7


async def test_the_server_gets_its_arguments_folder_and_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FROM_THE_USER", "kept")
    code = (
        "import os, sys\n"
        "print(os.getcwd(), sys.argv[1:], os.environ['FROM_THE_USER'], os.environ['MINE'])"
    )
    definition = python(code, cwd=str(tmp_path), env={"MINE": "added"})
    definition = definition.model_copy(update={"args": (*definition.args, "a b", "$HOME")})
    async with running(definition) as server:
        assert await server.line() == f"{tmp_path} ['a b', '$HOME'] kept added".encode()


async def test_the_opened_event_names_variables_but_not_their_values() -> None:
    transport = Running(python("", env={"SECRET": "hunter2"})).transport
    detail = await transport.open()
    await transport.close()
    await transport.release()
    assert detail["env"] == ["SECRET"]
    assert detail["pid"] == transport.pid
    assert "hunter2" not in str(detail)


async def test_messages_are_written_as_lines() -> None:
    async with running(python("import sys\nfor line in sys.stdin: print(ascii(line))")) as server:
        await server.transport.send(b'{"a":1}', 1)
        await server.transport.send(b'{"b":2}', 1)
        await server.transport.close()
        assert [frame.raw for frame in await server.read_all()] == [
            rb"""'{"a":1}\n'""",
            rb"""'{"b":2}\n'""",
        ]


async def test_lines_of_stderr_are_frames_beside_the_messages() -> None:
    code = "import sys\nprint('one\\r\\n\\ntwo\\nthree', end='', file=sys.stderr); print('{}')"
    async with running(python(code)) as server:
        await server.read_all()
    assert [(frame.raw, frame.is_complete) for frame in server.stderr] == [
        (b"one\r", True),
        (b"", True),
        (b"two", True),
        (b"three", False),
    ]
    assert {frame.channel for frame in server.stderr} == {Channel.STDERR}


async def test_an_endless_line_of_stderr_comes_in_pieces_and_whole() -> None:
    code = "import os\nfor _ in range(10): os.write(2, b'x' * 50000)\nos.write(2, b'\\nend\\n')"
    async with running(python(code)) as server:
        await server.read_all()
    *pieces, end = server.stderr
    assert b"".join(frame.raw for frame in pieces) == b"x" * 500_000
    assert max(len(frame.raw) for frame in pieces) <= STDERR_LINE_BYTES
    assert [frame.is_complete for frame in pieces] == [False] * (len(pieces) - 1) + [True]
    assert end.raw == b"end"


async def test_a_line_of_many_megabytes_arrives_whole_while_others_go_on() -> None:
    half = "x" * 12_000_000
    # It goes on when somebody tells it to, after all it has written so far was taken.
    code = (
        "import sys\n"
        "print('{\"x\":\"' + 'x' * 12_000_000, end='', flush=True)\n"
        "print('half of it', file=sys.stderr, flush=True)\n"
        "sys.stdin.readline()\n"
        "print('x' * 12_000_000 + '\"}')"
    )
    async with running(python(code)) as server, anyio.create_task_group() as tasks:
        tasks.start_soon(server.read_all)
        await server.heard.wait()
        assert server.frames == []
        await server.transport.send(b"go on", 1)
    (frame,) = server.frames
    assert frame.raw.decode() == f'{{"x":"{half}{half}"}}'


@pytest.mark.parametrize("line", ["{}", "plain text", ""], ids=["objects", "text", "empty"])
async def test_a_flood_of_any_lines_comes_in_runs(line: str) -> None:
    code = f"import os; os.write(1, b'{line}\\n' * 20_000)"
    sizes: list[int] = []
    async with running(python(code)) as server:
        while sum(sizes) < 20_000:
            sizes.append(len(await server.transport.receive()))
    assert sum(sizes) == 20_000
    assert max(sizes) == RUN_LINES


async def test_a_server_that_does_not_read_holds_up_the_sender_and_nobody_else() -> None:
    async with running(python("import time; print('up', flush=True); time.sleep(60)")) as server:
        assert await server.line() == b"up"
        sent = 0
        with anyio.move_on_after(0.5) as limit:
            while True:
                await server.transport.send(b"x" * 100_000, 1)
                sent += 100_000
        assert limit.cancelled_caught
        assert sent < 3_000_000
        os.killpg(server.pid, signal.SIGKILL)


async def test_a_server_that_is_not_read_is_blocked() -> None:
    code = (
        "import os, sys\nos.set_blocking(1, False)\nn = 0\n"
        "import time\nend = time.monotonic() + 0.5\n"
        "while time.monotonic() < end:\n"
        "    try: n += os.write(1, b'x' * 999 + b'\\n')\n"
        "    except BlockingIOError: time.sleep(0.01)\n"
        "print(n, file=sys.stderr, flush=True)"
    )
    async with running(python(code)) as server:
        await server.heard.wait()
        assert int(server.stderr[0].raw) < 1_000_000


async def test_a_polite_server_ends_when_its_stdin_is_closed() -> None:
    async with running(python("import sys; print('up', flush=True); sys.stdin.read()")) as server:
        assert await server.line() == b"up"
        began = time.monotonic()
    assert time.monotonic() - began < allowed(1.5)
    assert server.transport.exit_code == 0
    assert not is_alive(server.pid)


async def test_a_server_that_talks_until_it_ends_is_heard_to_the_end() -> None:
    code = (
        "import sys\nprint('up', flush=True)\nsys.stdin.read()\n"
        "for n in range(30000): print('{\"n\":', n, '}')"
    )
    async with running(python(code)) as server:
        assert await server.line() == b"up"
    assert len(server.frames) == 30000
    assert server.transport.exit_code == 0


async def test_a_stubborn_server_is_gone_within_five_seconds() -> None:
    code = (
        "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "print('up', flush=True)\ntime.sleep(600)"
    )
    async with running(python(code)) as server:
        assert await server.line() == b"up"
        began = time.monotonic()
    assert time.monotonic() - began < allowed(5)
    assert server.transport.exit_code == -signal.SIGKILL
    assert not is_alive(server.pid)


_WITH_CHILD = (
    "import subprocess, sys\n"
    "child = subprocess.Popen([sys.executable, '-c', {child!r}], start_new_session={escapes})\n"
    "print(child.pid, flush=True)\n"
)


@pytest.mark.parametrize(
    "child",
    [
        "import time; time.sleep(600)",
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)",
    ],
    ids=["polite", "stubborn"],
)
async def test_children_that_outlive_the_server_are_ended(child: str) -> None:
    code = _WITH_CHILD.format(child=child, escapes=False) + "sys.stdin.read()"
    async with running(python(code)) as server:
        child_pid = int(await server.line())
        assert is_alive(child_pid)
    assert await gone(child_pid)


_FORKS = (
    "import os, signal, subprocess, sys, time\n"
    "{deaf}"
    "grandchild = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
    "print(os.getpid(), grandchild.pid, flush=True)\n"
    "time.sleep(600)\n"
)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells whose child is where")
@pytest.mark.parametrize(
    "deaf", ["", "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"], ids=["polite", "stubborn"]
)
async def test_children_that_left_the_servers_group_are_ended_with_their_children(
    deaf: str,
) -> None:
    child = _FORKS.format(deaf=deaf)
    code = (
        "import subprocess, sys\n"
        f"subprocess.Popen([sys.executable, '-c', {child!r}], start_new_session=True)\n"
        "sys.stdin.read()"
    )
    async with running(python(code)) as server:
        pids = [int(word) for word in (await server.line()).split()]
        assert all(map(is_alive, pids))
        assert os.getpgid(pids[0]) != server.pid
    assert [await gone(pid) for pid in pids] == [True, True]
    assert server.transport.exit_code == 0


async def test_children_of_a_server_that_died_by_itself_are_ended() -> None:
    code = _WITH_CHILD.format(child="import time; time.sleep(600)", escapes=False)
    async with running(python(code)) as server:
        child_pid = int((await server.read_all())[0].raw)
        assert await gone(child_pid)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells whose child is where")
async def test_children_in_their_own_session_of_a_server_that_died_at_once_are_ended() -> None:
    code = _WITH_CHILD.format(child="import time; time.sleep(600)", escapes=True)
    async with running(python(code)) as server:
        child_pid = int((await server.read_all())[0].raw)
        assert await gone(child_pid)


async def test_a_pipe_that_a_stranger_holds_open_does_not_hold_up_the_end() -> None:
    # Without our mark in its environment, nobody can tell whose it is.
    escapes = "True, env={}"
    code = _WITH_CHILD.format(child="import time; time.sleep(600)", escapes=escapes)
    began = time.monotonic()
    async with running(python(code)) as server:
        child_pid = int((await server.read_all())[0].raw)
    assert time.monotonic() - began < allowed(5)
    assert is_alive(child_pid)
    os.kill(child_pid, signal.SIGKILL)


async def test_an_abandoned_transport_can_be_closed_before_it_was_opened() -> None:
    transport = Running(python("")).transport
    await transport.close()
    await transport.release()
    with pytest.raises(anyio.ClosedResourceError):
        await transport.send(b"{}", 1)


async def refusal(definition: StdioDefinition) -> ErrorDetails:
    with pytest.raises(UserError) as caught:
        await Running(definition).transport.open()
    return caught.value.details


async def test_a_misspelt_command_is_answered_with_names_like_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "weather-server"
    program.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    error = await refusal(StdioDefinition(name="t", command="wether-server"))
    assert "not found" in error.what
    assert error.where == "wether-server"
    assert "weather-server" in error.hint
    assert str(tmp_path) in error.detail


async def test_the_path_of_the_definition_is_the_one_that_is_searched(tmp_path: Path) -> None:
    definition = StdioDefinition(name="t", command="python3", env={"PATH": str(tmp_path)})
    assert str(tmp_path) in (await refusal(definition)).detail


async def test_a_missing_file_is_answered_with_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "server.py").touch()
    error = await refusal(StdioDefinition(name="t", command=str(tmp_path / "sever.py")))
    assert "file not found" in error.what
    assert "server.py" in error.hint


async def test_a_file_without_the_right_to_run_says_how_to_give_it(tmp_path: Path) -> None:
    script = tmp_path / "server.sh"
    script.write_text("#!/bin/sh\n")
    error = await refusal(StdioDefinition(name="t", command=str(script)))
    assert "not executable" in error.what
    assert "chmod +x" in error.hint


async def test_a_folder_is_no_command(tmp_path: Path) -> None:
    assert "folder" in (await refusal(StdioDefinition(name="t", command=str(tmp_path)))).what


async def test_a_script_without_an_interpreter_line_is_explained(tmp_path: Path) -> None:
    script = tmp_path / "server"
    script.write_text("print('no first line')\n")
    script.chmod(0o755)
    error = await refusal(StdioDefinition(name="t", command=str(script)))
    assert "#!" in error.hint


async def test_a_script_whose_interpreter_is_missing_quotes_its_first_line(tmp_path: Path) -> None:
    script = tmp_path / "server"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    error = await refusal(StdioDefinition(name="t", command=str(script)))
    assert "interpreter" in error.what
    assert error.detail == "#!/no/such/interpreter"


async def test_a_folder_to_start_in_that_is_missing_is_named(tmp_path: Path) -> None:
    error = await refusal(python("", cwd=str(tmp_path / "none")))
    assert error.where == str(tmp_path / "none")
    assert "does not exist" in error.what


async def test_a_folder_to_start_in_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "is a file" in (await refusal(python("", cwd=str(tmp_path / "file")))).what


@pytest.mark.skipif(sys.platform != "linux", reason="counts open files in Linux's /proc")
def test_a_start_without_files_left_says_so_and_leaves_none_open() -> None:
    code = """
import os, resource, sys, anyio
from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.snapshots.definitions import StdioDefinition
from mcp_progress_monitor.sessions.transport.server_process import ServerProcess

async def main():
    definition = StdioDefinition(name="s", command=sys.executable, args=("-c", ""))
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    before = os.listdir("/proc/self/fd")
    for room in range(6):
        most = max(map(int, before)) + room
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        try:
            await ServerProcess.start(definition)
        except UserError as error:
            print(error.details.what)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 1024), hard))
        assert len(os.listdir("/proc/self/fd")) == len(before)

anyio.run(main)
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines() == ["Too many open files"] * 6
