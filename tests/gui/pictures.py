"""Pictures of every state of the window, for looking: ``python -m tests.gui.pictures [FOLDER]``.

The real program with the demo server, without a display, on screens of several sizes and scales,
in every theme: empty, busy with each pane in front, and broken. Every dialog once, with texts of
usual length. A screen takes some 20 s; names of screens (``1280x800``, ``1366x768@2``) choose some.
"""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

import anyio
from PySide6.QtWidgets import QApplication, QWidget

from mcp_progress_monitor.gui.aio import run_on_qt
from mcp_progress_monitor.gui.launch_options import WindowOptions
from mcp_progress_monitor.gui.main_window import MainWindow
from mcp_progress_monitor.gui.program import Program
from mcp_progress_monitor.snapshots.definitions import StdioDefinition
from tests.architecture.source import ROOT
from tests.gui.every_window import EveryWindow, screen_environ
from tests.gui.programs import until_quit

SCREENS: Final = (
    "1280x800",
    "900x600",
    "900x600@1.5",
    "900x600@2",
    "1366x768",
    "2560x1440",
    "1366x768@2",
    "2560x1440@2",
)
_THEMES: Final = ("light", "dark", "contrast")
_DIALOGS_ON: Final = "1280x800"
_BUSY_S: Final = 9.0
_AT_A_TIME: Final = 2
_BROKEN: Final = "import sys; print('no such table: orders', file=sys.stderr); sys.exit(3)"


async def take(screen: str, folder: Path, data: Path) -> int:
    """Save all pictures of one screen."""
    application = QApplication.instance()
    assert isinstance(application, QApplication)
    async with until_quit(Program(application, WindowOptions(data_dir=data))) as program:
        window = program.window
        if "2560" in screen:
            window.resize(window.screen().availableSize())
        await anyio.sleep(1)
        await _in_themes(window, folder / f"{screen}-empty")
        program.servers.start_demo()
        await anyio.sleep(_BUSY_S)
        for name in ("traffic", "job", "timeline", "findings", "stderr", "server_log"):
            window.open_dock(name)
            table = window.job_list.table
            table.setCurrentIndex(table.model().index(1, 0))
            await _in_themes(window, folder / f"{screen}-busy-{name}")
        program.engine.servers.add(
            StdioDefinition(name="orders", command=sys.executable, args=("-c", _BROKEN))
        )
        program.servers.connect_servers(["orders"])
        await anyio.sleep(3)
        window.open_dock("stderr")
        await _in_themes(window, folder / f"{screen}-broken")
        window.theme.choose("light")
    if screen == _DIALOGS_ON:
        _dialogs(folder, data)
    return 0


async def _in_themes(window: MainWindow, start: Path) -> None:
    for name in _THEMES:
        window.theme.choose(name)
        await anyio.sleep(0.3)
        _save(window, start.with_name(f"{start.name}-{name}.png"))


def _dialogs(folder: Path, data: Path) -> None:
    """Every dialog, in the theme of now."""
    every = EveryWindow("a name of usual length", data)
    for name, widget in every.all():
        widget.show()
        QApplication.processEvents()
        QApplication.processEvents()
        _save(widget, folder / f"dialog-{name.lower().replace(' ', '-')}.png")
        widget.close()
    for widget in every.kept[:2]:
        widget.deleteLater()  # now, not in the order in which the process ends
    QApplication.processEvents()


def _save(widget: QWidget, path: Path) -> None:
    assert widget.grab().save(str(path)), path


def main(arguments: list[str]) -> int:
    """Take the pictures of each screen in a process of its own; print where they are."""
    screens = [each for each in arguments if each in SCREENS] or list(SCREENS)
    folder = Path(next((each for each in arguments if each not in SCREENS), "build/pictures"))
    folder.mkdir(parents=True, exist_ok=True)
    failed = 0
    with tempfile.TemporaryDirectory(dir=folder) as data:
        waiting, running = list(screens), list[subprocess.Popen[bytes]]()
        while waiting or running:
            while waiting and len(running) < _AT_A_TIME:
                screen = waiting.pop(0)
                command = [sys.executable, "-m", __spec__.name, "--screen", screen]
                size, _, scale = screen.partition("@")
                width, height = map(int, size.split("x"))
                environ = screen_environ(width, height, float(scale or 1), Path(data))
                command += [str(folder.absolute()), str(Path(data, screen).absolute())]
                running.append(subprocess.Popen(command, cwd=ROOT, env=environ))
            failed += running.pop(0).wait() != 0
    sys.stdout.write(f"{len(list(folder.glob('*.png')))} pictures in {folder.resolve()}\n")
    return 1 if failed else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--screen"]:
        _screen, _folder, _data = sys.argv[2:5]
        Path(_data).mkdir(mode=0o700)
        sys.exit(
            run_on_qt(QApplication(sys.argv[:1]), lambda: take(_screen, Path(_folder), Path(_data)))
        )
    sys.exit(main(sys.argv[1:]))
