"""A new call: server, tool, resource or prompt, with arguments and options."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtWidgets import (
    QDialog,
    QFileDialog,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSplitter,
    QVBoxLayout,
    QWidget,
)

from mcp_progress_monitor.engine.call import AutoResume, Call, CallSeries
from mcp_progress_monitor.formatting import count, number, one_line, visible
from mcp_progress_monitor.gui.calls.memory import CallMemory, SavedCall, SavedCalls
from mcp_progress_monitor.gui.calls.offers import ADDRESSED, Offer
from mcp_progress_monitor.gui.calls.options import CallCount, CallOptions, CallSettings
from mcp_progress_monitor.gui.calls.picker import OfferPicker
from mcp_progress_monitor.gui.calls.shelf import CallShelf, CopyForm
from mcp_progress_monitor.gui.common.commands import KeyAction, Words
from mcp_progress_monitor.gui.common.controls import plain_label, set_text_colour
from mcp_progress_monitor.gui.common.dialog_watch import watch
from mcp_progress_monitor.gui.common.layout import (
    ScreenFit,
    controls_in,
    fit_to_screen,
    in_column,
    in_row,
    open_dialog,
    order_tabs,
)
from mcp_progress_monitor.gui.common.typed_input import JsonInputError
from mcp_progress_monitor.gui.confirmations import SeriesQuestion
from mcp_progress_monitor.gui.page_commands import FIND_OFFER, SEND
from mcp_progress_monitor.gui.schema_form.form import SchemaForm
from mcp_progress_monitor.gui.schema_form.schema import UNSET, SchemaViolation, validate
from mcp_progress_monitor.gui.theme import GAP, GAP_L, Appearance, Tone, emphasised
from mcp_progress_monitor.protocol.peer import AUTO, TokenChoice
from mcp_progress_monitor.snapshots.limits import DEFAULT_LIMITS, DefaultLimits, usual_limits
from mcp_progress_monitor.wording.servers import state_word

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_progress_monitor.gui.schema_form.schema import Schema
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.snapshots.servers import ServerSnapshot

_ICON: Final = QSize(14, 14)  # of a button that is as high as the others
_MOST_CALLS: Final = 20_000
_ASKED_FROM: Final = 100  # calls
_CHECK_S: Final = 1.0
_BESIDE_CALL: Final = QSize(240, 120)
"""Least size of the rest of the window: the list of tools, and the buttons."""
_TASK_TEXTS: Final = {"required": "Runs only as a task.", "optional": "Can run as a task."}
_UNLISTED: Final = "Not listed by the server. Enter the arguments as JSON."
_DESCRIPTION: Final = 1_500
_SETS_FILES: Final = "Argument sets (*.csv *.tsv *.json *.jsonl);;All files (*)"


class Effects(QLabel):
    """The effects that the server declares of a tool, a destructive one in a warning's colour."""

    def __init__(self, appearance: Appearance, parent: QWidget) -> None:
        super().__init__(parent, textFormat=Qt.TextFormat.PlainText, wordWrap=True)
        self._appearance = appearance
        self.hide()

    def show_offer(self, offer: Offer | None) -> None:
        hints = () if offer is None else offer.hints
        self.setText(f"Declared by the server: {', '.join(hints)}" if hints else "")
        self.setVisible(bool(hints))
        is_warning = offer is not None and offer.is_destructive
        set_text_colour(self, self._appearance, Tone.WARNING if is_warning else Tone.MUTED)


