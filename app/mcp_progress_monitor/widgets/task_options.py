"""Whether a call is to become a task, and for how long its server is asked to keep that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QHBoxLayout, QLabel, QLineEdit, QWidget

from mcp_progress_monitor.models.json_input import InputError, read_number
from mcp_progress_monitor.protocol.task_requests import LONGEST_TTL_MS, TaskOffer, TaskWay, TaskWish
from mcp_progress_monitor.widgets.appearance import GAP, Appearance
from mcp_progress_monitor.widgets.plain_text import plain_tip
from mcp_progress_monitor.widgets.schema_field import QuietComboBox, mark_wrong

if TYPE_CHECKING:
    from mcp_progress_monitor.models.offers import Offer
    from mcp_progress_monitor.sessions.snapshot import ServerSnapshot

_WISHES: Final[tuple[bool | None, ...]] = (None, True, False)
_AUTO, _, _NO = range(3)


class TaskOptions(QWidget):
    """A line of two controls, enabled as far as the server and the tool allow; tips say why."""

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._why = ""
        self._has_ttl = False
        self.choice = QuietComboBox(self)
        self.choice.addItems([self.tr("Automatic"), self.tr("Yes"), self.tr("No")])
        self.choice.setAccessibleName(self.tr("As a task"))
        self.ttl = QLineEdit(self)
        self.ttl.setAccessibleName(self.tr("Time to live in seconds"))
        self.ttl.setMaximumWidth(110)
        self._lay_out()
        self.choice.currentIndexChanged.connect(self._on_choice_changed)
        self.show_offer(None, None)

    def show_offer(self, server: ServerSnapshot | None, offer: Offer | None) -> None:
        """Allow what can be chosen for `offer` of `server`; what was chosen stays if it can."""
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

    def wish(self) -> TaskWish:
        """Return what was chosen; the automatic where nothing can be.

        Raises:
            InputError: the time to live is none; it is marked, and the message names it.
        """
        if self._why:
            return TaskWish()
        ttl_ms = self._read_ttl() if self.ttl.isEnabled() else None
        return TaskWish(_WISHES[self.choice.currentIndex()], ttl_ms)

    def state(self) -> dict[str, Any]:
        """Return what is to be remembered of the tool."""
        return {"as_task": _WISHES[self.choice.currentIndex()], "ttl_s": self.ttl.text()}

    def restore(self, state: dict[str, Any] | None) -> None:
        """Take up what was remembered of a tool; nothing is the automatic."""
        wish, ttl = (state or {}).get("as_task"), (state or {}).get("ttl_s")
        chosen = _WISHES.index(wish) if isinstance(wish, bool) else _AUTO
        self.choice.setCurrentIndex(chosen)
        self.ttl.setText(ttl[:20] if isinstance(ttl, str) else "")
        mark_wrong(self.ttl, self._appearance, is_wrong=False)

    def _lay_out(self) -> None:
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GAP)
        for words, control in (
            (self.tr("As tas&k"), self.choice),
            (self.tr("&Keep for, s"), self.ttl),
        ):
            label = QLabel(words, self)
            label.setBuddy(control)
            row.addWidget(label)
            row.addWidget(control)
        row.addStretch()

    def _why_not(self, tasks: TaskOffer | None, offer: Offer | None) -> str:
        """Why there is nothing to be chosen; nothing where there is."""
        if tasks is None or offer is None:
            return self.tr("The server is not connected, or nothing is chosen")
        if offer.kind.value != "tools/call":
            return self.tr("Only calls of tools can be tasks")
        if not tasks.has_calls:
            return self.tr("The server offers no tasks")
        if tasks.way is TaskWay.CORE and offer.task_support == "forbidden":
            return self.tr("The tool forbids it: it declares taskSupport “forbidden”")
        return ""

    def _tip(self, support: str | None, *, is_core: bool) -> str:
        if not is_core:
            return self.tr(
                "In 2026-07-28 the server decides. “No” tells it that a task would not be "
                "understood; “Yes” only says that one is expected"
            )
        if support == "required":
            return self.tr(
                "The tool requires it: it declares taskSupport “required”. "
                "“No” calls it plainly all the same, which the server is to refuse"
            )
        if support == "optional":
            return self.tr(
                "The tool allows it: it declares taskSupport “optional”. Automatic calls it plainly"
            )
        return self.tr(
            "The tool does not say that it can be a task: by the protocol that forbids it, and "
            "the server is to refuse. Automatic calls it plainly"
        )

    def _read_ttl(self) -> float | None:
        text = self.ttl.text().strip()
        try:
            seconds = None if not text else float(read_number(text, is_integer=False))
            if seconds is not None and not 1 <= seconds * 1000 <= LONGEST_TTL_MS:
                raise InputError(self.tr("a positive number of seconds is wanted"))  # noqa: TRY301
        except (InputError, OverflowError) as error:
            mark_wrong(self.ttl, self._appearance, is_wrong=True)
            raise InputError(f"{self.ttl.accessibleName()}: {error}") from None
        mark_wrong(self.ttl, self._appearance, is_wrong=False)
        return None if seconds is None else seconds * 1000

    @Slot()
    def _on_choice_changed(self) -> None:
        is_possible = self._has_ttl and self.choice.currentIndex() != _NO
        self.ttl.setEnabled(is_possible)
        words = self.tr("as the server likes") if is_possible else ""
        self.ttl.setPlaceholderText(words)
        tip = self.tr("How long the server is asked to keep the task; empty leaves that to it")
        if not is_possible:
            tip = self._why or self.tr(
                "Only for a task that is asked for; in 2026-07-28 the server decides"
            )
        self.ttl.setToolTip(plain_tip(tip))
