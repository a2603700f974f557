"""Every window of the program, each filled with one text wherever somebody else's text goes.

Run as a program, it prints which of them do not fit the screen: a scale is for a whole process.
"""

import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QRect
from PySide6.QtWidgets import QApplication, QWidget

from mcp_progress_monitor.audit.access import AgentAccess
from mcp_progress_monitor.audit.log import AgentName, AuditedAgent, Beginning, Reading
from mcp_progress_monitor.catalogue.catalogue import Catalogue, CatalogueEntry
from mcp_progress_monitor.catalogue.client_files import FoundFile
from mcp_progress_monitor.catalogue.client_servers import ClientFile, read_client_file
from mcp_progress_monitor.catalogue.clients import CURSOR, FORMS, VS_CODE
from mcp_progress_monitor.engine.agent_entry import ReadableServer
from mcp_progress_monitor.engine.call import Call, CallSeries
from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.gui.agents.dialog import AgentsDialog
from mcp_progress_monitor.gui.agents.invite_dialog import InviteDialog
from mcp_progress_monitor.gui.calls.form import CallDialog
from mcp_progress_monitor.gui.calls.memory import SavedCall, SavedCalls
from mcp_progress_monitor.gui.calls.server_page import ServerPage
from mcp_progress_monitor.gui.calls.shelf import SaveCallDialog, SavedCallsDialog
from mcp_progress_monitor.gui.command_palette.palette import Palette, PaletteEntry
from mcp_progress_monitor.gui.common.commands import CommandAction, Commands
from mcp_progress_monitor.gui.common.settings_form import SettingsForm
from mcp_progress_monitor.gui.confirmations import (
    EndAction,
    EndQuestion,
    ForgetQuestion,
    ReissueQuestion,
    RemoveQuestion,
    SeriesQuestion,
)
from mcp_progress_monitor.gui.crash_bar import CrashReportDialog
from mcp_progress_monitor.gui.help.controller import AboutDialog, ReportDialog
from mcp_progress_monitor.gui.help.manual import ManualWindow
from mcp_progress_monitor.gui.jobs.compare import CompareDialog, StatisticsDialog
from mcp_progress_monitor.gui.jobs.mini_window import MiniWindow
from mcp_progress_monitor.gui.jobs.model import JobsModel
from mcp_progress_monitor.gui.main_window import MainWindow
from mcp_progress_monitor.gui.models import Models
from mcp_progress_monitor.gui.notifications.desktop import TrayIcon
from mcp_progress_monitor.gui.preferences import Preferences
from mcp_progress_monitor.gui.questions.settings import RootsDialog, RulesDialog
from mcp_progress_monitor.gui.recordings.bars import RecordingBanner, ReplayBar
from mcp_progress_monitor.gui.recordings.dialog import RecordingsDialog
from mcp_progress_monitor.gui.recordings.serving import ServeDialog
from mcp_progress_monitor.gui.results.controller import PageQuestion
from mcp_progress_monitor.gui.servers.clients_dialog import ClientsDialog, FoundClients
from mcp_progress_monitor.gui.servers.consent import ConsentDialog, SavedServerDialog
from mcp_progress_monitor.gui.servers.doctor_pane import DoctorPane
from mcp_progress_monitor.gui.servers.draft import ServerKind
from mcp_progress_monitor.gui.servers.editor import ServerEditor
from mcp_progress_monitor.gui.servers.export_dialog import ServerExportDialog
from mcp_progress_monitor.gui.servers.machine_dialog import MachineDialog
from mcp_progress_monitor.gui.servers.save_dialog import SaveDialog
from mcp_progress_monitor.gui.servers.secret_dialog import SecretDialog
from mcp_progress_monitor.gui.servers.sign_in import SignInBar
from mcp_progress_monitor.gui.setting_rows import Section
from mcp_progress_monitor.gui.settings.dialog import SettingsDialog, SettingsPage
from mcp_progress_monitor.gui.settings.keys import KeysPage
from mcp_progress_monitor.gui.status_bar import StatusBar
from mcp_progress_monitor.gui.tasks.dialog import ListedTask, TasksDialog
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.gui.tool_bar import SavedServer
from mcp_progress_monitor.gui.traffic.details import MessagesDialog, NoteEditor
from mcp_progress_monitor.gui.traffic.filter_help import FilterHelp
from mcp_progress_monitor.gui.undo import UndoOffer
from mcp_progress_monitor.gui.user_settings import SECTIONS, RecordingChoices
from mcp_progress_monitor.gui.window_commands import MINI, NOTIFICATIONS, QUIT
from mcp_progress_monitor.paths import resource
from mcp_progress_monitor.protocol.facts import NotificationReceived, Side, TaskView
from mcp_progress_monitor.protocol.offers import Prompt, PromptArgument, Resource, Tool
from mcp_progress_monitor.recording.folder import RecordingEntry
from mcp_progress_monitor.secrets.references import NoKeyring
from mcp_progress_monitor.snapshots.definitions import (
    FileWatch,
    HttpDefinition,
    OAuthClient,
    StdioDefinition,
)
from mcp_progress_monitor.snapshots.servers import ServerSnapshot, ServerState, SignIn
from mcp_progress_monitor.snapshots.settings import QuestionRule, QuestionRules, Root
from mcp_progress_monitor.tracker.snapshot import TaskSnapshot
from tests.architecture.source import ROOT
from tests.doctor_stand_ins import CRASHED
from tests.findings import mark
from tests.gui.findings.test_model import BLANK, FLOOD, result
from tests.gui.recordings.test_replay import FakePlayer, replay_of
from tests.job_stand_ins import FakeJobs, course, detail, job, resumable
from tests.question_stand_ins import FakeQuestions, form, page, sampling
from tests.server_stand_ins import FakeServers

