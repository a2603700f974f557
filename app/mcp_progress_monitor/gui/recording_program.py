"""The program for a recording: the panes of live sessions, read-only, fed by the replay."""

from __future__ import annotations

import asyncio
import hashlib
import sys
import tempfile
from functools import partial
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtNetwork import QLocalServer, QLocalSocket
from PySide6.QtWidgets import QApplication, QLabel, QStatusBar, QWidget

from mcp_progress_monitor import formatting, paths, private_file
from mcp_progress_monitor.crash_reports import LOG_NAME
from mcp_progress_monitor.filtering.filter import TrafficFilter
from mcp_progress_monitor.gui.aio import BackgroundTasks, run_on_qt
from mcp_progress_monitor.gui.deferred_startup import DeferredStartup
from mcp_progress_monitor.gui.lifetime import CANCELLED, Failures, Lifetime
from mcp_progress_monitor.gui.main_window import MainWindow
from mcp_progress_monitor.gui.models import Models
from mcp_progress_monitor.gui.preferences import Preferences
from mcp_progress_monitor.gui.recordings.bars import RecordingBanner, ReplayBar
from mcp_progress_monitor.gui.recordings.controller import import_file
from mcp_progress_monitor.gui.recordings.replay import Mode, Replay
from mcp_progress_monitor.gui.servers.commands import OPEN
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.gui.window_commands import QUIT
from mcp_progress_monitor.gui.window_program import WindowProgram
from mcp_progress_monitor.path_checks import absolute
from mcp_progress_monitor.playback.playback import Playback

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    import anyio

    from mcp_progress_monitor.errors import ErrorDetails
    from mcp_progress_monitor.gui.calls.server_page import ServerPage
    from mcp_progress_monitor.gui.launch_options import RecordingOptions
    from mcp_progress_monitor.imports.convert import ImportForm


