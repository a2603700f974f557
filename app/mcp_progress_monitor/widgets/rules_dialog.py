"""Rules for what a server asks: whether the user is asked, or it is answered by itself."""

from __future__ import annotations

from typing import Any, Final, get_args

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication, QSize, Signal, Slot
from PySide6.QtWidgets import (
    QDoubleSpinBox,
    QGridLayout,
    QGroupBox,
    QLabel,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from mcp_progress_monitor.sessions.rules import LONGEST_DELAY_S, Mode, QuestionRules, Rule
from mcp_progress_monitor.widgets.appearance import GAP, Appearance
from mcp_progress_monitor.widgets.json_editor import JsonEditor
from mcp_progress_monitor.widgets.saved_settings import SettingsDialog
from mcp_progress_monitor.widgets.schema_field import QuietComboBox
from mcp_progress_monitor.widgets.screen_fit import fit_to_screen

_MODES: Final[tuple[Mode, ...]] = get_args(Mode)
_MODE_WORDS: Final = {
    "ask": QT_TRANSLATE_NOOP("Rules", "Ask me"),
    "decline": QT_TRANSLATE_NOOP("Rules", "Decline by itself"),
    "answer": QT_TRANSLATE_NOOP("Rules", "Give a fixed answer by itself"),
    "undeclared": QT_TRANSLATE_NOOP("Rules", "Tell the server that it cannot ask this"),
}
_KINDS: Final = (
    ("sampling", QT_TRANSLATE_NOOP("Rules", "A model's answer (sampling)")),
    ("form", QT_TRANSLATE_NOOP("Rules", "A form to fill in (elicitation)")),
    ("url", QT_TRANSLATE_NOOP("Rules", "A page to open (elicitation)")),
    ("roots", QT_TRANSLATE_NOOP("Rules", "The folders it may use (roots)")),
)
_EXAMPLES: Final[dict[str, dict[str, Any]]] = {
    "sampling": {
        "role": "assistant",
        "content": {"type": "text", "text": ""},
        "model": "fixed-answer",
        "stopReason": "endTurn",
    },
    "form": {},
}
_EDITOR_HEIGHT: Final = 110


class RuleBox(QGroupBox):
    """The rule for one kind of question."""

    changed = Signal()

    def __init__(
        self, kind: str, title: str, rule: Rule, appearance: Appearance, parent: QWidget
    ) -> None:
        super().__init__(title, parent)
        self.kind = kind
        self._answer = rule.answer
        self.mode = QuietComboBox(self)
        for mode in _MODES:
            self.mode.addItem(_tr(str(_MODE_WORDS[mode])), mode)
        self.mode.setCurrentIndex(_MODES.index(rule.mode))
        self.mode.setAccessibleName(title)
        self.delay = QDoubleSpinBox(self)
        self.delay.setRange(0.0, LONGEST_DELAY_S)
        self.delay.setDecimals(1)
        self.delay.setSuffix(_tr(" s"))
        self.delay.setValue(rule.delay_s)
        self.delay.setAccessibleName(_tr("Seconds to wait for me first: {}").format(title))
        self.delay.setToolTip(_tr("So long the question is open, and I may answer it myself"))
        self._wait = QLabel(_tr("after waiting for me"), self)
        self.editor = JsonEditor(appearance, self, name=_tr("Fixed answer"))
        self.editor.show_value(rule.answer or _EXAMPLES.get(kind, {}))
        self.editor.setFixedHeight(_EDITOR_HEIGHT)
        grid = QGridLayout(self)
        grid.setSpacing(GAP)
        grid.addWidget(self.mode, 0, 0)
        grid.addWidget(self._wait, 0, 1)
        grid.addWidget(self.delay, 0, 2)
        grid.addWidget(self.editor, 1, 0, 1, 3)
        grid.setColumnStretch(0, 1)
        self._show_needed()
        self.mode.currentIndexChanged.connect(self._on_changed)
        self.delay.valueChanged.connect(self._on_changed)
        self.editor.value_changed.connect(self._on_changed)
        self.editor.mistake_changed.connect(self._on_changed)

    def rule(self) -> Rule:
        """The rule as chosen."""
        mode: Mode = self.mode.currentData()
        answer = self.editor.value() if self._has_editor() else self._answer
        is_waiting = mode in {"decline", "answer"}
        return Rule(
            mode=mode,
            delay_s=self.delay.value() if is_waiting else 0.0,
            answer=answer if mode == "answer" else None,
        )

    def mistake(self) -> str:
        """Why the fixed answer is no JSON; empty when it is, or none is needed."""
        self.editor.apply()
        return self.editor.mistake if self._has_editor() else ""

    def _has_editor(self) -> bool:
        """Whether a fixed answer has to be entered: a page has none, folders have their own."""
        return self.mode.currentData() == "answer" and self.kind in _EXAMPLES

    def _show_needed(self) -> None:
        self.editor.setVisible(self._has_editor())
        is_waiting = self.mode.currentData() in {"decline", "answer"}
        for each in (self._wait, self.delay):
            each.setVisible(is_waiting)

    @Slot()
    def _on_changed(self) -> None:
        self._show_needed()
        self.changed.emit()


class RulesDialog(SettingsDialog):
    """One rule for each kind of question of one server."""

    rules_chosen = Signal(str, object)
    """The server's name and its `QuestionRules`."""

    def __init__(
        self,
        server: str,
        rules: QuestionRules,
        appearance: Appearance,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(_tr("Rules for questions"), server, appearance, parent)
        page = QWidget(self)
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        self.boxes: dict[str, RuleBox] = {}
        for kind, title in _KINDS:
            box = RuleBox(kind, _tr(str(title)), getattr(rules, kind), appearance, page)
            box.changed.connect(self.note_change)
            self.boxes[kind] = box
            column.addWidget(box)
        column.addStretch(1)
        area = QScrollArea(self)
        area.setWidget(page)
        area.setWidgetResizable(True)
        area.setFrameShape(QScrollArea.Shape.NoFrame)
        whole = QVBoxLayout()
        whole.addWidget(area)
        self.lay_out(
            _tr(
                "What happens by itself when this server asks, so that long runs go on without "
                "you. What it is told that it can ask changes with the next connection."
            ),
            whole,
        )
        fit_to_screen(self, QSize(560, 480))

    def save(self) -> str:
        """Hand on the rules, unless a fixed answer is no JSON."""
        for box in self.boxes.values():
            mistake = box.mistake()
            if mistake:
                return f"{box.title()}: {mistake}"
        rules = {kind: box.rule() for kind, box in self.boxes.items()}
        self.rules_chosen.emit(self.server, QuestionRules(**rules))
        return ""


def _tr(words: str) -> str:
    return QCoreApplication.translate("Rules", words)
