"""Another client's job is resumed from the window: shown, approved, running here, done."""

import json
import os
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLabel, QPushButton

from mcp_progress_monitor.engine.call import CallSeries
from mcp_progress_monitor.gui.calls.form import CallDialog
from mcp_progress_monitor.gui.jobs.commands import AUTOMATIC, COPY_SNIPPET, EDIT, REISSUE, RESUME
from mcp_progress_monitor.gui.jobs.pane import JobPane
from mcp_progress_monitor.gui.jobs.row import JobRow
from mcp_progress_monitor.gui.program import Program
from mcp_progress_monitor.gui.servers.consent import ConsentDialog
from mcp_progress_monitor.snapshots.definitions import StdioDefinition
from mcp_progress_monitor.tracker.snapshot import JobSnapshot, JobState
from tests.gui.jobs.job_lists import heard
from tests.gui.programs import until
from tests.gui.saved import running
from tests.integration.resumable import Place, whole
from tests.integration.test_watching_here import agent
from tests.servers.definition import COMMAND

pytestmark = pytest.mark.anyio


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("HOME", str(tmp_path))  # without any other client's files
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return Place(tmp_path)


def the_job(program: Program) -> JobSnapshot | None:
    found = [program.engine.jobs.snapshot(job) for job in program.engine.jobs.ids()]
    return found[0] if found else None


def state(program: Program) -> JobState | None:
    job = the_job(program)
    return None if job is None else job.state


def dialogs(qapp: QApplication) -> list[ConsentDialog]:
    return [w for w in qapp.topLevelWidgets() if isinstance(w, ConsentDialog) and w.isVisible()]


def made_by(pane: JobPane) -> list[str]:
    model = pane.attempts.model
    return [model.index(row, 1).data() for row in range(model.rowCount())]


async def test_the_request_of_a_job_is_edited_here_after_its_command_was_approved(
    qapp: QApplication, place: Place
) -> None:
    def forms() -> list[CallDialog]:
        found = [w for w in qapp.topLevelWidgets() if isinstance(w, CallDialog)]
        return [form for form in found if form.isVisible()]

    async with running(place.data_dir) as program:
        jobs = program.window.job_list
        with agent(place):
            await until(lambda: state(program) is JobState.RESUMABLE)
        await until(lambda: jobs.select(1))
        edit = jobs.commands[EDIT]
        await until(edit.isEnabled)
        edit.trigger()
        await until(lambda: len(dialogs(qapp)) == 1)
        assert forms() == []
        dialogs(qapp)[0].accept()
        await until(lambda: len(forms()) == 1)
        (dialog,) = forms()
        asked = heard(dialog.form.series_requested)
        dialog.form.send()
        (series,) = asked
        assert isinstance(series, CallSeries)
        (call,) = series.calls
        assert (call.server, call.params["name"]) == ("export", "resumable_export")
        assert call.params["arguments"]["chunks_per_attempt"] == 5
        await until(lambda: len(program.engine.jobs.ids()) == 2)
        jobs.commands[COPY_SNIPPET].trigger()
        code = QApplication.clipboard().text()
        assert "resumable_export" in code
        compile(code, "snippet", "exec")
        again = program.engine.jobs.ids()[1]
        await until(lambda: program.engine.jobs.snapshot(again).can_resume)  # type: ignore[union-attr]