class RecordingStatus(QStatusBar):
    """Shows the state of `replay` in the status bar."""

    def __init__(self, playback: Playback, replay: Replay, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._playback = playback
        self._replay = replay
        self._findings = 0
        self._label = QLabel(self)
        self._label.setTextFormat(Qt.TextFormat.PlainText)
        self._label.setAccessibleDescription("Status")
        self.addWidget(self._label, 1)
        replay.changed.connect(self.refresh)
        self.refresh()

    def count_findings(self, findings: int) -> None:
        """Show the number of findings that are not ignored."""
        self._findings = findings
        self.refresh()

    @property
    def text(self) -> str:
        return self._label.text()

    @Slot()
    def refresh(self) -> None:
        shown = self._playback
        parts = (
            self._mode(),
            formatting.count(shown.timeline.end, "message"),
            formatting.count(len(shown.jobs.ids()), "job"),
            formatting.count(len(shown.servers.snapshots()), "server"),
        )
        found = (formatting.count(self._findings, "finding"),) if self._findings else ()
        self._label.setText(" · ".join((*parts, *found)))

    def _mode(self) -> str:
        share = f"{self._replay.progress * 100:.0f} %"
        texts = {
            Mode.FOLLOWING: "Following",
            Mode.READING: f"Reading, {share}",
            Mode.SEEKING: "Seeking",
            Mode.PLAYING: "Playing",
            Mode.PAUSED: "Paused",
            Mode.ENDED: "End of recording",
        }
        return texts[self._replay.mode]


def run_recording(options: RecordingOptions) -> int:
    """Open the window of a recording and run until it is closed; returns the exit code.

    If another window shows the recording, it comes to the front instead, unless the options ask for
    more.
    """
    application = QApplication(sys.argv[:1])
    is_plain = options.screenshot is None and options.speed is None and not options.filter_text
    if is_plain and brought_to_front(options.playback.path, options.data_dir):
        return 0
    program = RecordingProgram(application, options)
    return run_on_qt(application, partial(program.life.attended, program.run))


def run_imported(
    path: Path, form: ImportForm, target: Path, options_of: Callable[[Playback], RecordingOptions]
) -> int:
    """Import another program's file as `target`, then open it; returns the exit code.

    `UserError` if it cannot be imported.
    """
    application = QApplication(sys.argv[:1])
    owner = QObject()
    life = Lifetime(application, owner)

    async def run() -> int:
        if not await import_file(path, form, target, life):
            return CANCELLED
        options = options_of(Playback(target, imported_from=path))
        return await RecordingProgram(application, options, life).run()

    return run_on_qt(application, partial(life.attended, run))


_READ_ONLY: Final = "Not available in a recording, which is read-only"


class RecordingProgram(WindowProgram):
    """The program for a recording: the panes of `Program`, fed by a `Playback`."""

    window: MainWindow
    replay: Replay

    def __init__(
        self, application: QApplication, options: RecordingOptions, life: Lifetime | None = None
    ) -> None:
        """`life` is that of the program, if it has already begun."""
        super().__init__()
        self.life: Final = Lifetime(application, self) if life is None else life
        self._options = options
        self._page: ServerPage | None = None

    @property
    def ready(self) -> anyio.Event:
        """Set when the window is visible and reading has begun."""
        return self.life.ready

    @property
    def playback(self) -> Playback:
        return self._options.playback

    async def run(self) -> int:
        failures = Failures(self._options.data_dir / LOG_NAME, self._report)
        failures.install()
        failures.watch(asyncio.get_running_loop())
        async with BackgroundTasks(self._report, failures.note) as tasks:
            self._build(tasks)
            self._deferred = DeferredStartup(self.window)
            self._deferred.take((self.window.traffic_pane.make_details, *self.window.late.steps()))
            self.life.show(self.window)
            self._register_window()
            self._begin()
            await self.life.last()
            self._put_away()
        failures.uninstall()
        return self.life.exit_code

    @Slot()
    def quit(self) -> None:
        self.life.quit()

    def _build(self, tasks: BackgroundTasks) -> None:
        playback = self.playback
        self._preferences = Preferences(self._options.data_dir)
        appearance = Appearance(QGuiApplication.palette(), paths.resource("icons"), self)
        self._models = Models(playback.timeline, self)
        self._models.follow(playback)
        self.replay = Replay(playback, self)
        status = RecordingStatus(playback, self.replay)
        self.window = MainWindow(self._models, status, appearance, self._preferences, _READ_ONLY)
        self.banner = RecordingBanner(playback.path, appearance, self.window)
        self.bar = ReplayBar(self.replay, playback.begun_when, appearance, self.window)
        self._build_shared(
            self.window, playback, appearance, tasks, self._options.data_dir, playback.path.name
        )
        self.recordings.shown = playback.first_path
        self.findings.counted.connect(status.count_findings)
        self._set_up_window()
        self._join()

    def _set_up_window(self) -> None:
        window = self.window
        window.setWindowTitle(formatting.one_line(self.playback.path.name))
        window.add_bar(self.banner)
        window.add_bar(self.bar)
        window.middle.show_first(are_any=True)

    def _join(self) -> None:
        window = self.window
        self.replay.changed.connect(self._on_replay_changed)
        self.replay.restarted.connect(self._on_restarted)
        self._models.feed.servers_changed.connect(self._refresh_page)
        window.commands.carry_out(OPEN, self.show_server)
        self.palette.server_chosen.connect(self.show_server)
        self.palette.connect_chosen.connect(self.show_server)
        self.banner.errors_opened.connect(self._on_errors_opened)
        self._models.keep_notes_beside(self.playback.first_path)
        window.commands.carry_out(QUIT, self.quit)
        window.close_requested.connect(self.quit)
        window.session_ended.connect(self.quit)

    @Slot(str)
    def show_server(self, name: str) -> None:
        """Show what the recording knows of a server, in place of the jobs."""
        if self._page is None:
            from mcp_progress_monitor.gui.calls.server_page import ServerPage  # when first wanted

            self._page = ServerPage(self.window.appearance, self.window, is_read_only=True)
            self._page.back_requested.connect(self.window.middle.show_jobs)
        self._page.show_server(self.playback.servers.snapshot(name))
        self.window.middle.show_page(self._page)
        self._page.begins_at.setFocus(Qt.FocusReason.OtherFocusReason)

    @Slot()
    def _refresh_page(self) -> None:
        """Follow the replay with the page; from the beginning again, its server comes again."""
        page, servers = self._page, self.playback.servers
        if page is not None and page is self.window.middle.page and page.server in servers.names():
            page.show_server(servers.snapshot(page.server))

    def _begin(self) -> None:
        options = self._options
        path = self.playback.first_path
        is_kept = not path.is_relative_to(tempfile.gettempdir())  # else it came through a pipe
        if is_kept and options.screenshot is None:
            self.recordings.note_opened(path)
        if options.filter_text:
            self.window.open_dock("traffic")
            self.window.traffic_pane.set_filter(TrafficFilter(text=options.filter_text))
        if options.speed is None:
            self.replay.read_all()
        else:
            self.replay.set_speed(options.speed)
            self.replay.play()
        if options.screenshot is not None:
            self.life.take_picture(options.screenshot, options.after_s)

    def _register_window(self) -> None:
        """Raise this window over the one it was opened from, and register it as the only one."""
        self.window.activateWindow()
        self._only: SingleInstance | None = None
        if self._options.screenshot is None:
            self._only = SingleInstance(self.playback.path, self._options.data_dir, self)
            self._only.wanted.connect(self._come_to_front)

    @Slot()
    def _come_to_front(self) -> None:
        window = self.window
        window.setWindowState(window.windowState() & ~Qt.WindowState.WindowMinimized)
        window.raise_()
        window.activateWindow()
        QApplication.alert(window)  # for desktops that let no program take the focus

    def _put_away(self) -> None:
        if self._only is not None:
            self._only.close()
        self._deferred.stop()
        self.replay.pause()
        self.window.remember()
        self._put_window_away()

    def _report(self, error: ErrorDetails) -> None:
        self.window.notices.show_error(error)

    @Slot()
    def _on_replay_changed(self) -> None:
        """Report new errors, each once."""
        playback = self.playback
        self.banner.show_facts(playback.begun_when, playback.length_s, playback.size)
        found = tuple(playback.errors)
        if found != self.banner.errors:
            self.banner.show_errors(found)
        if self.replay.mode is Mode.ENDED:
            self._models.findings.watch.finish()

    @Slot()
    def _on_restarted(self) -> None:
        """Clear the views at once: what comes next must not be mixed with the old content."""
        self._models.feed.flush()
        self._models.traffic.refresh()
        self.window.stderr_pane.clear()
        self._models.server_log.clear()
        self._models.findings.watch.restart()

    @Slot(object)
    def _on_errors_opened(self, errors: Iterable[ErrorDetails]) -> None:
        for error in reversed(tuple(errors)):
            self._report(error)


_FOLDER: Final = "windows"
_LONGEST: Final = 100  # bytes of a socket's path: systems allow 104 or 108
_CONNECT_MS: Final = 500
_ANSWER_MS: Final = 2000  # a window that hangs does not answer; then there is another one
_ANSWER: Final = b"here"


class SingleInstance(QObject):
    """Listens for other processes that open the same recording."""

    wanted = Signal()  # somebody opened the recording again

    def __init__(self, recording: Path, data_dir: Path, parent: QObject) -> None:
        super().__init__(parent)
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._on_connected)
        name = _name(recording, data_dir, is_new=True)
        if name and not self._server.listen(name):
            # Nobody answers there, or this window would not be: a process that was killed left it.
            QLocalServer.removeServer(name)
            self._server.listen(name)

    @property
    def is_listening(self) -> bool:
        """True if others can find this window; without that it is one of several."""
        return self._server.isListening()

    def close(self) -> None:
        self._server.close()

    @Slot()
    def _on_connected(self) -> None:
        while (socket := self._server.nextPendingConnection()) is not None:
            socket.disconnected.connect(socket.deleteLater)
            socket.write(_ANSWER)
            socket.flush()
            self.wanted.emit()


def brought_to_front(recording: Path, data_dir: Path) -> bool:
    """Bring the window that shows `recording` to the front; False when there is none."""
    name = _name(recording, data_dir)
    if not name:
        return False
    socket = QLocalSocket()
    socket.connectToServer(name)
    if not socket.waitForConnected(_CONNECT_MS):
        return False
    is_there = socket.waitForReadyRead(_ANSWER_MS) and bytes(socket.readAll().data()) == _ANSWER
    socket.abort()
    return is_there


def _name(recording: Path, data_dir: Path, *, is_new: bool = False) -> str:
    """The socket's name; empty where there can be none. `is_new` makes its folder."""
    key = hashlib.sha256(str(absolute(recording).resolve()).encode(errors="surrogateescape"))
    digest = key.hexdigest()[:16]
    if sys.platform == "win32":
        user = hashlib.sha256(str(data_dir).encode()).hexdigest()[:16]
        return f"mcp-progress-monitor-{user}-{digest}"
    folder = data_dir / _FOLDER
    path = str(folder / digest)
    if len(path.encode(errors="surrogateescape")) > _LONGEST:
        return ""
    if is_new:
        try:
            private_file.make_folder(folder)
        except OSError:
            return ""
    return path