class CallForm(QWidget):
    """The form for a call; stays open for the next one and reads server snapshots only."""

    series_requested = Signal(object)  # a `CallSeries`, most often of one call
    stop_requested = Signal()  # make no further calls of a series
    connect_requested = Signal(str)  # the name of the chosen server, which is not connected
    sets_requested = Signal(str, object)
    """The path of a file of argument sets, and the schema of the tool that they are for."""
    copy_requested = Signal(object, object, object, object)
    """A `CopyForm`, the server's snapshot, the `Offer`, and the arguments."""
    saved_changed = Signal()  # the saved calls changed

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._memory = CallMemory()
        self._drafts = CallMemory()
        self._choices = CallMemory()
        self._choice_drafts = CallMemory()
        self._counts: dict[tuple[str, str, str], CallCount] = {}
        self.saved = SavedCalls()
        self._default_limits = DEFAULT_LIMITS
        self._offer: Offer | None = None
        self._offer_of = ""
        self._controls: list[QWidget] = []
        self._sets_schema: Schema = {}
        self._sets_key = ("", "", "")
        self._picker = OfferPicker(self)
        self._title = plain_label(self)
        self._about = plain_label(self)
        self._effects = Effects(self._appearance, self)
        self._shelf = CallShelf(self._recent, self._to_save, self.saved, self)
        self._form = SchemaForm(appearance, self)
        self._options = CallOptions(appearance, self)
        self._offline = plain_label(self)
        self._connect_server = QPushButton("Co&nnect", self)
        self._message = plain_label(self)
        self._send = QPushButton("&Send", self)
        self._send_anyway = QPushButton("Send an&yway", self)
        self._stop = QPushButton("S&top", self)
        self._foot = QHBoxLayout()
        self._set_up_controls()
        self._lay_out()
        self._connect()
        self._show_offer(None)

    @property
    def form(self) -> SchemaForm:
        return self._form

    @property
    def options(self) -> CallOptions:
        return self._options

    @property
    def offer(self) -> Offer | None:
        return self._offer

    def set_servers(self, servers: Sequence[ServerSnapshot]) -> None:
        """Set the current servers; selection and input stay if they still exist."""
        self._picker.set_servers(servers)

    def set_default_limits(self, limits: DefaultLimits) -> None:
        """Show these limits if neither the call nor its server sets any."""
        self._default_limits = limits
        self._show_connection()

    def choose(
        self,
        server: str,
        method: str,
        name: str,
        arguments: JsonObject | None = None,
        token: TokenChoice = AUTO,
    ) -> bool:
        """Fill in a call, to be edited and sent again, for a tool that is listed or not.

        False if there is no such server, or nothing to select.
        """
        if not self._picker.choose(server, method, name):
            return False
        if arguments is not None:
            self._form.set_value(arguments)
        self._options.set_token(token)
        return True

    def state(self) -> dict[str, Any]:
        return {
            **self._picker.state(),
            "arguments": self._memory.state(),
            "options": self._options.state(),
            "tasks": self._choices.state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Restore saved state; invalid parts are ignored."""
        self._memory.restore(state.get("arguments"))
        self._choices.restore(state.get("tasks"))
        if self._offer is not None:
            self._options.set_choices(self._choices.recall(*self._key_of(self._offer)))
        if isinstance(options := state.get("options"), dict):
            self._options.restore(options)
        self._picker.restore(state)

    def forget_arguments(self) -> None:
        self._memory.restore(None)

    @Slot()
    def enter_arguments(self) -> None:
        """Set the cursor into the first argument, or the focus to the button without any."""
        fields = controls_in(self._form)
        (fields[0] if fields else self._send).setFocus(Qt.FocusReason.OtherFocusReason)

    def begin(self) -> None:
        """Prepare for one next call: clear the last search, and what was sent."""
        self._counts.clear()
        self._options.set_count(CallCount())
        self._say("")
        self._picker.begin()

    def add_button(self, button: QPushButton) -> None:
        """Place a button of the window after those of the form."""
        self._foot.addWidget(button)
        self._on_controls_remade()

    def set_argument_sets(self, sets: Sequence[JsonObject], source: str) -> None:
        """Set the argument sets of a file, for the tool that they were requested for."""
        if self._offer is not None and self._key_of(self._offer) == self._sets_key:
            self._options.set_count(self._options.count._replace(sets=sets, source=source))
            self._say("")
        else:
            left = self._counts.get(self._sets_key, CallCount())
            self._counts[self._sets_key] = left._replace(sets=sets, source=source)

    def show_series(self, started: int, total: int) -> None:
        """Show how many calls of a series were made; it ends with the last one."""
        is_over = started >= total
        self._stop.setVisible(not is_over)
        text = count(total, "call") if is_over else f"{number(started)} of {count(total, 'call')}"
        self._say(f"Sent {text}.", Tone.GOOD)

    @Slot()
    def send(self) -> None:
        """Request the call; if something is invalid, show it at its field instead."""
        options = self._read_options()
        sets = self._options.count.sets
        violations = self._violations_of_sets(sets) if sets else self._form.check()
        if self._offer is None or options is None or not self._is_ready():
            return
        if violations:
            self._refuse(violations)
        else:
            self._request(options)

    def _set_up_controls(self) -> None:
        self._title.setFont(emphasised(self._title.font()))
        self._send.setIcon(self._appearance.icon("sent"))
        self._send.setIconSize(_ICON)
        self._send.setDefault(True)
        self._send_anyway.setToolTip("Send the call even though it does not match the schema")
        self._send_anyway.hide()
        self._stop.setToolTip("Stop sending calls; pending ones continue")
        self._stop.setAutoDefault(False)
        self._stop.hide()
        self._connect_server.setToolTip("Connect the server and keep what you entered")
        set_text_colour(self._offline, self._appearance, Tone.WARNING)
        set_text_colour(self._about, self._appearance, Tone.MUTED)

    def _lay_out(self) -> None:
        self._foot.setSpacing(GAP)
        self._foot.addWidget(self._message, 1)
        self._foot.addWidget(self._stop)
        self._foot.addWidget(self._send_anyway)
        self._foot.addWidget(self._send)
        main = QWidget(self)
        upper = QWidget(main)
        call = QVBoxLayout(upper)
        call.setContentsMargins(0, 0, 0, 0)
        call.setSpacing(GAP)
        head = in_row((self._title, 1), self._shelf)
        call.addLayout(head)
        call.addWidget(self._about)
        call.addWidget(self._effects)
        call.addWidget(self._form, 1)
        call.addWidget(self._options)
        entry = in_column(
            (ScreenFit(upper, _BESIDE_CALL, main), 1), of=main, margins=0, spacing=GAP
        )
        offline = in_row((self._offline, 1), self._connect_server)
        entry.addLayout(offline)
        entry.addLayout(self._foot)
        splitter = QSplitter(Qt.Orientation.Horizontal, self)
        splitter.addWidget(self._picker)
        splitter.addWidget(main)
        splitter.setStretchFactor(0, 1)
        splitter.setStretchFactor(1, 4)
        splitter.setChildrenCollapsible(False)
        splitter.setHandleWidth(GAP_L)
        splitter.setSizes([220, 660])
        in_column(splitter, of=self, margins=0)

    def _connect(self) -> None:
        self._picker.server_changed.connect(self._show_connection)
        self._picker.offer_chosen.connect(self._show_offer)
        # On to the arguments: Enter in a search sends nothing.
        self._picker.search.entered.connect(self.enter_arguments)
        self._form.changed.connect(self._on_arguments_changed)
        self._form.remade.connect(self._on_controls_remade)
        self._options.folded.connect(self._on_controls_remade)
        self._options.sets_requested.connect(self._on_sets_requested)
        self._options.send_text_changed.connect(self._send.setText)
        self._shelf.arguments_chosen.connect(self._on_arguments_chosen)
        self._shelf.call_chosen.connect(self._on_call_chosen)
        self._shelf.call_saved.connect(self._on_call_saved)
        self._shelf.saved_changed.connect(self.saved_changed)
        self._shelf.copy_requested.connect(self._on_copy_requested)
        self._stop.clicked.connect(self._on_stop_clicked)
        self._connect_server.clicked.connect(self._on_connect_clicked)
        self._send.clicked.connect(self.send)
        self._send_anyway.clicked.connect(self._on_send_anyway)
        self._sending = KeyAction(SEND, self, self.send, self._send)
        KeyAction(FIND_OFFER, self, self._picker.search.setFocus, self._picker.search)

    def _is_ready(self, _question: SeriesQuestion | None = None) -> bool:
        return self._picker.is_connected

    @Slot()
    def _show_connection(self) -> None:
        """Show that the selected server is not connected, with a button to connect it."""
        server, text = self._picker.server, ""
        self._options.task.show_offer(server, self._offer)
        if server is not None:
            own = server.definition
            kind = self._picker.kind.value
            usual = usual_limits(
                kind, own.idle_timeout_s, own.total_timeout_s, self._default_limits
            )
            self._options.show_usual(usual)
        if server is not None and not self._picker.is_connected:
            text = f"Cannot call {one_line(server.name, 80)}: {state_word(server.state)}."
        self._offline.setText(text)
        self._offline.setVisible(bool(text))
        self._connect_server.setVisible(server is not None and not server.state.is_up)
        self._send.setEnabled(self._offer is not None and not text)
        self._sending.say(Words(why=text))
        if text:
            self._send_anyway.hide()

    def _is_the_same(self, offer: Offer) -> bool:
        """Return whether `offer` is the one shown, unchanged: then the input stays."""
        shown = self._offer
        if shown is None or self._offer_of != self._picker.server_name:
            return False
        is_of_name = shown.name == offer.name or not (shown.is_listed or offer.is_listed)
        return shown.kind is offer.kind and is_of_name

    def _entered(self, offer: Offer) -> object:
        """The initial value for `offer`: current or earlier input, or what was sent last."""
        if offer.kind not in ADDRESSED and self._is_the_same(offer):
            return self._form.value()
        key = self._key_of(offer)
        last = self._drafts.recall(*key) or self._memory.recall(*key)
        return UNSET if last is None else last

    def _keep_draft(self) -> None:
        """Keep the input for the offer that is left: a search may pass it and return."""
        left = self._offer
        if left is None:
            return
        key = self._offer_of, left.kind.value, left.name
        self._counts[key] = self._options.count
        self._choice_drafts.remember(*key, self._options.choices())
        if left.is_listed and left.kind not in ADDRESSED:
            self._drafts.remember(*key, self._form.value())

    def _key_of(self, offer: Offer) -> tuple[str, str, str]:
        """The key under which input for `offer` is remembered."""
        return self._picker.server_name, offer.kind.value, offer.name

    @Slot(object)
    def _show_offer(self, offer: Offer | None) -> None:
        entered = UNSET if offer is None else self._entered(offer)
        if offer is None:
            self._keep_draft()
        elif not self._is_the_same(offer):
            self._keep_draft()
            key = self._key_of(offer)
            self._options.set_choices(
                self._choice_drafts.recall(*key) or self._choices.recall(*key)
            )
            self._options.set_count(self._counts.get(key, CallCount()))
        self._offer = offer
        self._offer_of = self._picker.server_name
        self._say("")
        self._effects.show_offer(offer)
        self._form.setEnabled(offer is not None)
        self._shelf.show_call(is_there=offer is not None)
        self._show_connection()
        if offer is None:
            self._title.setText(self._picker.nothing_text)
            self._about.clear()
            self._form.set_schema({})
            return
        title = f"{one_line(offer.name)}  {one_line(offer.title)}" if offer.title else offer.name
        self._title.setText(one_line(title, 300))
        about = visible(offer.description[:_DESCRIPTION], keep_line_ends=True)
        listing = "" if offer.is_listed else _UNLISTED
        parts = (about, _TASK_TEXTS.get(offer.task_support, ""), listing)
        self._about.setText("\n".join(part for part in parts if part))
        self._about.setVisible(bool(self._about.text()))
        self._form.set_schema(offer.schema, entered)

    def _read_options(self) -> CallSettings | None:
        try:
            return self._options.options()
        except JsonInputError as error:
            self._say(str(error))
            return None

    def _refuse(self, violations: Sequence[SchemaViolation]) -> None:
        first = violations[0]
        where = ".".join(str(step) for step in first.path)
        text = one_line(f"{where}: {first.message}" if where else first.message)
        more = len(violations) - 1
        if more:
            text = f"{text}; and {more} more"
        self._say(text)
        self._send_anyway.setVisible(not self._form.editor.mistake)

    def _request(self, options: CallSettings) -> None:
        if self._offer is None:
            return
        arguments = self._form.value()
        sets, total = self._options.count.sets or ({},), self._options.count.total
        if total > _MOST_CALLS:
            self._say(f"Too many calls: {number(total)} (at most {number(_MOST_CALLS)})")
            return
        self._memory.remember(*self._key_of(self._offer), arguments)
        self._choices.remember(*self._key_of(self._offer), self._options.choices())
        calls = [self._call(self._offer, options, {**arguments, **each}) for each in sets]
        series = CallSeries(tuple(calls * options.repeats), options.at_once, options.pause_s)
        if total < _ASKED_FROM:
            self._start(series)
            return
        question = SeriesQuestion(series, self._offer.name, self._options.count.source, self)
        question.series_confirmed.connect(self._start)
        watch(question, self._is_ready)
        open_dialog(question)

    @Slot(object)
    def _start(self, series: CallSeries) -> None:
        total = len(series.calls)
        self.show_series(int(total == 1), total)
        self.series_requested.emit(series)

    def _call(self, offer: Offer, options: CallSettings, arguments: JsonObject) -> Call:
        return Call(
            self._picker.server_name,
            offer.kind.value,
            offer.params(arguments),
            token=options.token,
            allow_duplicate_token=options.allow_duplicate,
            idle_timeout_s=options.idle_s,
            total_timeout_s=options.total_s,
            auto_resume=AutoResume() if options.is_automatic else None,
            as_task=options.task.as_task,
            task_ttl_ms=options.task.ttl_ms,
        )

    def _violations_of_sets(self, sets: Sequence[JsonObject]) -> list[SchemaViolation]:
        """The errors in the first invalid set, or how many could be checked in time."""
        until = time.thread_time() + _CHECK_S
        schema = {} if self._offer is None else self._offer.schema
        for position, each in enumerate(sets, 1):
            found = validate(schema, {**self._form.value(), **each}).violations
            if found:
                return [SchemaViolation((), _of_set(position, one)) for one in found]
            if time.thread_time() > until and position < len(sets):
                checked = f"{number(position)} of {count(len(sets), 'set')} checked"
                return [SchemaViolation((), f"Only {checked}: the schema is too complex")]
        return []

    def _recent(self) -> list[JsonObject]:
        return [] if self._offer is None else self._memory.recent(*self._key_of(self._offer))

    def _say(self, text: str, tone: Tone = Tone.BAD) -> None:
        self._message.setText(text)
        set_text_colour(self._message, self._appearance, tone)
        self._send_anyway.hide()

    @Slot()
    def _on_arguments_changed(self) -> None:
        self._say("")

    @Slot()
    def _on_send_anyway(self) -> None:
        options = self._read_options()
        if options is not None and self._is_ready():
            self._request(options)

    @Slot()
    def _on_sets_requested(self) -> None:
        if self._offer is None:
            return
        dialog = QFileDialog(self, "Argument sets", "", _SETS_FILES)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._sets_schema, self._sets_key = self._offer.schema, self._key_of(self._offer)
        dialog.fileSelected.connect(self._on_sets_chosen)
        dialog.open()

    @Slot(str)
    def _on_sets_chosen(self, path: str) -> None:
        self.sets_requested.emit(path, self._sets_schema)

    @Slot(object)
    def _on_arguments_chosen(self, arguments: JsonObject) -> None:
        self._form.set_value(arguments)
        self._say("")

    @Slot(object)
    def _on_call_chosen(self, call: SavedCall) -> None:
        if not self.choose(call.server, call.method, call.name, call.arguments):
            self._say(f"Cannot open the call: no server is named {one_line(call.server, 80)}")

    def _to_save(self) -> SavedCall | None:
        if self._offer is None:
            return None
        server, method, name = self._key_of(self._offer)
        return SavedCall("", self._offer.title or name, server, method, name, self._form.value())

    @Slot(object)
    def _on_call_saved(self, call: SavedCall) -> None:
        self._say(f"Saved as “{one_line(call.title, 80)}”.", Tone.GOOD)
        self.saved_changed.emit()

    @Slot(object)
    def _on_copy_requested(self, form: CopyForm) -> None:
        server = self._picker.server
        if self._offer is not None and server is not None:
            self.copy_requested.emit(form, server, self._offer, self._form.value())

    @Slot()
    def _on_stop_clicked(self) -> None:
        self._stop.hide()
        self._say("Stopped. No more calls will be made.", Tone.GOOD)
        self.stop_requested.emit()

    @Slot()
    def _on_connect_clicked(self) -> None:
        self.connect_requested.emit(self._picker.server_name)

    @Slot()
    def _on_controls_remade(self) -> None:
        controls = controls_in(self)
        if controls != self._controls:
            self._controls = controls
            order_tabs(self)


def _of_set(position: int, violation: SchemaViolation) -> str:
    where = ".".join(str(step) for step in violation.path)
    return ": ".join(part for part in (f"set {number(position)}", where, violation.message) if part)


_SIZE: Final = QSize(900, 680)  # the first size, if the screen has room


class CallDialog(QDialog):
    """A `CallForm` in a separate, non-modal window, so that jobs can be watched meanwhile."""

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("New call")
        self.setModal(False)
        self.setSizeGripEnabled(True)
        self.form = CallForm(appearance, self)
        close = QPushButton("&Close", self)
        close.setAutoDefault(False)
        close.clicked.connect(self.reject)
        close.setToolTip("Close the window and keep what you entered (Esc)")
        self.form.add_button(close)
        in_column((self.form, 1), of=self)
        fit_to_screen(self, _SIZE)
