"""The window's command says what is missing, and hands over everything else."""

import errno
import socket
import sys
import sysconfig
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from mcp_progress_monitor import paths
from mcp_progress_monitor.cli import desktop
from mcp_progress_monitor.cli.entry import main
from mcp_progress_monitor.gui.launch_options import WindowOptions


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[WindowOptions]:
    """What the window was asked for."""
    opened: list[WindowOptions] = []

    def run_window(options: WindowOptions, _end_servers: object) -> int:
        opened.append(options)
        return 0

    module = SimpleNamespace(run_window=run_window)
    monkeypatch.setitem(sys.modules, "mcp_progress_monitor.gui.application", module)
    return opened


def test_the_window_gets_servers_folder_and_screenshot(
    opened: list[WindowOptions], data_dir: Path
) -> None:
    arguments = [
        "--demo",
        "--screenshot",
        "a.png",
        "--data-dir",
        str(data_dir),
        "--log-level",
        "INFO",
    ]
    assert main(arguments) == 0
    (options,) = opened
    assert [server.name for server in options.definitions] == ["demo"]
    assert options.is_demo
    assert options.data_dir == data_dir
    assert (options.log_level, options.screenshot, options.after_s) == ("info", Path("a.png"), 5.0)


def test_servers_of_a_configuration_are_handed_over_with_its_path(
    opened: list[WindowOptions], data_dir: Path
) -> None:
    file = data_dir / "mcp.json"
    file.write_text('{"mcpServers": {"a": {"command": "one"}}}')
    assert main(["--config", str(file), "--data-dir", str(data_dir)]) == 0
    assert opened[0].config == file
    assert [server.name for server in opened[0].definitions] == ["a"]


def test_a_saved_server_is_handed_over_by_its_name(
    opened: list[WindowOptions], data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["servers", "add", "a", "--data-dir", str(data_dir), "--", "one"]) == 0
    assert main(["--server", "a", "--data-dir", str(data_dir)]) == 0
    assert opened[0].saved == ("a",)
    assert opened[0].definitions == ()
    assert main(["--server", "b", "--data-dir", str(data_dir)]) == 2
    assert main(["--server", "a", "--era", "auto", "--data-dir", str(data_dir)]) == 2
    assert "cannot be used with a saved server" in capsys.readouterr().err
    assert len(opened) == 1


def test_the_data_folder_is_made(opened: list[WindowOptions], tmp_path: Path) -> None:
    assert main(["--data-dir", str(tmp_path / "new" / "one")]) == 0
    assert opened[0].data_dir.is_dir()
    assert opened[0].definitions == ()


def test_a_data_folder_that_cannot_be_made_is_reported(
    opened: list[WindowOptions], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert main(["--data-dir", str(tmp_path / "file" / "below")]) == 2
    assert "--data-dir" in capsys.readouterr().err
    assert not opened


@pytest.mark.parametrize("module", ["PySide6.QtWidgets", "qasync"])
def test_a_missing_toolkit_is_reported_with_what_to_install(
    opened: list[WindowOptions],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    module: str,
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    assert main(["--demo"]) == 2
    said = capsys.readouterr().err
    assert module in said
    assert f"Install it with: {sys.executable} -m pip install mcp-progress-monitor\n" in said
    assert "`call` and `resume` work without it" in said
    assert not opened


@pytest.mark.parametrize(
    ("lacks", "libc", "advice"),
    [("pip", "gnu", f"uv pip install --python {sys.executable} mcp"), ("", "musl", "no Qt for Py")],
)
def test_what_to_install_depends_on_the_environment(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    lacks: str,
    libc: str,
    advice: str,
) -> None:
    monkeypatch.setitem(sys.modules, "PySide6.QtWidgets", None)
    if lacks:
        monkeypatch.setitem(sys.modules, lacks, None)
    monkeypatch.setattr(sysconfig, "get_config_var", lambda _: f"x86_64-linux-{libc}")
    assert main(["--demo"]) == 2
    assert advice in capsys.readouterr().err


def test_without_a_display_qt_is_not_left_to_abort(
    opened: list[WindowOptions], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    for name in ("QT_QPA_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    assert main([]) == 2
    assert "DISPLAY" in capsys.readouterr().err
    assert not opened


@pytest.mark.skipif(sys.platform != "linux", reason="abstract sockets are Linux's")
def test_a_display_where_nothing_answers_is_reported_and_one_that_answers_is_used(
    opened: list[WindowOptions], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("QT_QPA_PLATFORM", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DISPLAY", ":64321.0")
    monkeypatch.setattr(desktop, "_require_libraries", lambda: None)  # which this machine may lack
    assert main([]) == 2
    assert "DISPLAY is :64321.0, but no X server answers there" in capsys.readouterr().err
    assert not opened
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("\0/tmp/.X11-unix/X64321")
        server.listen()
        assert main([]) == 0
    assert opened


def test_safe_mode_and_a_new_layout_are_handed_over(
    opened: list[WindowOptions], data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--safe-mode", "--data-dir", str(data_dir)]) == 0
    assert main(["--reset-layout", "--demo", "--data-dir", str(data_dir)]) == 0
    assert [(each.is_safe, each.resets_layout) for each in opened] == [(True, False), (False, True)]
    assert main(["--safe-mode", "--demo", "--data-dir", str(data_dir)]) == 2
    assert "connects no server" in capsys.readouterr().err
    assert main(["--reset-layout", "tools", "--demo"]) == 2
    assert "--reset-layout cannot be used with 'tools'" in capsys.readouterr().err
    assert len(opened) == 2


def test_without_a_data_folder_the_window_opens_and_keeps_nothing(
    opened: list[WindowOptions], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(paths, "data_home", lambda: tmp_path / "file" / "below")
    assert main([]) == 0
    error = opened[0].error
    assert error is not None
    assert "Cannot create the data folder. Nothing from this session is kept" in error.what
    assert not opened[0].data_dir.exists()


def test_a_folder_that_cannot_be_written_is_reported_and_the_window_opens(
    opened: list[WindowOptions], data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    assert main(["--data-dir", str(data_dir)]) == 0
    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    assert main(["--data-dir", str(data_dir)]) == 0
    assert opened[0].error is None
    error = opened[1].error
    assert error is not None
    assert "The data folder cannot be written" in error.what
    assert error.where == str(data_dir)
