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
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QListView,
    QPushButton,
    QScrollArea,
    QSplitter,
    QStackedWidget,
    QStyleOptionViewItem,
    QWidget,
)

from mcp_progress_monitor import formatting
from mcp_progress_monitor.gui.common.commands import KeyAction
from mcp_progress_monitor.gui.common.controls import (
    EmptyNote,
    plain_label,
    push_button,
    set_text_colour,
)
from mcp_progress_monitor.gui.common.layout import controls_in, in_column, in_row, order_tabs
from mcp_progress_monitor.gui.common.side_delegate import SideDelegate, dress_side_list
from mcp_progress_monitor.gui.page_commands import ACCEPT
from mcp_progress_monitor.gui.questions.bodies import (
    ElicitationBody,
    RootsBody,
    SamplingBody,
    UrlBody,
)
from mcp_progress_monitor.gui.questions.model import ABOUT, QUESTION, QuestionsModel
from mcp_progress_monitor.gui.theme import GAP, GAP_S, Appearance, Tone, emphasised
from mcp_progress_monitor.snapshots.questions import Dismiss, Question
from mcp_progress_monitor.wording.questions import kind_text, message_of

if TYPE_CHECKING:
    from PySide6.QtGui import QHideEvent, QPainter, QShowEvent

    from mcp_progress_monitor.errors import ErrorDetails
    from mcp_progress_monitor.gui.questions.bodies import QuestionBody
    from mcp_progress_monitor.gui.theme import Appearance
    from mcp_progress_monitor.snapshots.questions import Answer
    from mcp_progress_monitor.tracker.snapshot import JobId

_BODIES: Final[dict[str, type[QuestionBody]]] = {
    "form": ElicitationBody,
    "url": UrlBody,
    "sampling": SamplingBody,
    "roots": RootsBody,
}


