"""Questions of a real server in the window: opened, answered, reported, by a rule or the user."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QLineEdit

from mcp_progress_monitor.engine.call import Call, Outcome
from mcp_progress_monitor.gui.jobs.commands import ANSWER
from mcp_progress_monitor.gui.program import Program
from mcp_progress_monitor.gui.questions.bodies import SamplingBody
from mcp_progress_monitor.gui.questions.panel import QuestionView
from mcp_progress_monitor.snapshots.definitions import Era
from mcp_progress_monitor.snapshots.settings import QuestionRule, QuestionRules
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.gui.programs import until
from tests.gui.saved import running
from tests.servers.definition import server_definition

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def connected(folder: Path, era: Era = "handshake") -> AsyncIterator[Program]:
    async with running(folder) as program:
        program.engine.servers.add(server_definition(era=era))
        await program.engine.servers.connect("demo")
        yield program


def ask(program: Program, tool: str, **arguments: Any) -> list[Outcome]:
    """Have a tool called; its outcome is put into the list returned."""
    outcomes: list[Outcome] = []

    async def call() -> None:
        params = {"name": tool, "arguments": arguments}
        outcomes.append(await program.engine.calls.make(Call("demo", "tools/call", params)))

    program.calls._tasks.start(tool, call)  # noqa: SLF001  # who waits for it is the test
    return outcomes


def views(program: Program) -> list[QuestionView]:
    found = (
        program.window.question_panel.view(question.id)
        for question in program.engine.questions.open()
    )
    return [view for view in found if view is not None]


def dock_is_open(program: Program) -> bool:
    return not program.window.docks["questions"].isHidden()


@pytest.mark.parametrize("era", ["handshake", "per-request"])
async def test_two_questions_are_answered_side_by_side_and_the_call_goes_on(
    data_dir: Path, era: Era
) -> None:
    async with connected(data_dir, era) as program:
        window = program.window
        outcomes = ask(
            program, "ask_while_working", steps=3, at_step=1, questions=2, interval_s=0.01
        )
        await until(lambda: len(views(program)) == 2)
        assert dock_is_open(program)
        assert window.docks["questions"].windowTitle() == "Questions (2)"
        job = program.engine.jobs.snapshot(1)
        assert job is not None
        assert job.state is JobState.NEEDS_YOU
        first = views(program)[0]
        (name,) = (e for e in first.body.findChildren(QLineEdit) if e.accessibleName() == "name")
        name.setText("A")
        name.textEdited.emit("A")
        second = views(program)[1].body
        assert isinstance(second, SamplingBody)
        second.answer_text.setPlainText("A model")
        views(program)[1].accept.click()
        await until(lambda: len(views(program)) == 1)
        assert name.text() == "A"
        first.accept.click()
        assert first.note.text()
        name.setText("Ada")
        name.textEdited.emit("Ada")
        first.accept.click()
        await until(lambda: bool(outcomes))
        await until(lambda: not dock_is_open(program))
        window.job_list.select(1)
        program.window.open_dock("job")
        pane = window.job_pane
        pane.tabs.setCurrentWidget(pane.server_requests)
        await until(lambda: pane.server_requests.model.rowCount() == 2)
        answers = [pane.server_requests.model.index(row, 2).data() for row in range(2)]
        assert answers[0] == 'accepted: name="Ada"'
        assert answers[1].endswith(": A model")


async def test_the_answer_button_of_a_row_brings_its_question_up(data_dir: Path) -> None:
    async with connected(data_dir) as program:
        window = program.window
        ask(program, "ask_form", fields="name")
        await until(lambda: bool(views(program)))
        window.open_dock("traffic")
        window.commands.run(ANSWER, 1)
        assert window.question_panel.isVisible()
        assert window.question_panel.current() is views(program)[0]


async def test_a_pane_that_has_the_focus_stays_in_front(data_dir: Path) -> None:
    async with connected(data_dir) as program:
        window = program.window
        window.activateWindow()
        window.open_dock("traffic")
        window.traffic_pane.view.setFocus()
        ask(program, "ask_form", fields="name")
        await until(lambda: bool(views(program)))
        await until(lambda: dock_is_open(program))
        await until(lambda: not window.traffic_pane.visibleRegion().isEmpty())
        assert window.traffic_pane.view.hasFocus()


async def test_a_page_is_opened_by_a_click_and_no_other_than_the_one_shown(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def note(url: Any) -> bool:
        opened.append(url.toString())
        return True

    monkeypatch.setattr(QDesktopServices, "openUrl", note)
    async with connected(data_dir) as program:
        link = "https://example.com/sign-in?x=1"
        ask(program, "ask_url", url=link)
        await until(lambda: bool(views(program)))
        assert opened == []
        program.window.question_panel.link_opened.emit(link)
        program.window.question_panel.link_opened.emit("javascript:alert(1)")
        assert opened == [link]
        assert program.window.notices.errors()[-1].what == "Cannot open the page"


async def test_a_rule_answers_automatically_and_that_is_reported_once(data_dir: Path) -> None:
    async with connected(data_dir) as program:
        rules = QuestionRules(form=QuestionRule(mode="decline"))
        program.questions.set_rules("demo", rules)
        done = [ask(program, "ask_form", fields="name") for _ in range(2)]
        await until(lambda: all(done))
        await until(lambda: bool(program.window.notices.errors()))
        texts = [error.what for error in program.window.notices.errors()]
        assert texts == ["A rule answered automatically when a server asked you to fill in a form"]
        assert not dock_is_open(program)
        assert program.engine.servers.snapshot("demo").settings.rules == rules


async def test_what_is_set_for_a_server_is_there_after_a_restart(data_dir: Path) -> None:
    rules = QuestionRules(sampling=QuestionRule(mode="decline", delay_s=3))
    async with connected(data_dir) as program:
        program.questions.set_rules("demo", rules)
        program.questions.set_log_level("demo", "error")
    async with running(data_dir) as program:
        program.engine.servers.add(server_definition(era="handshake"))
        kept = program.engine.servers.snapshot("demo").settings
        assert (kept.rules, kept.log_level) == (rules, "error")


async def test_a_question_that_the_server_takes_back_is_gone(data_dir: Path) -> None:
    async with connected(data_dir) as program:
        ask(program, "question_cancelled", after_s=2)  # not before it is shown
        await until(lambda: bool(views(program)))
        question = program.engine.questions.open()[0].id
        await until(lambda: not dock_is_open(program))
        program.window.question_panel.answer_requested.emit(question, None)
        await anyio.lowlevel.checkpoint()
        assert views(program) == []