FRAME = 32
"""What a desktop's title bar takes from the height of a screen."""


class EveryWindow(QObject):
    """Makes the windows; `words` stand for every name, title, message and value of others."""

    def __init__(self, text: str, folder: Path) -> None:
        super().__init__()
        self._texts = text
        self._folder = folder
        self.kept: list[QWidget] = []
        """What was made; it goes with this object, not while it may still get calls."""
        self.appearance = Appearance(QWidget().palette(), resource("icons"), self)
        self._snapshots = [
            job(id=1, **self._foreign()),
            resumable(2, resume_note=text, **self._foreign()),
            job(id=3, task=TaskSnapshot(text, text, text, is_ours_to_cancel=True)),
        ]
        stdio = StdioDefinition(
            name=text,
            command=text,
            args=(text,),
            env={text: text, "KEY": "${env:X}"},
            cwd=text,
            watch=FileWatch(is_on=True, paths=(text,), patterns=(text,)),
        )
        oauth = OAuthClient(client_id=text, client_secret="${keyring:a/s}", scope=text)
        http = HttpDefinition(
            name="h", url="https://a.example/" + "x" * 200, headers={"X-A": text}, oauth=oauth
        )
        self._stdio, self._http = stdio, http
        tool = Tool(text, text, text * 40, _schema(text), "optional", {})
        argument = PromptArgument(text, text, text, True)
        self._server = ServerSnapshot(
            text,
            stdio,
            state=ServerState.CONNECTED,
            server_info={"name": text, "title": text, "version": text},
            instructions=text,
            tools=(tool,),
            resources=(Resource("file:///" + text, text, text, text, None, None, {}),),
            prompts=(Prompt(text, text, text, (argument,), {}),),
            error=ErrorDetails(text, text, text),
            stderr_tail=(text,),
        )

    def all(self) -> Iterator[tuple[str, QWidget]]:
        """Each window by name; the caller shows and deletes it."""
        self.kept += [self.main(), self.main(is_recording=True)]
        yield "main", self.kept[0]
        yield "recording", self.kept[1]
        for dialog in (self._mini(), *self._dialogs()):
            self.kept.append(dialog)
            name = type(dialog).__name__
            yield f"{name} {dialog.property('case') or ''}".strip(), dialog

    def main(self, *, is_recording: bool = False) -> MainWindow:
        """The window with every pane, all of them made; `is_recording` one of a recording."""
        text = self._texts
        engine = Engine()
        parts = QObject(self)
        models = Models(engine.timeline, parts)
        models.follow(engine)
        source = FakeJobs(*self._snapshots)
        for held in self._snapshots:
            marked = held._replace(marks=(mark("late", text, 1, 1),))
            source.details[held.id] = detail(marked, **course(20))
        models.jobs.set_source(source)
        models.servers.set_source(FakeServers(self._server))
        asked = self._questions()
        models.questions.set_source(asked.questions, asked.snapshot, asked.now)
        params = {"level": "error", "data": text, "logger": text}
        kind = "notifications/message"
        models.server_log.add(
            [NotificationReceived(1, text, 0.0, 1.7e9, Side.SERVER, kind, params, ())]
        )
        found = [result(BLANK, 1, text), result(FLOOD, 2, text, job=1)]
        models.findings.watch.changed.emit(found)
        models.findings.set_ignored([("JR-2", text)])
        status = StatusBar(None, models.servers, models.traffic.timeline, self.appearance)
        why = text if is_recording else ""
        window = MainWindow(models, status, self.appearance, Preferences(self._folder), why)
        outside = [CommandAction(MINI, window), CommandAction(NOTIFICATIONS, window)]
        window.add_to_view_menu(outside)
        TrayIcon(window, self.appearance, tuple, [*outside, window.do[QUIT]])
        window.offer_undo(UndoOffer(window).action)
        models.feed.setParent(window)
        window.middle.show_first(are_any=True)
        window.notices.show_error(ErrorDetails(text, text, text, text))
        window.tool_bar.set_servers([SavedServer(text), SavedServer(text + "2", is_up=True)])
        for step in window.late.steps():
            step()
        window.traffic_pane.make_details()
        window.job_pane.set_source(source)
        window.job_pane.show_job(1)
        window.question_panel.show_question(1)
        window.question_panel.current()  # else it is made in a later turn
        if is_recording:
            banner = RecordingBanner(self._folder / "a.mcprec", self.appearance, window)
            banner.show_errors([ErrorDetails(text, text)])
            window.add_bar(banner)
            replay = replay_of(FakePlayer(0.0, 1.0), window)
            window.add_bar(ReplayBar(replay, None, self.appearance, window))
        else:
            bar = SignInBar(self.appearance, window)
            window.add_bar(bar)
            bar.show_sign_ins([SignIn(text, "https://a.example/" + text)])
        return window

    def _mini(self) -> MiniWindow:
        jobs = JobsModel(self)
        jobs.set_source(FakeJobs(*self._snapshots))
        owner = QWidget()
        self.kept.append(owner)
        return MiniWindow(jobs, self.appearance, Preferences(self._folder), owner)

    def _dialogs(self) -> Iterator[QWidget]:
        text, appearance, folder = self._texts, self.appearance, self._folder
        calls = CallDialog(appearance)
        calls.form.set_servers([self._server])
        calls.form.send()
        yield calls
        yield from self._editors()
        yield self._clients()
        export = ServerExportDialog([text, "b"], FORMS, appearance)
        export.show_text(text * 100, [text] * 30)
        yield export
        yield SecretDialog(text, [text, "API_KEY"])
        yield self._machine()
        yield self._agents()
        yield self._invite()
        yield self._serving()
        yield self._on_save()
        yield ConsentDialog(text, [self._stdio])
        yield _case("several", ConsentDialog(text, [self._stdio, self._http]))
        yield SavedServerDialog(ErrorDetails(text, text), self._stdio)
        yield RemoveQuestion(text, self._snapshots, is_saved=True, secrets=[text] * 12)
        yield from self._questions_about_jobs()
        rule = QuestionRule(mode="answer", delay_s=2, answer={"a": text})
        saved = SavedCalls()
        saved.save(SavedCall(text, text, text, "tools/call", text, {text: text}))
        yield SavedCallsDialog(saved)
        yield SaveCallDialog(next(iter(saved)), saved.folders)
        yield RulesDialog(text, QuestionRules(sampling=rule, form=rule), appearance)
        yield RootsDialog(text, [Root(uri="file:///" + text, name=text)] * 3, appearance)
        runs = [detail(job(id=n, **self._foreign()), **course(20)) for n in (1, 2)]
        yield CompareDialog(runs[0], runs[1], appearance)
        yield StatisticsDialog(FakeJobs(*self._snapshots))
        tasks = TasksDialog(text, appearance)
        tasks.show_tasks([ListedTask(TaskView(text, text, message=text), 1)])
        yield tasks
        doctor = DoctorPane(appearance, Commands())
        doctor.show_report(CRASHED._replace(server=text, address=text), 0.0)
        yield doctor
        recordings = RecordingsDialog(
            folder / text.replace("/", "_"), RecordingChoices(), appearance
        )
        path = folder / (text.replace("/", "_") + ".mcprec")
        recordings.show_entries([RecordingEntry(path, (path,), 900, time.time(), False)])
        yield recordings
        report = folder / "defect-1.log"
        report.write_text(text * 100, encoding="utf-8")
        yield CrashReportDialog(report)
        held = QWidget()
        self.kept.append(held)
        yield FilterHelp(held)
        yield NoteEditor(7, text, held)
        yield MessagesDialog((text, text), (text, text * 2), appearance, held)
        yield from self._settings()
        yield self._palette(held)
        offers = ServerPage(appearance)
        offers.show_server(self._server)
        yield offers
        yield PageQuestion("https://a.example/" + "x" * 900)
        yield AboutDialog(held)
        yield ReportDialog(folder, held)
        yield ManualWindow(held)

    def _on_save(self) -> SaveDialog:
        files = FileWatch(is_on=True, paths=(self._texts,))
        saved = [(self._texts, ())]
        dialog = SaveDialog(self._server, files, saved, self.appearance)
        dialog.show_count(files, 12)
        return dialog

    def _palette(self, held: QWidget) -> Palette:
        text = self._texts
        palette = Palette(self.appearance, held)
        entries = [PaletteEntry("a", text, text, text, "next", str, text)]
        palette.model.set_entries(entries, [text])
        return palette

    def _settings(self) -> Iterator[QWidget]:
        held, look, text = self.kept[0], self.appearance, self._texts
        assert isinstance(held, MainWindow)
        facts = {"folder": str(self._folder / text.replace("/", "_"))}

        def page(section: type[Section], on: QWidget) -> QWidget:
            return SettingsForm(section(), look, on, [text, "b"], facts)

        pages = [
            *(
                SettingsPage(each.key, each.title, each.icon, partial(page, each))
                for each in SECTIONS
            ),
            SettingsPage("keys", "Keys", "edit", lambda on: KeysPage(held.shortcuts, look, on)),
        ]
        for each in pages:
            dialog = SettingsDialog(pages, look)
            dialog.open_page(each.key)
            yield _case(each.key, dialog)

    def _editors(self) -> Iterator[QWidget]:
        for kind, definition in ((ServerKind.COMMAND, self._stdio), (ServerKind.URL, self._http)):
            for place in range(3):
                entry = CatalogueEntry(definition, origin=self._texts)
                editor = ServerEditor(self.appearance, entry=entry)
                editor.set_keyring(ErrorDetails(self._texts, self._texts))
                editor.show_refusal(ErrorDetails(self._texts, self._texts))
                editor.tabs.setCurrentIndex(place)
                yield _case(f"{kind.name.lower()} {place}", editor)

    def _questions_about_jobs(self) -> Iterator[QWidget]:
        running = [*self._snapshots, job(id=4, chain=7, saved_when=time.time())]
        many = [each._replace(id=10 * n + each.id) for n in range(20) for each in running]
        yield ForgetQuestion(many)
        yield ReissueQuestion(many)
        calls = tuple([Call(self._texts, "tools/call", {})] * 3_000)
        yield SeriesQuestion(CallSeries(calls), self._texts, self._texts)
        for action in EndAction:
            question = EndQuestion(action)
            question.add(many, self._texts)
            yield _case(action.value, question)

    def _clients(self) -> ClientsDialog:
        text = self._texts
        path = self._folder / "mcp.json"
        inputs = [
            {"id": text, "description": text, "password": True},
            {"id": "r", "description": text, "options": [text, "b"]},
        ]
        server = {"command": text, "args": ["${input:r}"], "env": {text: f"${{input:{text}}}"}}
        servers = {text: server, "b": server, "broken": {"args": ["x"]}}
        path.write_text(json.dumps({"inputs": inputs, "servers": servers}), encoding="utf-8")
        found = FoundFile(VS_CODE, path)
        file = read_client_file(path, found, Catalogue(None), NoKeyring(), {})
        bad = ClientFile(
            self._folder / text.replace("/", "_"), CURSOR, (), (ErrorDetails(text, text),)
        )
        dialog = ClientsDialog(self.appearance)
        dialog.show_found(FoundClients([file, bad], {}, {}))
        dialog.show_file(file, {}, is_chosen=True)
        dialog.tick("b", 2, is_on=True)
        dialog.show_preview(dialog.watch_request(), [text] * 60)
        dialog.show_done(text)
        return dialog

    def _serving(self) -> ServeDialog:
        text = self._texts
        dialog = ServeDialog(self._folder / text.replace("/", "_"))
        dialog.show_url("http://127.0.0.1:65535/mcp")
        dialog.add_request(text)
        dialog.show_stopped(ErrorDetails(text, text))
        return dialog

    def _agents(self) -> AgentsDialog:
        text = self._texts
        read = Reading(
            when=1.7e9, what=text, arguments=text, servers=(text,), jobs=(text,), size=900
        )
        agent = AuditedAgent(
            self._folder / "a.jsonl",
            is_live=True,
            beginning=Beginning(when=1.7e9, pid=7, servers=(text, text)),
            name=AgentName(when=1.7e9, name=text, title=text, version=text),
            readings=(read,) * 30,
            damaged=2,
        )
        dialog = AgentsDialog(self.appearance)
        dialog.show_agents([agent] * 3, AgentAccess(is_off=True), [ErrorDetails(text, text)])
        dialog.table.selectRow(0)
        return dialog

    def _invite(self) -> InviteDialog:
        text = self._texts
        dialog = InviteDialog(self._folder, self.appearance)
        servers = [ReadableServer(f"{text}{n}", text, is_here=True) for n in range(30)]
        dialog.show_choices({"cursor": self._folder / text.replace("/", "_")}, servers)
        dialog.show_refusal(ErrorDetails(text, text))
        return dialog

    def _machine(self) -> MachineDialog:
        """A command as long as any, and why it is not watched."""
        dialog = MachineDialog(self.appearance)
        dialog.command.setText(self._texts)
        dialog.show_error(ErrorDetails(self._texts, self._texts))
        return dialog

    def _questions(self) -> FakeQuestions:
        expected = self._texts
        message = {"role": "user", "content": {"type": "text", "text": expected}}
        return FakeQuestions(
            form(server=expected, message=expected, schema=_schema(expected)),
            page("https://a.example/" + "x" * 300, server=expected, message=expected),
            sampling(message, server=expected),
        )

    def _foreign(self) -> dict[str, Any]:
        text = self._texts
        fields = ("server", "method", "name", "summary", "token", "message")
        return dict.fromkeys(fields, text)


