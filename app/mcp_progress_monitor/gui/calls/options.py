"""The options of a call: progress token, limits, repeats, automatic resume, task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtWidgets import (
    QCheckBox,
    QDoubleSpinBox,
    QGridLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QSpinBox,
    QToolButton,
    QWidget,
)

from mcp_progress_monitor.formatting import count, number, one_line
from mcp_progress_monitor.gui.common.controls import (
    QuietComboBox,
    mark_invalid,
    plain_label,
    plain_tip,
)
from mcp_progress_monitor.gui.common.layout import in_column, in_row
from mcp_progress_monitor.gui.common.typed_input import (
    JsonInputError,
    off_word,
    read_limit,
    read_number,
)
from mcp_progress_monitor.gui.theme import GAP, GAP_S, Appearance
from mcp_progress_monitor.protocol.messages import CALL_TOOL
from mcp_progress_monitor.protocol.peer import AUTO, TokenChoice
from mcp_progress_monitor.protocol.tasks import LONGEST_TTL_MS, TaskAugmentation, TaskOffer, TaskWay
from mcp_progress_monitor.snapshots.limits import LimitChoice, Limits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_progress_monitor.gui.calls.offers import Offer
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.snapshots.servers import ServerSnapshot

_TASK_CHOICES: Final[tuple[bool | None, ...]] = (None, True, False)
_AUTO, _, _NO = range(3)


class TaskOptions(QObject):
    """Task options, enabled as far as server and tool allow; tool tips explain why.

    The owner lays out the controls.
    """

    def __init__(self, appearance: Appearance, parent: QWidget) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._why = ""
        self._has_ttl = False
        self.choice = QuietComboBox(parent)
        self.choice.addItems(["Auto", "Always", "Never"])
        self.choice.setAccessibleName("Run as task")
        self.ttl = QLineEdit(parent)
        self.ttl.setAccessibleName("Time to live in seconds")
        self.choice.currentIndexChanged.connect(self._on_choice_changed)
        self.show_offer(None, None)

    def show_offer(self, server: ServerSnapshot | None, offer: Offer | None) -> None:
        """Enable the options for `offer` of `server`; the selection stays if possible."""
        tasks = None
        if server is not None and server.revision is not None:
            tasks = TaskOffer.of(server.revision, server.capabilities)
        is_core = tasks is not None and tasks.way is TaskWay.CORE
        support = None if offer is None else offer.task_support
        self._why = self._why_not(tasks, offer)
        self._has_ttl = is_core and not self._why
        self.choice.setEnabled(not self._why)
        self.choice.setToolTip(plain_tip(self._why or self._tip(support, is_core=is_core)))
        self._on_choice_changed()

    def request(self) -> TaskAugmentation:
        """Return the choice; the default if none is possible.

        Raises:
            InputError: the time to live is invalid; it is marked, and the message names it.
        """
        if self._why:
            return TaskAugmentation()
        ttl_ms = self._read_ttl() if self.ttl.isEnabled() else None
        return TaskAugmentation(_TASK_CHOICES[self.choice.currentIndex()], ttl_ms)

    def state(self) -> dict[str, Any]:
        """Return the state to remember for the tool."""
        return {"as_task": _TASK_CHOICES[self.choice.currentIndex()], "ttl_s": self.ttl.text()}

    def restore(self, state: dict[str, Any] | None) -> None:
        """Restore the remembered state of a tool; the default without any."""
        request, ttl = (state or {}).get("as_task"), (state or {}).get("ttl_s")
        chosen = _TASK_CHOICES.index(request) if isinstance(request, bool) else _AUTO
        self.choice.setCurrentIndex(chosen)
        self.ttl.setText(ttl[:20] if isinstance(ttl, str) else "")
        mark_invalid(self.ttl, self._appearance, is_wrong=False)

    def _why_not(self, tasks: TaskOffer | None, offer: Offer | None) -> str:
        """Say why the options are disabled; empty if they are not."""
        if tasks is None or offer is None:
            return "The server is not connected, or nothing is selected"
        if offer.kind.value != CALL_TOOL:
            return "Only tool calls can run as tasks"
        if not tasks.has_calls:
            return "The server does not support tasks"
        if tasks.way is TaskWay.CORE and offer.task_support == "forbidden":
            return "The tool declares taskSupport “forbidden”"
        return ""

    def _tip(self, support: str | None, *, is_core: bool) -> str:
        if not is_core:
            return (
                "In 2026-07-28 the server decides whether a call becomes a task. “Never” declares "
                "no support for tasks; “Always” only says that one is expected"
            )
        if support == "required":
            return (
                "The tool declares taskSupport “required”. “Never” sends a plain call, which the "
                "server should reject"
            )
        if support == "optional":
            return "The tool declares taskSupport “optional”. “Auto” sends a plain call"
        return (
            "The tool declares no taskSupport, which means “forbidden”: the server should "
            "reject a task. “Auto” sends a plain call"
        )

    def _read_ttl(self) -> float | None:
        text = self.ttl.text().strip()
        try:
            seconds = None if not text else float(read_number(text, is_integer=False))
            if seconds is not None and not 1 <= seconds * 1000 <= LONGEST_TTL_MS:
                raise JsonInputError("enter a positive number of seconds")  # noqa: TRY301
        except (JsonInputError, OverflowError) as error:
            mark_invalid(self.ttl, self._appearance, is_wrong=True)
            raise JsonInputError(f"{self.ttl.accessibleName()}: {error}") from None
        mark_invalid(self.ttl, self._appearance, is_wrong=False)
        return None if seconds is None else seconds * 1000

    @Slot()
    def _on_choice_changed(self) -> None:
        is_possible = self._has_ttl and self.choice.currentIndex() != _NO
        self.ttl.setEnabled(is_possible)
        text = "server default" if is_possible else ""
        self.ttl.setPlaceholderText(text)
        tip = "Set how long the server should keep the task; leave empty for the server's default"
        if not is_possible:
            tip = self._why or "Applies only to requested tasks; in 2026-07-28 the server decides"
        self.ttl.setToolTip(plain_tip(tip))


_MOST_REPEATS: Final = 10_000
_LONGEST_PAUSE_S: Final = 3600.0
_AUTOMATIC, _STRING, _INTEGER, _NONE = range(4)


class CallSettings(NamedTuple):
    """The user's choices; limits in seconds, None is off."""

    token: TokenChoice
    allow_duplicate: bool
    idle_s: LimitChoice
    total_s: LimitChoice
    repeats: int
    at_once: int  # most calls pending at the same time, 0 for no limit
    pause_s: float  # delay before each further call
    is_automatic: bool  # whether to resume automatically when the server returns a resume token
    task: TaskAugmentation


