"""Whatever goes wrong becomes an error and an exit code, never a traceback."""

import errno
import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest

from mcp_progress_monitor.cli.entry import main
from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode
from mcp_progress_monitor.errors import ErrorDetails, UserError


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], None]:
    """Make the command `tools` raise something."""

    def fail_with(error: BaseException) -> None:
        def list_tools(*_: Any, **__: Any) -> NoReturn:
            raise error

        module = SimpleNamespace(list_tools=list_tools)
        monkeypatch.setitem(sys.modules, "mcp_progress_monitor.cli.calls.listings", module)

    return fail_with


def test_an_expected_failure_is_reported_in_safe_text(
    failing: Callable[[BaseException], None], capsys: pytest.CaptureFixture[str]
) -> None:
    error = ErrorDetails("It \x1b[2J broke", "here", "Try again.", "first\nsecond")
    failing(CommandFailed(ExitCode.NOT_CONNECTED, error))
    assert main(["tools"]) == 3
    assert capsys.readouterr().err == "It \\x1b[2J broke (here)\nfirst\nsecond\nTry again.\n"


def test_a_defect_is_written_to_a_file_and_reported_in_one_sentence(
    failing: Callable[[BaseException], None], capsys: pytest.CaptureFixture[str], data_dir: Path
) -> None:
    failing(ExceptionGroup("tasks", [ValueError("our own mistake")]))
    assert main(["tools", "--data-dir", str(data_dir), "--env", "SECRET=hunter2"]) == 70
    said = capsys.readouterr().err
    (written,) = data_dir.iterdir()
    assert said == (
        f"Internal error in mcp-progress-monitor. Please report it and attach {written}\n"
    )
    account = written.read_text()
    assert "our own mistake" in account
    assert "Traceback" in account
    assert "'--data-dir'" in account
    assert "hunter2" not in account


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ImportError("libssl.so.3: cannot open shared object file: No such file"), "libssl3"),
        (ModuleNotFoundError("No module named '_sqlite3'", name="_sqlite3"), "without SQLite"),
    ],
)
def test_a_python_that_lacks_a_library_is_no_defect(
    failing: Callable[[BaseException], None],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    data_dir: Path,
    error: ImportError,
    said: str,
) -> None:
    monkeypatch.setattr(platform, "freedesktop_os_release", lambda: {"ID": "debian"})
    late = LookupError("Backend 'asyncio' is not available")
    late.__cause__ = error
    failing(late)
    assert main(["tools", "--data-dir", str(data_dir)]) == 2
    assert said in capsys.readouterr().err
    assert not list(data_dir.glob("defect*"))


def test_a_servers_command_is_not_written_down(
    failing: Callable[[BaseException], None], data_dir: Path
) -> None:
    failing(ValueError("mistake"))
    main(["tools", f"--data-dir={data_dir}", "--", "server", "--password", "hunter2"])
    (written,) = data_dir.iterdir()
    assert "hunter2" not in written.read_text()


def test_a_defect_is_reported_even_where_no_file_can_be_written(
    failing: Callable[[BaseException], None],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    failing(ValueError("our own mistake"))
    occupied = tmp_path / "file"
    occupied.touch()
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(occupied))
    assert main(["tools", "--data-dir", str(occupied / "below")]) == 70
    said = capsys.readouterr().err
    assert "our own mistake" in said
    assert "Traceback" not in said


def test_an_interrupt_before_anything_runs_is_quiet(
    failing: Callable[[BaseException], None], capsys: pytest.CaptureFixture[str]
) -> None:
    failing(KeyboardInterrupt())
    assert main(["tools"]) == 5
    assert capsys.readouterr().err.strip() == ""


def test_a_full_disk_is_no_defect(
    failing: Callable[[BaseException], None], capsys: pytest.CaptureFixture[str]
) -> None:
    failing(OSError(errno.ENOSPC, "No space left on device"))
    assert main(["tools"]) == 8
    assert capsys.readouterr().err == "Cannot write the output: No space left on device\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no disk that is always full")
@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["nosuch"], 2), (["tools", "--url", "x"], 2), (["open", "nosuch"], 8), (["--version"], 0)],
)
def test_the_code_is_reported_where_the_words_cannot_be(arguments: list[str], code: int) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "mcp_progress_monitor", *arguments],
            stderr=full,
            stdout=subprocess.DEVNULL,
            check=False,
        )
    assert done.returncode == code


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no disk that is always full")
def test_of_a_full_disk_only_our_own_message_is_printed() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "mcp_progress_monitor", "--version"],
            stderr=subprocess.PIPE,
            stdout=full,
            text=True,
            check=False,
        )
    assert done.stderr == "Cannot write the output: No space left on device\n"
    assert done.returncode == 8


def test_other_errors_of_the_system_are_defects_if_nobody_expected_them(
    failing: Callable[[BaseException], None], data_dir: Path
) -> None:
    failing(FileNotFoundError(errno.ENOENT, "No such file"))
    assert main(["tools", "--data-dir", str(data_dir)]) == 70
    assert list(data_dir.iterdir())


def test_an_error_that_a_command_did_not_take_is_reported_as_wrong_usage(
    failing: Callable[[BaseException], None], capsys: pytest.CaptureFixture[str]
) -> None:
    failing(UserError(ErrorDetails("It leads nowhere", "x\x1b[2J", "Enter the full path.")))
    assert main(["tools"]) == 2
    assert capsys.readouterr().err == "It leads nowhere (x\\x1b[2J)\nEnter the full path.\n"
