"""Shows the questions of servers, passes on answers, and sets rules and roots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot

from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.gui.common.layout import open_dialog
from mcp_progress_monitor.gui.common.web_pages import open_page
from mcp_progress_monitor.snapshots.questions import BY_RULE
from mcp_progress_monitor.wording.questions import kind_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mcp_progress_monitor.engine.engine import Engine
    from mcp_progress_monitor.gui.feed import Feed
    from mcp_progress_monitor.gui.panes import LazyPane
    from mcp_progress_monitor.gui.questions.panel import QuestionPanel
    from mcp_progress_monitor.gui.theme import Appearance
    from mcp_progress_monitor.snapshots.questions import Answer, Question
    from mcp_progress_monitor.snapshots.settings import QuestionRules, Root
    from mcp_progress_monitor.tracker.snapshot import JobId


class QuestionsController(QObject):
    """Connects the engine's questions to their pane."""

    def __init__(
        self,
        pane: LazyPane[QuestionPanel],
        engine: Engine,
        feed: Feed,
        show_count: Callable[[int, bool], None],
        appearance: Appearance,
        report: Callable[[ErrorDetails], None],
    ) -> None:
        """`show_count` is given the number of open questions, and if one of them is new."""
        super().__init__(pane.dock)
        self._pane = pane
        self._show_count = show_count
        self._engine = engine
        self._appearance = appearance
        self._report = report
        self._known: frozenset[int] = frozenset()
        # After the model's own connection: then the panel has all views.
        feed.questions_changed.connect(self._on_questions_changed)
        pane.when_made(self._join_panel)

    def _join_panel(self) -> None:
        self._pane.pane().answer_requested.connect(self.answer)
        self._pane.pane().link_opened.connect(self.open_link)

    @Slot(object, object)
    def answer(self, question: int, answer: Answer) -> None:
        """Answer a question; an error is shown at the question."""
        try:
            self._engine.questions.answer(question, answer)
        except UserError as error:
            self._pane.pane().show_error(question, error.details)

    def show_job(self, job: JobId) -> None:
        """Show the question that a job waits for, and focus it."""
        panel = self._pane.pane()
        if not panel.show_job(job):
            found = self._engine.jobs.snapshot(job)
            what = "This job has no open question"
            self._report(ErrorDetails(what, "" if found is None else found.server))
            return
        self._pane.open()
        panel.focus()

    @Slot(object)
    def open_link(self, url: str) -> None:
        """Open a URL that the user has seen and clicked."""
        error = open_page(url)
        if error is not None:
            self._report(error)

    @Slot(str)
    def ask_for_rules(self, server: str) -> None:
        from mcp_progress_monitor.gui.questions.settings import RulesDialog

        rules = self._engine.servers.snapshot(server).settings.rules
        dialog = RulesDialog(server, rules, self._appearance, self._pane.dock.window())
        dialog.rules_chosen.connect(self.set_rules)
        open_dialog(dialog)

    @Slot(str)
    def ask_for_roots(self, server: str) -> None:
        from mcp_progress_monitor.gui.questions.settings import RootsDialog  # late, as above

        roots = self._engine.servers.snapshot(server).settings.roots
        dialog = RootsDialog(server, roots, self._appearance, self._pane.dock.window())
        dialog.roots_chosen.connect(self.set_roots)
        open_dialog(dialog)

    @Slot(str, object)
    def set_rules(self, server: str, rules: QuestionRules) -> None:
        try:
            self._engine.settings.set_question_rules(server, rules)
        except UserError as error:
            self._report(error.details)

    @Slot(str, object)
    def set_roots(self, server: str, roots: Iterable[Root]) -> None:
        try:
            self._engine.settings.set_roots(server, roots)
        except UserError as error:
            self._report(error.details)

    @Slot(str, object)
    def set_log_level(self, server: str, level: str | None) -> None:
        try:
            self._engine.settings.set_log_level(server, level)
        except UserError as error:
            self._report(error.details)

    @Slot(object)
    def _on_questions_changed(self, changed: frozenset[int]) -> None:
        now = frozenset(question.id for question in self._engine.questions.open())
        self._show_count(len(now), bool(now - self._known))
        self._known = now
        ended = (self._engine.questions.find(each) for each in changed - now)
        for question in ended:
            # Folders are always answered by a rule: not worth a notice.
            if question is not None and question.ended == BY_RULE and question.kind != "roots":
                self._report_rule(question)

    def _report_rule(self, question: Question) -> None:
        """Report that a rule has answered; repeated texts are shown once."""
        what = "A rule answered automatically when a server {asks}".format(
            asks=kind_text(question.kind).replace("asks", "asked", 1)
        )
        hint = 'To change this, choose "Rules for questions" in the server\'s menu.'
        self._report(ErrorDetails(what, question.server, hint))