def _case(text: str, widget: QWidget) -> QWidget:
    widget.setProperty("case", text)
    return widget


def _schema(message: str) -> dict[str, Any]:
    text = {"type": "string", "title": message, "description": message}
    fields: dict[str, Any] = {
        message: text,
        "flag": {"type": "boolean", "description": message},
        "choice": {"enum": [message, "b"]},
        "many": {"type": "array", "items": {"enum": [message, "b"]}},
        "list": {"type": "array", "items": text, "default": [message]},
        "inner": {"type": "object", "properties": {message: text}, "required": [message]},
        "either": {"oneOf": [{"title": message, "type": "string"}, {"type": "integer"}]},
    }
    return {"type": "object", "properties": fields, "required": [message, "inner", "list"]}


def screen_environ(width: int, height: int, scale: float, folder: Path) -> dict[str, str]:
    """The environment in which Qt has such a screen; what describes it is put into `folder`."""
    screen = {"name": "small", "x": 0, "y": 0, "width": width, "height": height}
    dots = {"logicalDpi": 96, "logicalBaseDpi": 96, "dpr": 1}
    path = folder / f"{width}x{height}.json"
    path.write_text(json.dumps({"screens": [{**screen, **dots}]}), encoding="utf-8")
    return {
        **os.environ,
        # Its parts are divided by colons, which Windows has in whole paths.
        "QT_QPA_PLATFORM": f"offscreen:configfile={Path(os.path.relpath(path, ROOT)).as_posix()}",
        "QT_SCALE_FACTOR": str(scale),
    }


def misfits(width: int, height: int) -> list[str]:
    """The windows that are larger than the screen, or cannot be made as small as these sizes."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        every = EveryWindow("a name of usual length", Path(folder))
        for name, widget in every.all():
            widget.show()
            QApplication.processEvents()
            QApplication.processEvents()
            room: QRect = widget.screen().availableGeometry()
            least, size = widget.minimumSizeHint(), widget.size()
            is_small = least.width() <= width and least.height() <= height
            is_inside = size.width() <= room.width() and size.height() <= room.height() - FRAME
            if not (is_small and is_inside):
                sizes = f"{size.width()}x{size.height()}, least {least.width()}x{least.height()}"
                found.append(f"{name}: {sizes}, screen {room.width()}x{room.height()}")
            if len(sys.argv) > 3:
                widget.grab().save(str(Path(sys.argv[3], name.replace(" ", "-") + ".png")))
            widget.close()
    return found


if __name__ == "__main__":
    _application = QApplication(sys.argv[:1])
    sys.stdout.write(json.dumps(misfits(int(sys.argv[1]), int(sys.argv[2])), indent=1))
