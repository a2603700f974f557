"""What the window does with the questions of servers: shows them, hands on answers and rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, QUrl, Slot
from PySide6.QtGui import QDesktopServices

from mcp_progress_monitor.models.question_texts import kind_words
from mcp_progress_monitor.models.url_parts import url_parts
from mcp_progress_monitor.problem import Problem, ProblemError
from mcp_progress_monitor.sessions.questions import BY_RULE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from PySide6.QtWidgets import QDialog

    from mcp_progress_monitor.monitor import Monitor
    from mcp_progress_monitor.sessions.answers import Answer
    from mcp_progress_monitor.sessions.questions import Question
    from mcp_progress_monitor.sessions.rules import QuestionRules, Root
    from mcp_progress_monitor.shell.main_window import MainWindow
    from mcp_progress_monitor.shell.models import Models
    from mcp_progress_monitor.tracker.snapshot import JobId
    from mcp_progress_monitor.widgets.appearance import Appearance


class Questioning(QObject):
    """Joins the questions of a monitor to the window that shows them; a child of the window."""

    def __init__(
        self,
        window: MainWindow,
        monitor: Monitor,
        models: Models,
        appearance: Appearance,
        tell: Callable[[Problem], None],
    ) -> None:
        super().__init__(window)
        self._window = window
        self._monitor = monitor
        self._appearance = appearance
        self._tell = tell
        self._known: frozenset[int] = frozenset()
        # After the model, which has been connected before: then the panel has all views.
        models.feed.questions_changed.connect(self._on_questions_changed)
        window.late.questions.when_made(self._join_panel)
        window.job_list.answer_requested.connect(self.show_job)
        window.servers.rules_requested.connect(self.ask_for_rules)
        window.servers.roots_requested.connect(self.ask_for_roots)
        window.servers.log_level_requested.connect(self.set_log_level)

    def _join_panel(self) -> None:
        self._window.question_panel.answer_requested.connect(self.answer)
        self._window.question_panel.link_opened.connect(self.open_link)

    @Slot(object, object)
    def answer(self, question: int, answer: Answer) -> None:
        """Answer a question; why that cannot be is told at the question."""
        try:
            self._monitor.answer(question, answer)
        except ProblemError as error:
            self._window.question_panel.show_problem(question, error.problem)

    @Slot(object)
    def show_job(self, job: JobId) -> None:
        """Bring up what a job waits for, and put the cursor there."""
        panel = self._window.question_panel
        if not panel.show_job(job):
            found = self._monitor.snapshot(job)
            what = self.tr("Nothing is asked for this job at the moment")
            self._tell(Problem(what, "" if found is None else found.server))
            return
        self._window.open_dock("questions")
        panel.focus()

    @Slot(object)
    def open_link(self, url: str) -> None:
        """Open a page in the browser that the user has seen the whole address of, and clicked."""
        parts = url_parts(url)
        address = QUrl(url, QUrl.ParsingMode.StrictMode)
        if parts.refusal or not address.isValid() or not _is_of_host(address, parts.host):
            what = self.tr("The page is not opened")
            self._tell(Problem(what, parts.shown[:200], parts.refusal or address.errorString()))
        elif not QDesktopServices.openUrl(address):
            hint = self.tr("Copy the address and open it yourself.")
            self._tell(Problem(self.tr("No browser could be started"), parts.host, hint))

    @Slot(str)
    def ask_for_rules(self, server: str) -> None:
        """Show the rules for what a server asks."""
        from mcp_progress_monitor.widgets.rules_dialog import (
            RulesDialog,  # as in `dialogs`: not for every start
        )

        rules = self._monitor.server(server).settings.rules
        dialog = RulesDialog(server, rules, self._appearance, self._window)
        dialog.rules_chosen.connect(self.set_rules)
        _open(dialog)

    @Slot(str)
    def ask_for_roots(self, server: str) -> None:
        """Show the folders that a server may use."""
        from mcp_progress_monitor.widgets.roots_dialog import RootsDialog  # idem

        roots = self._monitor.server(server).settings.roots
        dialog = RootsDialog(server, roots, self._appearance, self._window)
        dialog.roots_chosen.connect(self.set_roots)
        _open(dialog)

    @Slot(str, object)
    def set_rules(self, server: str, rules: QuestionRules) -> None:
        """Answer a server's questions by other rules."""
        try:
            self._monitor.set_question_rules(server, rules)
        except ProblemError as error:
            self._tell(error.problem)

    @Slot(str, object)
    def set_roots(self, server: str, roots: Iterable[Root]) -> None:
        """Let a server use other folders."""
        try:
            self._monitor.set_roots(server, roots)
        except ProblemError as error:
            self._tell(error.problem)

    @Slot(str, object)
    def set_log_level(self, server: str, level: str | None) -> None:
        """Ask a server for other log messages."""
        try:
            self._monitor.set_log_level(server, level)
        except ProblemError as error:
            self._tell(error.problem)

    @Slot(object)
    def _on_questions_changed(self, changed: frozenset[int]) -> None:
        now = frozenset(question.id for question in self._monitor.questions())
        self._window.show_questions(len(now), is_new=bool(now - self._known))
        self._known = now
        ended = (self._monitor.question(each) for each in changed - now)
        for question in ended:
            # Folders are given by a rule from the beginning: that is no news.
            if question is not None and question.ended == BY_RULE and question.kind != "roots":
                self._tell_of_rule(question)

    def _tell_of_rule(self, question: Question) -> None:
        """Say that a rule has answered; the same words again are shown once."""
        what = self.tr("A rule answered by itself when a server {asks}").format(
            asks=kind_words(question.kind).replace("asks", "asked", 1)
        )
        hint = self.tr('"Rules for questions" in the menu of the server changes that.')
        self._tell(Problem(what, question.server, hint))


def _is_of_host(address: QUrl, shown: str) -> bool:
    """Whether the browser is sent to the very host that was shown, whatever Qt reads."""
    plain = QUrl.ComponentFormattingOption
    read = {address.host(option).casefold() for option in (plain.FullyEncoded, plain.FullyDecoded)}
    host = shown.rpartition(":")[0] if address.port() >= 0 else shown
    return host.casefold().strip("[]") in read


def _open(dialog: QDialog) -> None:
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.open()
