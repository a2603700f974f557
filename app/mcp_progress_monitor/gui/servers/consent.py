"""Approval: exactly what would run or be contacted, shown and approved first."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QHeaderView,
    QLabel,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from mcp_progress_monitor.catalogue.trust import with_visible_gaps
from mcp_progress_monitor.formatting import count, elide, one_line, visible
from mcp_progress_monitor.gui.common.controls import read_only_text
from mcp_progress_monitor.gui.common.dialog_buttons import DialogButtons
from mcp_progress_monitor.gui.common.layout import fit_to_screen, in_column
from mcp_progress_monitor.gui.common.tables import FlatHeader, dress_rows
from mcp_progress_monitor.gui.theme import GAP, emphasised
from mcp_progress_monitor.wording.approval import (
    CHANGED,
    CHANGED_BEFORE,
    OTHER_DEFINITION,
    PROMISE,
    differs_in_values,
    rows,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mcp_progress_monitor.catalogue.trust import EarlierApproval
    from mcp_progress_monitor.errors import ErrorDetails
    from mcp_progress_monitor.snapshots.definitions import ServerDefinition
    from mcp_progress_monitor.tracker.snapshot import JobId

_ORIGIN: Final = 300  # characters of a path that are shown
_LINE: Final = 68  # characters in a line of a command
_NAME: Final = 60
_LONG: Final = 1000
"""Characters of a value from which on its length is shown: its end is out of sight at first."""


def in_lines(text: str) -> str:
    """A long text in lines that fit the window, cut within a word if necessary."""
    return "\n".join(textwrap.wrap(text, _LINE, drop_whitespace=False) or [text])


class ConsentDialog(QDialog):
    """Shows servers with command, folder and the names of variables, each of them in full.

    Of several, none is checked at first: a command runs only if the user checked it. Approval is
    for exactly what is shown; changes require a new one.
    """

    servers_approved = Signal(object)

    def __init__(
        self,
        origin: str,
        definitions: Sequence[ServerDefinition],
        parent: QWidget | None = None,
        *,
        earlier: Sequence[EarlierApproval | None] = (),
        note: str = "",
        sources: Sequence[str] = (),
    ) -> None:
        """`earlier` has the earlier approval of each definition, in their order.

        `note` explains why they are to be started. With `sources`, the place of each, they are
        alternatives, of which one is started.
        """
        super().__init__(parent)
        self._is_one = len(definitions) == 1
        is_several = not self._is_one and not sources
        self.setWindowTitle("Connect these servers?" if is_several else "Connect this server?")
        self.tree = QTreeWidget(self)
        self.tree.setHeader(FlatHeader(self.tree))
        dress_rows(self.tree)
        self.tree.setHeaderLabels(["Server", "Runs or connects to"])
        self.tree.setAccessibleName("Servers and what they run")
        # Nothing is elided: what is wider than the window can be scrolled to.
        self.tree.header().setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
        self.tree.header().setStretchLastSection(False)
        self.tree.setTextElideMode(Qt.TextElideMode.ElideNone)
        self.tree.setHorizontalScrollMode(QTreeWidget.ScrollMode.ScrollPerPixel)
        # Scrolled by pixel, so that the end of a very high command can be seen.
        self.tree.setVerticalScrollMode(QTreeWidget.ScrollMode.ScrollPerPixel)
        self.tree.itemChanged.connect(self._on_item_changed)
        self._buttons = DialogButtons(self)
        text = "&Start selected servers" if is_several else "&Approve and start"
        self._start = self._buttons.addButton(text, QDialogButtonBox.ButtonRole.AcceptRole)
        cancel = self._buttons.addButton(QDialogButtonBox.StandardButton.Cancel)
        self._start.setAutoDefault(False)
        cancel.setDefault(True)
        self._buttons.accepted.connect(self.accept)
        self._buttons.rejected.connect(self.reject)
        self.news = self._label()
        self.news.setFont(emphasised(self.font()))
        self.news.hide()
        self._about = self._label()
        in_column(self.news, self._about, (self.tree, 1), self._buttons, of=self)
        self._show(origin, definitions, earlier, note, sources)
        fit_to_screen(self, QSize(720, 300 if self._is_one else 420))
        (cancel if self._is_one else self.tree).setFocus()

    @property
    def definitions(self) -> tuple[ServerDefinition, ...]:
        """The definitions that are shown."""
        return self._definitions

    @property
    def keys(self) -> frozenset[str]:
        """The keys of the shown definitions, to distinguish dialogs."""
        return frozenset(each.approval_key for each in self._definitions)

    def approved(self) -> tuple[ServerDefinition, ...]:
        """The definitions that are checked; a single one needs no check."""
        if self._is_one:
            return self._definitions
        return tuple(
            definition
            for item, definition in zip(self._items, self._definitions, strict=True)
            if item.checkState(0) is Qt.CheckState.Checked
        )

    def keep(
        self,
        origin: str,
        definitions: Sequence[ServerDefinition],
        *,
        earlier: Sequence[EarlierApproval | None] = (),
        note: str = "",
        sources: Sequence[str] = (),
    ) -> None:
        """Show other `definitions` instead, and say which servers were changed or removed.

        What changed has to be checked again. A single one cannot be started before the next call:
        a click that was meant for what was shown before must not approve it.
        """
        if self._shown == (origin, (*definitions,), (*earlier,), note, (*sources,)):
            self._start.setEnabled(bool(self.approved()))
            return
        names = {each.name for each in definitions}
        changed = [each.name for each in definitions if each.approval_key not in self.keys]
        gone = [each.name for each in self._definitions if each.name not in names]
        checked = {each.approval_key for each in self.approved()}
        self._say(gone, "{} removed or disabled.")
        self._say(changed, "{} changed. Review the new definition before you start it.")
        self._is_one = self._is_one and len(definitions) == 1
        self._show(origin, definitions, earlier, note, sources)
        for item, definition in zip(self._items, definitions, strict=True):
            if not self._is_one and definition.approval_key in checked:
                item.setCheckState(0, Qt.CheckState.Checked)
        if self._is_one and changed:
            self._start.setEnabled(False)

    @Slot()
    def accept(self) -> None:
        """Emit what is checked, and close."""
        self.servers_approved.emit(self.approved())
        super().accept()

    def _say(self, names: Sequence[str], text: str) -> None:
        """Say below the earlier news what happened to the servers of these names."""
        if names:
            shown = " and ".join(one_line(name, _NAME) for name in names)
            line = text.format(f"{shown} {'was' if len(names) == 1 else 'were'}")
            self.news.setText("\n".join(filter(None, [self.news.text(), line])))
            self.news.show()

    def _show(
        self,
        origin: str,
        definitions: Sequence[ServerDefinition],
        earlier: Sequence[EarlierApproval | None],
        note: str,
        sources: Sequence[str],
    ) -> None:
        self._shown = (origin, (*definitions,), (*earlier,), note, (*sources,))
        self.origin = origin
        self._definitions = tuple(definitions)
        self._earlier = (*earlier, *(None for _ in definitions[len(earlier) :]))
        self._sources = tuple(sources)
        places = (*self._sources, *("" for _ in definitions[len(sources) :]))
        parts = zip(self._definitions, self._earlier, places, strict=True)
        self.tree.clear()
        self._items = [self._added(*part) for part in parts]
        self.tree.expandAll()
        self.tree.resizeColumnToContents(0)
        self._about.setText("\n".join(filter(None, [note, self._about_text()])))
        self._start.setEnabled(bool(self.approved()))

    def _added(
        self, definition: ServerDefinition, earlier: EarlierApproval | None, source: str
    ) -> QTreeWidgetItem:
        item = QTreeWidgetItem([one_line(definition.name, _NAME), ""])
        if not self._is_one:
            item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
            item.setCheckState(0, Qt.CheckState.Unchecked)
        if earlier is not None:
            changes = earlier.changes or (OTHER_DEFINITION,)
            changed = self._row(CHANGED, *changes)
            for column in range(2):
                changed.setFont(column, emphasised(self.font()))
            item.addChild(changed)
        if source:
            item.addChild(self._row("Defined in", source))
        for label, value in list(rows(definition).items())[1:]:
            item.addChild(self._row(label, value))
        self.tree.addTopLevelItem(item)
        item.setFirstColumnSpanned(True)  # a long name leaves the room to the command
        return item

    def _row(self, label: str, *values: str) -> QTreeWidgetItem:
        """A row below a server; each value begins a line."""
        shown = [with_visible_gaps(visible(value)) for value in values]
        size = sum(map(len, shown))
        length = f"\n({count(size, 'character')})" if size > _LONG else ""
        row = QTreeWidgetItem([label + length, "\n".join(map(in_lines, shown))])
        for column in range(2):
            row.setTextAlignment(column, Qt.AlignmentFlag.AlignTop)
        row.setFlags(Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable)
        return row

    def _about_text(self) -> str:
        if not self._definitions:
            return "There is nothing left to start."
        one = "It is defined in {}. It runs only if you approve it."
        several = "They are defined in {}. Only the selected ones run."
        if self._sources:
            several = "Several definitions fit. Select the one to start."
        text = (one if self._is_one else several).format(elide(visible(self.origin), _ORIGIN))
        return " ".join(filter(None, [text, self._changes_note(), PROMISE]))

    def _label(self) -> QLabel:
        return QLabel(self, textFormat=Qt.TextFormat.PlainText, wordWrap=True)

    def _changes_note(self) -> str:
        if not any(self._earlier):
            return ""
        if self._is_one:
            return CHANGED_BEFORE
        return "You approved different definitions of some of them: they have changed."

    @Slot(QTreeWidgetItem)
    def _on_item_changed(self, changed: QTreeWidgetItem) -> None:
        """Of alternatives, only one is checked."""
        if self._sources and changed.checkState(0) is Qt.CheckState.Checked:
            for item in self._items:
                if item is not changed:
                    item.setCheckState(0, Qt.CheckState.Unchecked)
        self._start.setEnabled(bool(self.approved()))


class SavedServerDialog(QDialog):
    """Shows the exact saved command, folder and names of variables, beside the current ones.

    Nothing is run before the user approves. Values of variables are secrets: never shown, except
    that one differs.
    """

    saved_server_approved = Signal(object)
    """`tuple[JobId, ...]`, to be resumed with the saved definition."""

    def __init__(
        self,
        error: ErrorDetails,
        saved: ServerDefinition,
        now: ServerDefinition | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle("Server of a saved job")
        self._saved = saved
        self._now = now
        self._jobs: list[JobId] = []
        self.text = read_only_text(self, "What the saved definition runs")
        self.text.setPlainText("\n".join(self._lines()))
        self._buttons = DialogButtons(self)
        self.use = self._buttons.addButton(
            "&Start the saved command and resume", QDialogButtonBox.ButtonRole.AcceptRole
        )
        cancel = self._buttons.addButton(QDialogButtonBox.StandardButton.Cancel)
        for button in (self.use, cancel):
            button.setAutoDefault(False)
        cancel.setDefault(True)
        self._buttons.accepted.connect(self.accept)
        self._buttons.rejected.connect(self.reject)
        self.news = self._label()
        self.news.setFont(emphasised(self.font()))
        self.news.hide()
        self._lay_out(error)
        fit_to_screen(self, QSize(720, 300))
        cancel.setFocus()

    def add_job(self, job: JobId) -> None:
        """Apply the answer to `job` as well."""
        if job not in self._jobs:
            self._jobs.append(job)

    @property
    def server(self) -> str:
        """The name of the server that the jobs began on."""
        return self._saved.name

    @property
    def jobs(self) -> tuple[JobId, ...]:
        """The jobs that the answer applies to."""
        return tuple(self._jobs)

    def keep(self, jobs: Iterable[JobId], now: ServerDefinition | None) -> None:
        """Apply the answer to `jobs` only, and compare with the definition of `now`."""
        self._jobs = list(jobs)
        if now == self._now:
            return
        self._now = now
        self.text.setPlainText("\n".join(self._lines()))
        name = one_line(self._saved.name, _NAME)
        what = "was removed from the list" if now is None else "was changed"
        if now is not None and now.settled() == self._saved.settled():
            what = "has its saved definition again"
        self.news.setText(f"{name} {what} while this question was open.")
        self.news.show()

    @Slot()
    def accept(self) -> None:
        """Emit what was approved and close."""
        self.saved_server_approved.emit(self.jobs)
        super().accept()

    def _lines(self) -> Iterator[str]:
        now = self._now
        # Each with its folder, which was saved with the job.
        others = {} if now is None else rows(now.settled())
        for label, text in rows(self._saved.settled()).items():
            other = others.get(label, text)
            if other == text:
                yield f"{label}: {visible(text)}"
            else:
                yield f"{label} differs"
                yield "    " + f"saved: {visible(text)}"
                yield "    " + f"now:   {visible(other)}"
        if now is not None and differs_in_values(self._saved, now):
            yield "Variable values differ"

    def _lay_out(self, error: ErrorDetails) -> None:
        head = self._label(error.what, error.where)
        head.setFont(emphasised(self.font()))
        in_column(
            head,
            self.news,
            self._label(
                "A resume token works only with the server that issued it. Start only a "
                "command that you recognise."
            ),
            (self.text, 1),
            self._buttons,
            of=self,
            spacing=GAP,
        )

    def _label(self, *parts: str) -> QLabel:
        label = QLabel(self, textFormat=Qt.TextFormat.PlainText, wordWrap=True)
        label.setText(" — ".join(visible(part)[:1000] for part in parts if part))
        return label
