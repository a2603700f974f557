"""The pages of the server editor: command or URL, connection, restarts."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import (
    QCheckBox,
    QDoubleSpinBox,
    QFileDialog,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QRadioButton,
    QSpinBox,
    QWidget,
)

from mcp_progress_monitor.gui.common.controls import QuietComboBox
from mcp_progress_monitor.gui.common.layout import in_row
from mcp_progress_monitor.gui.servers.draft import Draft, ServerKind, usual_name
from mcp_progress_monitor.gui.servers.editor_fields import EditorPage, ValueRow, ValueTable
from mcp_progress_monitor.gui.theme import GAP
from mcp_progress_monitor.path_checks import here
from mcp_progress_monitor.snapshots.definitions import FileWatch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_progress_monitor.gui.servers.draft import EnteredValue
    from mcp_progress_monitor.gui.theme import Appearance
    from mcp_progress_monitor.snapshots.definitions import Era

_ERAS: Final[tuple[Era, ...]] = ("auto", "handshake", "per-request")
_COMMAND: Final = ("command", "folder", "variables")
_URL: Final = ("url", "transport", "headers", "signs_in")
_SIGN_IN: Final = ("client_id", "client_secret", "scope")
_DAY_S: Final = 86_400


class ServerPage(EditorPage):
    """Name, kind, and the command or URL."""

    changed = Signal()

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(appearance, parent)
        self.is_command = QRadioButton("Comman&d (stdio)", self)
        self.is_url = QRadioButton("&URL (HTTP)", self)
        self.name = QLineEdit(self)
        self.command = QLineEdit(self)
        self.command.setPlaceholderText("python -m my_server --verbose")
        self.folder = QLineEdit(self)
        self.folder.setPlaceholderText(str(here() or ""))
        self.browse = QPushButton("Bro&wse…", self)
        self.browse.setAutoDefault(False)
        self.variables = ValueTable("&Add variable", appearance, self)
        self.url = QLineEdit(self)
        self.url.setPlaceholderText("https://example.com/mcp")
        self.transport = QuietComboBox(self)
        self.transport.addItems(["Streamable HTTP", "HTTP+SSE (up to 2024-11-05)"])
        self.headers = ValueTable("&Add header", appearance, self, has_bearer=True)
        self.signs_in = QCheckBox("Use &OAuth in the browser when required", self)
        self.client_id = QLineEdit(self)
        self.client_id.setPlaceholderText("none: register automatically")
        self.client_id.setToolTip("Enter a client id or the URL of a client id metadata document")
        self.client_secret = ValueRow(Draft().client_secret, appearance, self, is_named=False)
        self.scope = QLineEdit(self)
        self.scope.setPlaceholderText("as the server requests")
        self.at_start = QCheckBox("Connect w&hen this program starts", self)
        self._add_fields()
        self._connect()
        self._on_changed()

    def draft(self, draft: Draft) -> Draft:
        """`draft` with the content of this page."""
        return dataclasses.replace(
            draft,
            kind=ServerKind.URL if self.is_url.isChecked() else ServerKind.COMMAND,
            name=self.name.text(),
            command=self.command.text(),
            folder=self.folder.text(),
            variables=self.variables.entered(),
            url=self.url.text(),
            is_older=self.transport.currentIndex() == 1,
            headers=self.headers.entered(),
            signs_in=self.signs_in.isChecked(),
            client_id=self.client_id.text(),
            client_secret=self.client_secret.entered(),
            scope=self.scope.text(),
            connects_at_start=self.at_start.isChecked(),
        )

    def set_draft(self, draft: Draft) -> None:
        (self.is_url if draft.kind is ServerKind.URL else self.is_command).setChecked(True)
        self.name.setText(draft.name)
        self.command.setText(draft.command)
        self.folder.setText(draft.folder)
        self.variables.set_entered(draft.variables)
        self.url.setText(draft.url)
        self.transport.setCurrentIndex(int(draft.is_older))
        self.headers.set_entered(draft.headers)
        self.signs_in.setChecked(draft.signs_in)
        self.client_id.setText(draft.client_id)
        self._set_secret(draft.client_secret)
        self.scope.setText(draft.scope)
        self.at_start.setChecked(draft.connects_at_start)
        self._on_changed()

    def show_problems(self, problems: Mapping[str, str]) -> QWidget | None:
        """Show each error at its field, and those of rows within them."""
        first = super().show_problems(problems)
        for field, table in (("variables", self.variables), ("headers", self.headers)):
            within = table.show_problems(field, problems)
            first = first or within
        return first

    def set_keyring_problem(self, words: str) -> None:
        """Set why there is no keyring, shown where one is needed."""
        self.variables.set_keyring_problem(words)
        self.headers.set_keyring_problem(words)

    def _add_fields(self) -> None:
        kinds = QWidget(self)
        in_row(self.is_command, self.is_url, 1, of=kinds, margins=0, spacing=GAP)
        self.is_command.setChecked(True)
        kinds.setFocusProxy(self.is_command)
        self.add("kind", "Kind", kinds)
        self.add("name", "&Name", self.name)
        self.add("command", "&Command line", self.command)
        self.add("folder", "&Folder", self._with_button(self.folder, self.browse))
        self.add("variables", "Variables", self.variables)
        self.add("url", "U&RL", self.url)
        self.add("transport", "&Transport", self.transport)
        self.add("headers", "Headers", self.headers)
        self.add("signs_in", "Sign in", self.signs_in)
        self.add("client_id", "Client &id", self.client_id)
        self.add("client_secret", "Client secret", self.client_secret)
        self.add("scope", "Sco&pe", self.scope)
        self.add("at_start", "", self.at_start)

    def _with_button(self, line: QLineEdit, button: QPushButton) -> QWidget:
        both = QWidget(self)
        in_row((line, 1), button, of=both, margins=0)
        both.setFocusProxy(line)
        line.setAccessibleName("Folder")
        return both

    def _connect(self) -> None:
        for line in (self.name, self.command, self.folder, self.url, self.client_id, self.scope):
            line.textChanged.connect(self._on_changed)
        for box in (self.is_url, self.signs_in, self.at_start):
            box.toggled.connect(self._on_changed)
        for table in (self.variables, self.headers):
            table.changed.connect(self._on_changed)
        self.client_secret.changed.connect(self._on_changed)
        self.transport.currentIndexChanged.connect(self._on_changed)
        self.browse.clicked.connect(self._on_browse)

    def _set_secret(self, secret: EnteredValue) -> None:
        old = self.client_secret
        self.client_secret = ValueRow(secret, self.appearance, self, is_named=False)
        self.client_secret.changed.connect(self._on_changed)
        box = self.fields["client_secret"]
        layout = box.layout()
        if layout is not None:
            layout.replaceWidget(old, self.client_secret)
        box.control = self.client_secret
        box.setFocusProxy(self.client_secret)
        old.hide()
        old.deleteLater()

    @Slot()
    def _on_changed(self) -> None:
        is_url = self.is_url.isChecked()
        signs_in = is_url and self.signs_in.isChecked()
        for names, is_shown in ((_COMMAND, not is_url), (_URL, is_url), (_SIGN_IN, signs_in)):
            for name in names:
                self.form.setRowVisible(self.fields[name], is_shown)
        usual = usual_name(self.command.text(), self.url.text(), is_url=is_url)
        words = "from the URL" if is_url else "from the command"
        self.name.setPlaceholderText(usual or words)
        self.changed.emit()

    @Slot()
    def _on_browse(self) -> None:
        dialog = QFileDialog(self, "Folder to start the server in", self.folder.text())
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.fileSelected.connect(self.folder.setText)
        dialog.open()


class ConnectionPage(EditorPage):
    """Protocol, limits and keep-alive."""

    changed = Signal()

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(appearance, parent)
        self.era = QuietComboBox(self)
        self.era.addItems(
            ["Detect (recommended)", "Handshake (up to 2025-11-25)", "Per request (2026-07-28)"]
        )
        self.connect_timeout = _seconds(self, least=0, most=_DAY_S)
        self.connect_timeout.setSpecialValueText("Automatic")
        self.idle = QLineEdit(self)
        self.idle.setPlaceholderText("30 min for tools, 1 min for other requests")
        self.total = QLineEdit(self)
        self.total.setPlaceholderText("off")
        self.ping = _seconds(self, least=0, most=_DAY_S)
        self.ping.setSpecialValueText("never")
        off = "Seconds or “off”. Applies to calls without limits of their own."
        self.add("era", "&Protocol", self.era)
        self.add(
            "connect_timeout",
            "Co&nnection timeout",
            self.connect_timeout,
            (
                "From start to the end of negotiation, without the sign-in. Automatic: 15 s "
                "for a URL, up to 60 s for a command that is starting."
            ),
        )
        self.add("idle", "&Idle timeout of calls", self.idle, off)
        self.add("total", "T&otal timeout of calls", self.total, off)
        self.add(
            "ping",
            "&Keep-alive after",
            self.ping,
            (
                "Pings a silent server while calls are pending, to tell a hung server from a "
                "slow one."
            ),
        )
        for line in (self.idle, self.total):
            line.textChanged.connect(self.changed)
        for box in (self.connect_timeout, self.ping):
            box.valueChanged.connect(self.changed)
        self.era.currentIndexChanged.connect(self.changed)

    def draft(self, draft: Draft) -> Draft:
        """`draft` with the content of this page."""
        return dataclasses.replace(
            draft,
            era=_ERAS[self.era.currentIndex()],
            connect_timeout_s=self.connect_timeout.value() or None,
            idle=self.idle.text(),
            total=self.total.text(),
            ping_s=self.ping.value(),
        )

    def set_draft(self, draft: Draft) -> None:
        self.era.setCurrentIndex(_ERAS.index(draft.era))
        self.connect_timeout.setValue(draft.connect_timeout_s or 0.0)
        self.idle.setText(draft.idle)
        self.total.setText(draft.total)
        self.ping.setValue(draft.ping_s)


class RestartPage(EditorPage):
    """Reconnecting when the server ends, and restarting when its files change."""

    changed = Signal()

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(appearance, parent)
        self.restarts = QCheckBox("Re&connect automatically when it ends", self)
        self.limit = QSpinBox(self)
        self.limit.setRange(1, 1000)
        self.limit.setSuffix(" times in a row")
        self.first = _seconds(self, least=0, most=_DAY_S)
        self.longest = _seconds(self, least=0, most=_DAY_S)
        self.watches = QCheckBox("&Restart when its files change", self)
        self.paths = QPlainTextEdit(self)
        self.paths.setPlaceholderText("its folder and the files in its arguments")
        self.paths.setTabChangesFocus(True)
        self.paths.setFixedHeight(self.paths.fontMetrics().lineSpacing() * 4 + GAP)
        self.patterns = QLineEdit(self)
        self.patterns.setPlaceholderText(" ".join(FileWatch().patterns))
        doubles = "Doubles each time, up to the longest delay."
        self.add("restarts", "", self.restarts)
        self.add("restart_limit", "At &most", self.limit)
        self.add("first_delay", "&First delay", self.first, doubles)
        self.add("longest_delay", "&Longest delay", self.longest)
        self.add("watches", "", self.watches)
        self.add(
            "paths",
            "Files and f&olders",
            self.paths,
            "One per line; folders include everything in them.",
        )
        self.add(
            "patterns",
            "File &name patterns",
            self.patterns,
            "Patterns such as *.py, separated by spaces.",
        )
        self._connect()
        self._enable()

    def draft(self, draft: Draft) -> Draft:
        """`draft` with the content of this page."""
        lines = self.paths.toPlainText().splitlines()
        return dataclasses.replace(
            draft,
            restarts=self.restarts.isChecked(),
            restart_limit=self.limit.value(),
            first_delay_s=self.first.value(),
            longest_delay_s=self.longest.value(),
            watches=self.watches.isChecked(),
            watch_paths=tuple(line.strip() for line in lines if line.strip()),
            patterns=tuple(self.patterns.text().split()),
        )

    def set_draft(self, draft: Draft) -> None:
        self.restarts.setChecked(draft.restarts)
        self.limit.setValue(draft.restart_limit)
        self.first.setValue(draft.first_delay_s)
        self.longest.setValue(draft.longest_delay_s)
        self.watches.setChecked(draft.watches)
        self.paths.setPlainText("\n".join(draft.watch_paths))
        usual = FileWatch().patterns
        self.patterns.setText("" if draft.patterns == usual else " ".join(draft.patterns))

    def _connect(self) -> None:
        for box in (self.restarts, self.watches):
            box.toggled.connect(self._enable)
        for number in (self.limit, self.first, self.longest):
            number.valueChanged.connect(self.changed)
        self.paths.textChanged.connect(self.changed)
        self.patterns.textChanged.connect(self.changed)

    @Slot()
    def _enable(self) -> None:
        for control in (self.limit, self.first, self.longest):
            control.setEnabled(self.restarts.isChecked())
        for line in (self.paths, self.patterns):
            line.setEnabled(self.watches.isChecked())
        self.changed.emit()


def _seconds(parent: QWidget, *, least: float, most: float) -> QDoubleSpinBox:
    box = QDoubleSpinBox(parent)
    box.setRange(least, most)
    box.setDecimals(1)
    box.setSuffix(" s")
    return box
