"""The open questions of servers side by side, one of them in full."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import (
    QEvent,
    QModelIndex,
    QPersistentModelIndex,
    QSize,
    Qt,
    QTimer,
    Signal,
    Slot,
)
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QListView, QSplitter, QStackedWidget, QStyleOptionViewItem, QWidget

from mcp_progress_monitor.gui.common.controls import EmptyNote, recolour
from mcp_progress_monitor.gui.common.layout import controls_in, in_column, order_tabs
from mcp_progress_monitor.gui.common.side_delegate import SideDelegate
from mcp_progress_monitor.gui.questions.model import ABOUT, QUESTION, QuestionsModel
from mcp_progress_monitor.gui.questions.view import QuestionView
from mcp_progress_monitor.gui.theme import GAP, Tone
from mcp_progress_monitor.snapshots.questions import Question

if TYPE_CHECKING:
    from PySide6.QtGui import QHideEvent, QPainter, QShowEvent

    from mcp_progress_monitor.errors import ErrorDetails
    from mcp_progress_monitor.gui.theme import Appearance
    from mcp_progress_monitor.tracker.snapshot import JobId

_Index = QModelIndex | QPersistentModelIndex


class QuestionDelegate(SideDelegate):
    """Paints a question: two lines beside an icon."""

    def sizeHint(self, option: QStyleOptionViewItem, _index: _Index) -> QSize:
        return QSize(120, 2 * option.fontMetrics.height() + GAP + 2)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        painter.save()
        area = self.begin(painter, option, "state-needs-you", Tone.WARNING)
        first = area.adjusted(0, 2, 0, 0)
        first.setHeight(area.height() // 2 - 1)
        second = first.translated(0, first.height())
        face = self.faces(option.font).first
        self.write(painter, face, first, str(index.data()), Tone.TEXT)
        self.write(painter, face, second, str(index.data(ABOUT)), Tone.MUTED)
        painter.restore()


_SECOND_MS: Final = 1000


class QuestionPanel(QWidget):
    """Shows a `QuestionsModel`; each question keeps its own view and input.

    The view is made when the question is first shown: a form takes some milliseconds, and a server
    may ask a hundred questions in a moment. One that comes never takes the place of the one that is
    being answered, nor the focus.
    """

    answer_requested = Signal(object, object)  # the question's id and the `Answer`
    link_opened = Signal(object)  # `str`: an address that the user clicked to open
    job_opened = Signal(object)  # `JobId` of a question

    def __init__(
        self, questions: QuestionsModel, appearance: Appearance, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._questions = questions
        self._appearance = appearance
        self._views: dict[int, QuestionView] = {}
        self._controls: list[QWidget] = []
        self.list = QListView(self)
        self._stack = QStackedWidget(self)
        self._second = QTimer(self)
        self._second.setInterval(_SECOND_MS)
        self._second.timeout.connect(self._on_second)
        self._set_up_list()
        self._lay_out()
        questions.rowsInserted.connect(self._choose_any)
        questions.rowsAboutToBeRemoved.connect(self._on_rows_going)
        questions.rowsRemoved.connect(self._choose_any)
        questions.dataChanged.connect(self._on_data_changed)
        questions.modelReset.connect(self._on_reset)
        appearance.changed.connect(self._on_recoloured)
        self._on_reset()

    def current(self) -> QuestionView | None:
        shown = self._stack.currentWidget()
        return shown if isinstance(shown, QuestionView) else None

    def view(self, question: int) -> QuestionView | None:
        """The view of an open question, made now if it was never shown; None when there is none."""
        row = None if question in self._views else self._questions.row_of(question)
        if row is not None:
            self._add(self._questions.questions()[row])
        return self._views.get(question)

    @Slot(object)
    def show_question(self, question: int) -> bool:
        row = self._questions.row_of(question)
        if row is not None:
            self.list.setCurrentIndex(self._questions.index(row))
        return row is not None

    def show_job(self, job: JobId) -> bool:
        found = self._questions.first_of(job)
        return found is not None and self.show_question(found.id)

    def show_problem(self, question: int, problem: ErrorDetails) -> None:
        view = self.view(question)
        if view is not None:
            view.show_problem(problem)

    def focus(self) -> None:
        view = self.current()
        fields = [] if view is None else [each for each in controls_in(view.body) if _is_used(each)]
        (fields[0] if fields else self.list).setFocus(Qt.FocusReason.ShortcutFocusReason)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._on_second()
        self._second.start()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._second.stop()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() is QEvent.Type.PaletteChange:
            self._appearance.follow(QGuiApplication.palette())

    def _set_up_list(self) -> None:
        view = self.list
        view.setModel(self._questions)
        view.setItemDelegate(QuestionDelegate(self._appearance, view))
        view.setFrameShape(view.Shape.NoFrame)
        view.setMouseTracking(True)
        view.setUniformItemSizes(True)
        view.setEditTriggers(view.EditTrigger.NoEditTriggers)
        view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        view.setMinimumWidth(view.fontMetrics().averageCharWidth() * 16)
        view.viewport().setAutoFillBackground(False)
        view.setAccessibleName("Open questions from servers")
        view.selectionModel().currentChanged.connect(self._on_current_changed)

    def _lay_out(self) -> None:
        nothing = EmptyNote("No open questions", self._appearance, self)
        self._stack.addWidget(nothing)
        halves = QSplitter(self)
        halves.setChildrenCollapsible(False)
        halves.addWidget(self.list)
        halves.addWidget(self._stack)
        halves.setStretchFactor(1, 1)
        halves.setSizes([190, 700])
        in_column(halves, of=self, margins=0)

    def _add(self, question: Question) -> None:
        view = QuestionView(question, self._appearance, self)
        view.answer_requested.connect(self.answer_requested)
        view.link_opened.connect(self.link_opened)
        view.job_opened.connect(self.job_opened)
        view.remade.connect(self._on_controls_remade)
        self._views[question.id] = view
        self._stack.addWidget(view)
        view.follow(question, self._questions.about(question))

    def _drop(self, question: int) -> None:
        view = self._views.pop(question, None)
        if view is not None:
            self._stack.removeWidget(view)
            view.hide()
            view.deleteLater()

    def _follow(self) -> None:
        for question in self._questions.questions():
            view = self._views.get(question.id)
            if view is not None:
                view.follow(question, self._questions.about(question))

    @Slot()
    def _on_reset(self) -> None:
        for known in tuple(self._views):
            self._drop(known)
        self._choose_any()

    @Slot(QModelIndex, int, int)
    def _on_rows_going(self, _parent: QModelIndex, first: int, last: int) -> None:
        for question in self._questions.questions()[first : last + 1]:
            self._drop(question.id)

    @Slot()
    def _choose_any(self) -> None:
        """Show the oldest question, where none is shown that is still open."""
        if not self.list.currentIndex().isValid() and self._questions.rowCount():
            self.list.setCurrentIndex(self._questions.index(0))
        self._show_current()

    @Slot(QModelIndex, QModelIndex)
    def _on_current_changed(self, _current: QModelIndex, _before: QModelIndex) -> None:
        self._show_current()

    def _show_current(self) -> None:
        question = self.list.currentIndex().data(QUESTION)
        view = self.view(question.id) if isinstance(question, Question) else None
        if view is None:
            self._stack.setCurrentIndex(0)
        else:
            self._stack.setCurrentWidget(view)
        self._on_controls_remade()

    @Slot()
    def _on_data_changed(self) -> None:
        self._follow()

    @Slot()
    def _on_recoloured(self) -> None:
        self.list.viewport().update()
        recolour(self, self._appearance)

    @Slot()
    def _on_second(self) -> None:
        self._questions.tick()

    @Slot()
    def _on_controls_remade(self) -> None:
        view = self.current()
        controls: list[QWidget] = [self.list]
        controls += [] if view is None else controls_in(view)
        if controls != self._controls:
            self._controls = controls
            if view is not None:
                order_tabs(view)


def _is_used(control: QWidget) -> bool:
    return control.isEnabled() and not control.isHidden()