class QuestionView(QWidget):
    """One question; emits the answer as a signal and keeps the input until the question closes."""

    answer_requested = Signal(object, object)  # the question's id and the `Answer`
    link_opened = Signal(object)  # `str`: an address that the user clicked to open
    job_opened = Signal(object)  # `JobId` of the question
    remade = Signal()  # there may be other controls than before

    def __init__(
        self, question: Question, appearance: Appearance, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.question = question
        self._appearance = appearance
        self.body = _BODIES[question.kind](question, appearance, self)
        self.body.remade.connect(self.remade)
        self.body.link_opened.connect(self.link_opened)
        server = formatting.one_line(question.server, 80)
        self.head = plain_label(self, f"{server} {kind_text(question.kind)}")
        self.head.setFont(emphasised(self.head.font()))
        self.about = plain_label(self)
        set_text_colour(self.about, appearance, Tone.MUTED)
        self.note = plain_label(self)
        self.note.hide()
        self.accept = self._button(self.body.accept_text, self._on_accept)
        self.accept.setDefault(True)
        self.decline = self._button(self.body.decline_text, self._on_decline)
        self.decline.setToolTip("Decline the request")
        self.dismiss = self._button(self.body.dismiss_text, self._on_dismiss)
        self.dismiss.setToolTip("Dismiss the question without accepting or declining")
        self.json = self._button("Ra&w JSON", None)
        self.json.setCheckable(True)
        self.json.setToolTip("Enter the answer as JSON")
        self.json.toggled.connect(self._on_json_toggled)
        self.json.setVisible(self.body.has_json and not self.body.is_json_only())
        self.show_job = self._button("Show jo&b", self._on_show_job)
        self.show_job.setToolTip("Show the job that this question belongs to")
        self.show_job.setEnabled(question.job is not None)
        self._lay_out()
        KeyAction(ACCEPT, self, self._on_accept, self.accept, tip=_bare(self.body.accept_text))

    def follow(self, question: Question, about: str) -> None:
        """Update the question and the text about it."""
        if question != self.question:
            self.question = question
            self.body.follow(question)
        self.about.setText(about)

    def show_error(self, error: ErrorDetails) -> None:
        """Show why an answer was refused, at its fields if possible; it can be corrected."""
        self._set_waiting(is_waiting=False)
        self.body.show_refusal(error.detail)
        text = "\n".join(part for part in (error.what, error.detail, error.hint) if part)
        self._show_note(text, Tone.BAD)

    def _button(self, text: str, slot: object) -> QPushButton:
        button = push_button(self, text)
        button.setVisible(bool(text))
        if slot is not None:
            button.clicked.connect(slot)
        return button

    def _lay_out(self) -> None:
        halves = QSplitter(Qt.Orientation.Horizontal, self)
        halves.setChildrenCollapsible(False)
        halves.addWidget(self._said())
        halves.addWidget(self.body)
        halves.setStretchFactor(0, 2)
        halves.setStretchFactor(1, 3)
        halves.setSizes([260, 400])
        said = in_row(self.note, margins=(GAP, 0, GAP, 0))
        foot = QHBoxLayout()
        foot.setContentsMargins(GAP, 0, GAP, GAP_S)
        foot.setSpacing(GAP)
        foot.addWidget(self.show_job)
        foot.addWidget(self.json)
        foot.addStretch()
        for button in (self.dismiss, self.decline, self.accept):
            foot.addWidget(button)
        in_column((halves, 1), said, foot, of=self, margins=0, spacing=GAP_S)

    def _said(self) -> QWidget:
        page = QWidget(self)
        column = in_column(
            self.head, self.about, of=page, margins=(GAP, GAP_S, GAP, GAP_S), spacing=GAP_S
        )
        if self.question.error:
            shown = formatting.visible(
                formatting.elide(self.question.error, 2_000), keep_line_ends=True
            )
            faults = plain_label(page, shown)
            set_text_colour(faults, self._appearance, Tone.WARNING)
            column.addWidget(faults)
        aside = self.body.aside()
        if aside is not None:
            column.addWidget(aside, 1)
            return page
        message = plain_label(page, message_of(self.question))
        message.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        message.setAccessibleName("Message from the server")
        column.addWidget(message)
        column.addStretch(1)
        area = QScrollArea(self)
        area.setWidget(page)
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setAccessibleName("Message from the server")
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        return area

    def _answer(self, answer: Answer) -> None:
        self._set_waiting(is_waiting=True)
        self._show_note("", Tone.TEXT)
        self.answer_requested.emit(self.question.id, answer)

    def _set_waiting(self, *, is_waiting: bool) -> None:
        """Prevent a second click from answering twice."""
        for button in (self.accept, self.decline, self.dismiss):
            button.setEnabled(not is_waiting)

    def _show_note(self, text: str, tone: Tone) -> None:
        self.note.setText(formatting.visible(formatting.elide(text, 2_000), keep_line_ends=True))
        self.note.setVisible(bool(text))
        set_text_colour(self.note, self._appearance, tone)

    @Slot()
    def _on_accept(self) -> None:
        if not self.accept.isEnabled():
            return
        answer = self.body.accepted()
        if answer is not None:
            self._answer(answer)
        else:
            self._show_note("Some values are invalid: see the marked fields.", Tone.BAD)

    @Slot()
    def _on_decline(self) -> None:
        self._answer(self.body.declined())

    @Slot()
    def _on_dismiss(self) -> None:
        self._answer(Dismiss())

    @Slot(bool)
    def _on_json_toggled(self, is_shown: bool) -> None:
        self.body.show_json(is_shown=is_shown)

    @Slot()
    def _on_show_job(self) -> None:
        self.job_opened.emit(self.question.job)


def _bare(text: str) -> str:
    return text.replace("&", "")


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

    A view is created when its question is first shown, in a turn of the event loop of its own: a
    form takes ten milliseconds, and a server may ask a hundred questions at once. A new question
    never replaces the one being answered, nor takes the focus.
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
        self._nothing = EmptyNote("No open questions", appearance, self)
        self._blank = QWidget(self)  # until the view of the chosen question is created
        self._turn = QTimer(self)
        self._turn.setSingleShot(True)
        self._turn.timeout.connect(self._on_turn)
        self._second = QTimer(self)
        self._second.setInterval(_SECOND_MS)
        self._second.timeout.connect(self._on_second)
        self._set_up_list()
        self._lay_out()
        questions.rowsInserted.connect(self._choose_any)
        questions.rowsAboutToBeRemoved.connect(self._on_rows_about_to_be_removed)
        questions.rowsRemoved.connect(self._choose_any)
        questions.dataChanged.connect(self._follow)
        questions.modelReset.connect(self._on_reset)
        appearance.changed.connect(self.list.viewport().update)
        self._on_reset()

    def current(self) -> QuestionView | None:
        """The view of the chosen question, created now if it was not yet."""
        self._show_chosen()
        return self._shown()

    def _shown(self) -> QuestionView | None:
        shown = self._stack.currentWidget()
        return shown if isinstance(shown, QuestionView) else None

    def view(self, question: int) -> QuestionView | None:
        """The view of an open question, created on first use; None if there is none."""
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

    def show_error(self, question: int, error: ErrorDetails) -> None:
        view = self.view(question)
        if view is not None:
            view.show_error(error)

    def focus(self) -> None:
        view = self.current()
        controls = [] if view is None else controls_in(view.body)
        fields = (each for each in controls if each.isEnabled() and not each.isHidden())
        next(fields, self.list).setFocus(Qt.FocusReason.ShortcutFocusReason)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._show_soon()
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
        delegate = QuestionDelegate(self._appearance, view)
        dress_side_list(view, delegate, "Open questions from servers")
        view.setUniformItemSizes(True)
        view.setMinimumWidth(view.fontMetrics().averageCharWidth() * 16)
        view.selectionModel().currentChanged.connect(self._show_soon)

    def _lay_out(self) -> None:
        self._stack.addWidget(self._nothing)
        self._stack.addWidget(self._blank)
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

    @Slot(QModelIndex, QModelIndex)
    def _follow(self, first: QModelIndex, last: QModelIndex) -> None:
        for question in self._questions.questions()[first.row() : last.row() + 1]:
            view = self._views.get(question.id)
            if view is not None:
                view.follow(question, self._questions.about(question))

    @Slot()
    def _on_reset(self) -> None:
        for known in tuple(self._views):
            self._drop(known)
        self._choose_any()

    @Slot(QModelIndex, int, int)
    def _on_rows_about_to_be_removed(self, _parent: QModelIndex, first: int, last: int) -> None:
        for question in self._questions.questions()[first : last + 1]:
            self._drop(question.id)

    @Slot()
    def _choose_any(self) -> None:
        """Show the oldest question unless an open one is shown."""
        if not self.list.currentIndex().isValid() and self._questions.rowCount():
            self.list.setCurrentIndex(self._questions.index(0))
        self._show_soon()

    def _chosen(self) -> Question | None:
        question = self.list.currentIndex().data(QUESTION)
        return question if isinstance(question, Question) else None

    @Slot()
    def _show_soon(self) -> None:
        """Show the chosen question; a view that is yet to be created, in the next turn."""
        question = self._chosen()
        view = None if question is None else self._views.get(question.id)
        if question is not None and view is None and self.isVisible():
            self._turn.start(0)
        self._show(view or (self._nothing if question is None else self._blank))

    @Slot()
    def _on_turn(self) -> None:
        """Create the view, and show it a turn later: either takes some ten milliseconds."""
        question = self._chosen()
        if question is not None and question.id not in self._views:
            self.view(question.id)
            self._turn.start(0)
        else:
            self._show_soon()

    def _show_chosen(self) -> None:
        question = self._chosen()
        view = None if question is None else self.view(question.id)
        self._show(view or self._nothing)

    def _show(self, page: QWidget) -> None:
        if page is not self._stack.currentWidget():
            self._stack.setCurrentWidget(page)
            self._on_controls_remade()

    @Slot()
    def _on_second(self) -> None:
        self._questions.tick()

    @Slot()
    def _on_controls_remade(self) -> None:
        view = self._shown()
        controls: list[QWidget] = [self.list]
        controls += [] if view is None else controls_in(view)
        if controls != self._controls:
            self._controls = controls
            if view is not None:
                order_tabs(view)