class CallCount(NamedTuple):
    """Number of calls of one tool to make, and their rate; by default one."""

    sets: Sequence[JsonObject] = ()
    source: str = ""
    """The file of the argument sets."""
    repeats: int = 1
    at_once: int = 0
    pause_s: float = 0.0

    @property
    def total(self) -> int:
        return max(1, len(self.sets)) * self.repeats


class CallOptions(QWidget):
    """Controls for token, limits, repeats and resuming; `options` reads them.

    They are folded below a line that summarises the changes from the defaults.
    """

    sets_requested = Signal()  # the user wants to select a file of argument sets
    send_text_changed = Signal(str)  # what the button that sends the calls says
    folded = Signal()

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._sets: Sequence[JsonObject] = ()
        self._source = ""
        self._fold = QToolButton(self)
        self._page = QWidget(self)
        self._choose_sets = QPushButton("Argument &sets…", self)
        self._sets_text = plain_label(self)
        self._clear_sets = QPushButton("Clear", self)
        self._kind = QuietComboBox(self)
        self._kind.addItems(["Automatic", "Custom string", "Custom integer", "None"])
        self._token = QLineEdit(self)
        self._allow = QCheckBox("Allow a duplicate token", self)
        self._idle = QLineEdit(self)
        self._total = QLineEdit(self)
        self._repeats = QSpinBox(self)
        self._repeats.setRange(1, _MOST_REPEATS)
        self._repeats.setGroupSeparatorShown(True)
        self._at_once = QSpinBox(self)
        self._at_once.setRange(0, _MOST_REPEATS)
        self._at_once.setSpecialValueText("All")
        self._pause = QDoubleSpinBox(self)
        self._pause.setRange(0, _LONGEST_PAUSE_S)
        self._pause.setDecimals(1)
        self.automatic = QCheckBox("Resume &automatically", self)
        self.task = TaskOptions(appearance, self)
        self._name_controls()
        self._lay_out()
        self._kind.currentIndexChanged.connect(self._on_kind_changed)
        self._fold.toggled.connect(self._on_folded)
        self._choose_sets.clicked.connect(self.sets_requested)
        self._clear_sets.clicked.connect(self.clear_sets)
        for edited in (self._token, self._idle, self._total):
            edited.textChanged.connect(self._summarise)
        for spun in (self._repeats, self._at_once, self._pause):
            spun.valueChanged.connect(self._summarise)
        self.automatic.toggled.connect(self._summarise)
        self._on_kind_changed()
        self.clear_sets()
        self._on_folded(is_open=False)

    @property
    def count(self) -> CallCount:
        """How many calls are to be made; without argument sets, with the form's arguments."""
        speed = self._at_once.value(), self._pause.value()
        return CallCount(self._sets, self._source, self._repeats.value(), *speed)

    def set_count(self, wanted: CallCount) -> None:
        """Show how many calls of a tool are to be made."""
        self._repeats.setValue(wanted.repeats)
        self._at_once.setValue(wanted.at_once)
        self._pause.setValue(wanted.pause_s)
        self._set_sets(wanted.sets, wanted.source)

    def _set_sets(self, sets: Sequence[JsonObject], source: str) -> None:
        self._sets, self._source = sets, source
        text = "One call, with the arguments above"
        if sets:
            text = f"{count(len(sets), 'set')} from {one_line(source, 60)}"
        self._sets_text.setText(text)
        self._clear_sets.setVisible(bool(sets))
        self._summarise()

    def options(self) -> CallSettings:
        """Return the choices.

        Raises:
            InputError: a control has an invalid value; it is marked, and the message names it.
        """
        return CallSettings(
            self._read(self._token, self._chosen_token),
            self._allow.isChecked(),
            self._read(self._idle, self._idle_limit),
            self._read(self._total, self._total_limit),
            self._repeats.value(),
            self._at_once.value(),
            self._pause.value(),
            self.automatic.isChecked(),
            self.task.request(),
        )

    def choices(self) -> dict[str, Any]:
        """Return what to remember for the tool."""
        return {**self.task.state(), "resume": self.automatic.isChecked()}

    def set_choices(self, choices: dict[str, Any] | None) -> None:
        """Show what is remembered for a tool; the defaults without any."""
        self.task.restore(choices)
        self.automatic.setChecked((choices or {}).get("resume") is True)

    def show_usual(self, limits: Limits) -> None:
        """Show the limits that apply if none is entered."""
        for line, seconds in ((self._idle, limits.idle_s), (self._total, limits.total_s)):
            text = off_word() if seconds is None else f"{seconds:g}"
            line.setPlaceholderText(f"{text} (default)")

    def set_token(self, token: TokenChoice) -> None:
        """Select a token."""
        if token is AUTO or token is None:
            self._kind.setCurrentIndex(_AUTOMATIC if token is AUTO else _NONE)
            return
        self._kind.setCurrentIndex(_STRING if isinstance(token, str) else _INTEGER)
        self._token.setText(str(token))

    def state(self) -> dict[str, Any]:
        """Return the state to remember for all tools; the token is for one call only."""
        return {
            "idle": self._idle.text(),
            "total": self._total.text(),
            "open": self._fold.isChecked(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Restore the remembered state."""
        self._fold.setChecked(state.get("open") is True)
        for line, key in ((self._idle, "idle"), (self._total, "total")):
            text = state.get(key)
            if isinstance(text, str):
                line.setText(text[:20])

    def _name_controls(self) -> None:
        for control, name, tip in (
            (self._kind, "Progress token", "Choose the progress token of the call"),
            (self._token, "Custom token", "Enter a string or an integer, including 0"),
            (
                self._allow,
                self._allow.text(),
                "Send the token even if a pending request uses the same one",
            ),
            (
                self._idle,
                "Idle timeout in seconds",
                (
                    "Time out after this many seconds without a message for the call; 0 or “off” "
                    "disables the limit, empty uses the server's default"
                ),
            ),
            (
                self._total,
                "Total timeout in seconds",
                (
                    "Time out after this many seconds in total; 0 or “off” disables the limit, "
                    "empty uses the server's default"
                ),
            ),
            (
                self._repeats,
                "Number of calls",
                "Make this many calls; with argument sets, this many of each",
            ),
            (
                self._at_once,
                "Calls at once",
                "Keep at most this many calls pending at the same time",
            ),
            (self._pause, "Pause in seconds", "Wait this many seconds before each further call"),
            (
                self.automatic,
                "Resume automatically",
                "Resume after every stop that left a resume token, until the call is done",
            ),
        ):
            control.setAccessibleName(name)
            control.setToolTip(plain_tip(tip))
        self._fold.setCheckable(True)
        self._fold.setAutoRaise(True)
        self._fold.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self._fold.setToolTip("Show or hide token, limits, task and repeats")
        self._choose_sets.setAutoDefault(False)
        self._choose_sets.setToolTip(
            "Make one call for each argument set in a CSV, JSON or JSON Lines file; the form's "
            "arguments are added to each"
        )
        self._clear_sets.setAutoDefault(False)
        self._clear_sets.setToolTip("Clear the argument sets")
        self.show_usual(Limits())

    def _lay_out(self) -> None:
        in_column(self._fold, self._page, of=self, margins=0, spacing=GAP_S)
        grid = QGridLayout(self._page)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(GAP)
        grid.setVerticalSpacing(GAP_S)
        rows: tuple[tuple[tuple[str, QWidget], ...], ...] = (
            (("&Token", self._kind), ("", self._token), ("", self._allow)),
            (("&Idle timeout (s)", self._idle), ("T&otal timeout (s)", self._total)),
            (("Run as tas&k", self.task.choice), ("&Keep for (s)", self.task.ttl)),
            (("Ti&mes", self._repeats), ("At on&ce", self._at_once), ("&Pause (s)", self._pause)),
        )
        for row, controls in enumerate(rows):
            for place, (text, control) in enumerate(controls):
                if text:
                    grid.addWidget(self._label(text, control), row, 2 * place)
                grid.addWidget(control, row, 2 * place + bool(text), 1, 1 + (not text))
        grid.addWidget(self.automatic, 1, 4, 1, 2)
        sets = in_row(self._choose_sets, (self._sets_text, 1), self._clear_sets, spacing=GAP)
        grid.addLayout(sets, len(rows), 1, 1, 5)
        for place in (1, 3, 5):
            grid.setColumnStretch(place, 1)

    def _label(self, text: str, control: QWidget) -> QLabel:
        label = QLabel(text, self)
        label.setBuddy(control)
        return label

    def _read(self, line: QLineEdit, reader: Any) -> Any:
        try:
            value = reader()
        except JsonInputError as error:
            mark_invalid(line, self._appearance, is_wrong=True)
            self._fold.setChecked(True)
            raise JsonInputError(f"{line.accessibleName()}: {error}") from None
        mark_invalid(line, self._appearance, is_wrong=False)
        return value

    def _chosen_token(self) -> TokenChoice:
        kind = self._kind.currentIndex()
        if kind in (_AUTOMATIC, _NONE):
            return AUTO if kind == _AUTOMATIC else None
        is_single = self.count.total == 1 or self._at_once.value() == 1
        if not is_single and not self._allow.isChecked():
            raise JsonInputError("simultaneous calls cannot share a custom token")
        if kind == _STRING:
            return self._token.text()
        return int(read_number(self._token.text(), is_integer=True))

    def _idle_limit(self) -> LimitChoice:
        return read_limit(self._idle.text())

    def _total_limit(self) -> LimitChoice:
        return read_limit(self._total.text())

    @Slot()
    def _on_kind_changed(self) -> None:
        is_own = self._kind.currentIndex() in (_STRING, _INTEGER)
        self._token.setEnabled(is_own)
        self._token.setPlaceholderText("" if is_own else "generated")
        if self._kind.currentIndex() == _NONE:
            self._token.setPlaceholderText("no progress notifications")
        self._allow.setEnabled(is_own)
        self._summarise()

    @Slot()
    def clear_sets(self) -> None:
        self._set_sets((), "")

    @Slot(bool)
    def _on_folded(self, is_open: bool) -> None:
        self._page.setVisible(is_open)
        self._fold.setArrowType(Qt.ArrowType.DownArrow if is_open else Qt.ArrowType.RightArrow)
        self.folded.emit()

    @Slot()
    def _summarise(self) -> None:
        """Summarise in the fold's line what differs from the defaults."""
        token = ("", f"token {self._token.text()!r}", f"token {self._token.text()}", "no token")
        chosen = (
            one_line(token[self._kind.currentIndex()], 40),
            f"idle timeout {one_line(self._idle.text(), 20)}" if self._idle.text() else "",
            f"total timeout {one_line(self._total.text(), 20)}" if self._total.text() else "",
            "resume automatically" if self.automatic.isChecked() else "",
            count(len(self._sets), "argument set") if self._sets else "",
            f"{number(self._repeats.value())} times" if self._repeats.value() > 1 else "",
            f"{number(self._at_once.value())} at once" if self._at_once.value() else "",
            f"pause {self._pause.value():g} s" if self._pause.value() else "",
        )
        text = ", ".join(part for part in chosen if part)
        self._fold.setText(f"Options: {text}" if text else "Options")
        total = self.count.total
        self.send_text_changed.emit("&Send" if total == 1 else f"&Send {count(total, 'call')}")