async def test_a_job_is_resumed_here_after_its_command_was_approved(
    qapp: QApplication, place: Place
) -> None:
    async with running(place.data_dir) as program:
        jobs = program.window.job_list
        with agent(place):
            await until(lambda: state(program) is JobState.RESUMABLE)
        await until(lambda: jobs.select(1))
        resume = jobs.commands[RESUME]
        await until(resume.isEnabled)
        assert resume.text() == "&Resume here"
        assert program.window.tool_bar.resume_button.text() == "Resume here"
        assert "Resume Agent's job on a connection of this program" in resume.toolTip()
        assert jobs.commands[REISSUE].text() == "Re-&issue here"
        assert not jobs.commands[AUTOMATIC].isEnabled()
        job = the_job(program)
        assert job is not None
        assert JobRow(job, None).buttons == (RESUME,)
        program._navigation.open_job(1)  # noqa: SLF001
        button = program.window.job_pane.header.buttons[RESUME.id]
        await until(lambda: button.isVisible() and button.text() == "Resume here")

        resume.trigger()
        await until(lambda: len(dialogs(qapp)) == 1)
        (dialog,) = dialogs(qapp)
        said = " ".join(label.text() for label in dialog.findChildren(QLabel))
        assert "Agent started this server." in said
        assert program.engine.servers.names() == ()
        dialog.reject()
        await until(lambda: not dialogs(qapp))
        assert state(program) is JobState.RESUMABLE

        resume.trigger()
        await until(lambda: len(dialogs(qapp)) == 1)
        dialogs(qapp)[0].accept()
        await until(lambda: (found := the_job(program)) is not None and found.attempt_count == 2)
        await until(lambda: state(program) is JobState.RESUMABLE)
        job = the_job(program)
        assert job is not None
        assert (job.watched_client, job.begun_by) == (None, "Agent")
        pane = program.window.job_pane
        pane.tabs.setCurrentWidget(pane.attempts)
        await until(lambda: made_by(pane) == ["Agent", "here"])
        await until(lambda: pane.header._numbers.text().startswith("started by Agent · "))  # noqa: SLF001
        jobs.select(1)
        await until(lambda: resume.text() == "&Resume" and resume.isEnabled())
        assert program.window.tool_bar.resume_button.text() == "Resume"
        resume.trigger()  # the server is approved, and connected
        await until(lambda: state(program) is JobState.DONE)
        assert not dialogs(qapp)
    assert place.chunks() == whole()


async def test_of_several_fitting_definitions_the_user_chooses_one(
    qapp: QApplication, place: Place
) -> None:
    command, *options = COMMAND
    entry = {"command": command, "args": [*options, "--state-dir", str(place.state_dir)]}
    for name, variable in ((".claude.json", "PATH"), (".cursor/mcp.json", "HOME")):
        path = place.folder / name
        path.parent.mkdir(exist_ok=True)
        env = {variable: os.environ[variable]}
        path.write_text(json.dumps({"mcpServers": {"export": {**entry, "env": env}}}))
    async with running(place.data_dir) as program:
        with agent(place):
            await until(lambda: state(program) is JobState.RESUMABLE)
        await until(lambda: program.window.job_list.select(1))
        resume = program.window.job_list.commands[RESUME]
        await until(resume.isEnabled)
        resume.trigger()
        await until(lambda: len(dialogs(qapp)) == 1)
        (dialog,) = dialogs(qapp)
        items = [dialog.tree.topLevelItem(row) for row in range(2)]
        places = [item.child(0) for item in items if item is not None]
        sources = [place.text(1).partition(",")[0] for place in places if place is not None]
        assert sources == ["Claude Code", "Cursor"]
        (start,) = [b for b in dialog.findChildren(QPushButton) if "Approve" in b.text()]
        assert not start.isEnabled()
        for item in items:
            assert item is not None
            item.setCheckState(0, Qt.CheckState.Checked)  # which unchecks the other one
        assert len(dialog.approved()) == 1
        start.click()
        await until(lambda: (found := the_job(program)) is not None and found.attempt_count == 2)
        (name,) = program.engine.servers.names()
        definition = program.engine.servers.snapshot(name).definition
        assert isinstance(definition, StdioDefinition)
        assert list(definition.env) == ["HOME"]


async def test_an_open_question_follows_the_files_of_other_clients(
    qapp: QApplication, place: Place
) -> None:
    command, *options = COMMAND
    entry = {"command": command, "args": [*options, "--state-dir", str(place.state_dir)]}
    path = place.folder / ".claude.json"
    path.write_text(json.dumps({"mcpServers": {"export": entry}}))
    async with running(place.data_dir) as program:
        with agent(place):
            await until(lambda: state(program) is JobState.RESUMABLE)
        await until(lambda: program.window.job_list.select(1))
        resume = program.window.job_list.commands[RESUME]
        await until(resume.isEnabled)
        resume.trigger()
        await until(lambda: len(dialogs(qapp)) == 1)
        (dialog,) = dialogs(qapp)
        assert "Claude Code" in dialog.origin
        changed = {**entry, "env": {"PATH": os.environ["PATH"]}}
        path.write_text(json.dumps({"mcpServers": {"export": changed}}))
        await until(lambda: "export was changed" in dialog.news.text())
        (definition,) = dialog.definitions
        assert isinstance(definition, StdioDefinition)
        assert list(definition.env) == ["PATH"]
        await program.engine.jobs.forget([1])
        await until(lambda: not dialogs(qapp))
