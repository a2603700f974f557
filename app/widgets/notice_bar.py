"""A quiet bar above the jobs that says, in words, what went wrong and what to try."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from app.text import visible

if TYPE_CHECKING:
    from app.problem import Problem

_KEPT = 50
_LINES_IN_SIGHT = 6


class NoticeBar(QFrame):
    """Shows one `Problem` at a time, the newest first; hidden when there is none.

    Server text may be in it: everything is plain text, and of bounded length.
    """

    emptied = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self.setAccessibleName(self.tr("Problems"))
        self._problems: list[Problem] = []
        self._what = self._label(bold=True)
        self._hint = self._label(bold=False)
        self._detail = QPlainTextEdit(self)
        self._detail.setReadOnly(True)
        self._detail.setAccessibleName(self.tr("Details of the problem"))
        self._detail.setTabChangesFocus(True)
        self._next = QPushButton(self)
        self._next.setAccessibleName(self.tr("Dismiss this problem"))
        self._next.setToolTip(self.tr("Dismiss (Esc)"))
        self._next.clicked.connect(self._on_dismissed)
        escape = QShortcut(QKeySequence(Qt.Key.Key_Escape), self)
        escape.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        escape.activated.connect(self._on_dismissed)
        self._lay_out()
        self.hide()

    def show_problem(self, problem: Problem) -> None:
        """Show `problem` in front of those not yet dismissed; the same one twice is shown once."""
        if problem in self._problems:
            self._problems.remove(problem)
        self._problems.append(problem)
        del self._problems[:-_KEPT]
        self._refresh()

    def problems(self) -> tuple[Problem, ...]:
        """Those not yet dismissed, the newest last."""
        return tuple(self._problems)

    def _label(self, *, bold: bool) -> QLabel:
        label = QLabel(self)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setWordWrap(True)
        label.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        if bold:
            font = label.font()
            font.setBold(True)
            label.setFont(font)
        return label

    def _lay_out(self) -> None:
        words = QVBoxLayout()
        words.setSpacing(2)
        words.addWidget(self._what)
        words.addWidget(self._hint)
        words.addWidget(self._detail)
        row = QHBoxLayout(self)
        row.setContentsMargins(10, 6, 8, 6)
        row.addLayout(words, 1)
        row.addWidget(self._next, 0, Qt.AlignmentFlag.AlignTop)

    def _refresh(self) -> None:
        self.setVisible(bool(self._problems))
        if not self._problems:
            self.emptied.emit()
            return
        problem = self._problems[-1]
        head = f"{problem.what} — {problem.where}" if problem.where else problem.what
        self._what.setText(visible(head)[:1000])
        self._hint.setText(visible(problem.hint)[:1000])
        self._hint.setVisible(bool(problem.hint))
        self._detail.setPlainText(problem.detail[:20_000])
        lines = min(_LINES_IN_SIGHT, max(1, self._detail.blockCount()))
        margin = 2 * (self._detail.frameWidth() + round(self._detail.document().documentMargin()))
        line = self._detail.fontMetrics().lineSpacing()
        self._detail.setFixedHeight(lines * line + margin + line // 2)
        self._detail.setVisible(bool(problem.detail))
        waiting = len(self._problems) - 1
        self._next.setText(
            self.tr("Dismiss") if not waiting else self.tr("Dismiss (%n more)", "", waiting)
        )

    @Slot()
    def _on_dismissed(self) -> None:
        if self._problems:
            self._problems.pop()
        self._refresh()
