"""What holds for every window: nothing of others is markup, and all of it fits the screen."""

import importlib
import json
import pkgutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QAbstractItemModel, QAbstractListModel, QModelIndex, QObject, Qt
from PySide6.QtGui import QAccessible, QAction, QImage, QKeySequence, QShortcut
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QDialog,
    QFileDialog,
    QFrame,
    QHeaderView,
    QKeySequenceEdit,
    QLabel,
    QMenuBar,
    QMessageBox,
    QRadioButton,
    QTabBar,
    QTabWidget,
    QWidget,
)

import mcp_progress_monitor.gui
from mcp_progress_monitor.gui.common.controls import plain_tip
from mcp_progress_monitor.gui.common.side_delegate import SideDelegate
from mcp_progress_monitor.gui.common.tables import RowHover
from mcp_progress_monitor.gui.every_command import SECTIONS
from mcp_progress_monitor.gui.main_window import MainWindow
from mcp_progress_monitor.gui.preferences import Preferences
from mcp_progress_monitor.gui.user_settings import AppearanceSettings, UserSettings
from tests.architecture.source import ROOT
from tests.gui.every_window import FRAME, EveryWindow, screen_environ
from tests.patience import PATIENCE_S

HOSTILE = "<h1>E"
"""As in a name: Qt takes the whole text that begins with it for markup."""
_NO_VERBS = frozenset(
    {"A", "An", "For", "In", "No", "On", "The", "These", "This", "What", "Whether"}
)
ROLES = (Qt.ItemDataRole.ToolTipRole, Qt.ItemDataRole.StatusTipRole, Qt.ItemDataRole.WhatsThisRole)


def might_be_markup(text: str) -> bool:
    """Whether Qt shows the heading as one (as `Qt::mightBeRichText`, for this very text)."""
    return HOSTILE in text.partition("\n")[0]


def texts_of(part: QObject) -> Iterator[tuple[str, str]]:
    """Every text of a widget or an action that Qt may take for markup."""
    if isinstance(part, QWidget | QAction):
        yield "tool tip", part.toolTip()
        yield "status tip", part.statusTip()
        yield "what's this", part.whatsThis()
    if isinstance(part, QLabel) and part.textFormat() is not Qt.TextFormat.PlainText:
        yield "label", part.text()
    if isinstance(part, QMessageBox) and part.textFormat() is not Qt.TextFormat.PlainText:
        yield "message box", part.text()
    if isinstance(part, QTabBar | QTabWidget):
        for place in range(part.count()):
            yield "tab", part.tabToolTip(place)
    if isinstance(part, QAbstractItemView | QComboBox):
        yield from tips_in(part.model())
    if isinstance(part, QHeaderView):
        for section in range(part.count()):
            for role in ROLES:
                data = part.model().headerData(section, part.orientation(), role)
                yield "header", str(data or "")


def tips_in(model: QAbstractItemModel, below: QModelIndex | None = None) -> Iterator[Any]:
    parent = QModelIndex() if below is None else below
    for row in range(min(model.rowCount(parent), 40)):
        is_list = isinstance(model, QAbstractListModel)  # whose number of columns is private
        for column in range(1 if is_list else model.columnCount(parent)):
            index = model.index(row, column, parent)
            for role in ROLES:
                yield f"item {row}, {column}", str(index.data(role) or "")
        yield from tips_in(model, model.index(row, 0, parent))


@contextmanager
def made_in(folder: Path, qapp: QApplication, text: str = HOSTILE) -> Iterator[EveryWindow]:
    made = EveryWindow(text, folder)
    yield made
    for widget in made.kept:
        widget.hide()  # the end of the last window would end the next test's loop
        widget.deleteLater()
    made.deleteLater()
    qapp.processEvents()


def shown(every: EveryWindow, qapp: QApplication) -> list[tuple[str, QWidget]]:
    windows = list(every.all())
    for _, window in windows:
        window.show()
    for _ in range(4):
        qapp.processEvents()
    return windows


@pytest.fixture
def every(qapp: QApplication, tmp_path: Path) -> Iterator[EveryWindow]:
    with made_in(tmp_path, qapp) as made:
        yield made


@pytest.fixture(scope="module")
def _windows() -> Iterator[tuple[ExitStack, list[tuple[str, QWidget]]]]:
    with ExitStack() as stack:
        yield stack, []


@pytest.fixture
def windows(
    qapp: QApplication, tmp_path: Path, _windows: tuple[ExitStack, list[tuple[str, QWidget]]]
) -> list[tuple[str, QWidget]]:
    """All windows, shown: made by the first test, in its home, for all that look or press Tab."""
    stack, made = _windows
    if not made:
        made += stack.enter_context(made_in(tmp_path, qapp)).all()
        for _name, window in made:
            window.show()
    return made


def test_every_key_has_a_command_that_can_be_given_another(
    windows: list[tuple[str, QWidget]],
) -> None:
    unnamed = {
        key.toString(QKeySequence.SequenceFormat.PortableText)
        for _name, each in windows
        for shortcut in each.findChildren(QShortcut)
        if not shortcut.objectName()
        for key in shortcut.keys()  # noqa: SIM118  # a shortcut
    }
    assert unnamed <= {"Esc", "Enter", "Del"}  # the last two are second keys in the list of jobs


def test_no_text_of_others_is_taken_for_markup(windows: list[tuple[str, QWidget]]) -> None:
    found, tips = [], 0
    for name, window in windows:
        for part in (window, *window.findChildren(QObject)):
            for what, text in texts_of(part):
                tips += plain_tip(HOSTILE)[4:-5] in text
                if might_be_markup(text):
                    found.append(f"{name}: {what} of {type(part).__name__}: {text[:60]}")
    assert found == []
    assert tips > 20  # else nothing was walked through


def controls_of(window: QWidget) -> Iterator[QWidget]:
    """Everything in a window that takes the focus, but for what Qt has within its own controls."""
    for part in window.findChildren(QWidget):
        is_of_qt = isinstance(part.parent(), QAbstractSpinBox | QComboBox | QKeySequenceEdit)
        is_popup = part.window() is not window
        takes_focus = bool(part.focusPolicy() & Qt.FocusPolicy.TabFocus)
        if takes_focus and not part.isHidden() and not is_of_qt and not is_popup:
            yield part


def test_every_control_has_a_name_for_screen_readers(windows: list[tuple[str, QWidget]]) -> None:
    nameless, count = [], 0
    for name, window in windows:
        for part in controls_of(window):
            count += 1
            reported = QAccessible.queryAccessibleInterface(part)
            if not reported.text(QAccessible.Text.Name).strip():
                nameless.append(f"{name}: {type(part).__name__} in {type(part.parent()).__name__}")
    assert nameless == []
    assert count > 600  # else nothing was walked through


def test_tab_reaches_every_control_of_every_dialog(
    qapp: QApplication, windows: list[tuple[str, QWidget]]
) -> None:
    lost, count = [], 0
    for _name, window in windows:
        window.hide()
    for name, window in windows:
        is_popup = window.windowFlags() & Qt.WindowType.Popup == Qt.WindowType.Popup
        if not isinstance(window, QDialog) or is_popup:
            continue
        window.show()
        window.activateWindow()
        qapp.processEvents()
        way = set(tabbed(window))
        count += len(way)
        missed = [each for each in controls_of(window) if is_reachable(each) and each not in way]
        lost += [f"{name}: {type(each).__name__} {each.accessibleName()}" for each in missed]
    assert lost == []
    assert count > 150  # else nothing was walked through


def test_tab_reaches_every_control_of_the_window_whichever_pane_is_in_front(
    qapp: QApplication, every: EveryWindow
) -> None:
    window = every.main()
    every.kept.append(window)
    window.show()
    window.activateWindow()
    for name in window.docks:
        window.open_dock(name)
        qapp.processEvents()
        window.job_list.table.setFocus()
        way = set(tabbed(window))
        seen = [each for each in controls_of(window) if not each.visibleRegion().isEmpty()]
        missed = [each for each in seen if is_reachable(each) and each not in way]
        assert [(name, type(each).__name__, each.accessibleName()) for each in missed] == []
        assert len(way) > 10


def mnemonics(whole: QWidget) -> Iterator[tuple[str, str]]:
    """The keys of what is seen in a window or a part of it, each with the text that has it."""
    for part in [whole, *whole.findChildren(QWidget)]:
        texts: list[str] = []
        is_label = isinstance(part, QLabel) and part.buddy() is not None
        if part.window() is not whole.window() or part.visibleRegion().isEmpty():
            continue
        if isinstance(part, QAbstractButton) or (isinstance(part, QLabel) and is_label):
            texts = [part.text()]
        elif isinstance(part, QTabBar):
            texts = [part.tabText(at) for at in range(part.count()) if part.isTabVisible(at)]
        elif isinstance(part, QMenuBar):
            texts = [action.text() for action in part.actions()]
        for text in texts:
            if key := QKeySequence.mnemonic(text).toString():
                yield key, text


def test_no_two_things_in_a_window_have_the_same_mnemonic(
    qapp: QApplication, windows: list[tuple[str, QWidget]]
) -> None:
    double = []
    of_menus: set[str] = set()
    for _name, window in windows:
        window.hide()
    for name, window in windows:
        window.show()
        qapp.processEvents()
        for dock in window.docks if isinstance(window, MainWindow) else [""]:
            if isinstance(window, MainWindow):
                window.open_dock(dock)
                of_menus |= {key for key, _text in mnemonics(window.menuBar())}
                qapp.processEvents()
            found: dict[str, list[str]] = {}
            for key, text in mnemonics(window):
                found.setdefault(key, []).append(text)
            double += [(name, dock, key, each) for key, each in found.items() if len(each) > 1]
        window.hide()
    assert double == []
    commands = (each for section in SECTIONS.values() for each in section.commands)
    keys = {key for command in commands for key in command.keys}
    assert of_menus
    assert of_menus & keys == set(), "the menu would take the keys"


def tabbed(window: QWidget) -> Iterator[QWidget]:
    """What has the focus in turn while Tab is pressed, until it is where it was."""
    seen: list[QWidget] = []
    for _press in range(400):
        focused = window.focusWidget()
        if not seen or focused is not seen[-1]:  # a text goes through its links
            if focused in seen:
                return
            seen.append(focused)
            yield focused
        QTest.keyClick(focused, Qt.Key.Key_Tab, Qt.KeyboardModifier.NoModifier)


def is_reachable(part: QWidget) -> bool:
    """Whether Tab has to come by: of radio buttons it is the chosen one, which the arrows change.

    Pages hand the focus on to their tabs.
    """
    is_other_radio = isinstance(part, QRadioButton) and not part.isChecked()
    is_seen = part.isVisible() and part.isEnabled()
    return is_seen and not is_other_radio and not isinstance(part, QTabWidget)


def test_tool_tips_say_what_happens_and_end_with_their_keys(
    windows: list[tuple[str, QWidget]],
) -> None:
    """The verb first, the shortcut last: `Show only matching messages (Ctrl+F)`."""
    odd = set()
    for _name, window in windows:
        parts: list[QAction | QAbstractButton] = list(window.findChildren(QAction))
        for part in (*parts, *window.findChildren(QAbstractButton)):
            tip = "" if isinstance(part.parent(), QMessageBox) else part.toolTip()
            first = tip.partition("\n")[0]
            keys = first.find("(Ctrl+")
            ends_with_keys = keys < 0 or first.endswith(")")
            is_reported = first != part.text()  # what has no tip shows its text
            if is_reported and (first.partition(" ")[0] in _NO_VERBS or not ends_with_keys):
                odd.add(first)
    assert odd == set()


def test_every_list_and_table_tints_the_row_under_the_mouse(
    windows: list[tuple[str, QWidget]],
) -> None:
    plain = []
    for name, window in windows:
        for view in window.findChildren(QAbstractItemView):
            is_tinted = isinstance(view.itemDelegate(), SideDelegate) and view.hasMouseTracking()
            is_of_qt = isinstance(view, QHeaderView) or isinstance(
                view.window(), QFileDialog | QFrame
            )
            hovers = [each for each in view.children() if isinstance(each, RowHover)]
            if not is_of_qt and not is_tinted and len(hovers) != 1:
                plain.append(f"{name}: {type(view).__name__} {view.accessibleName()}")
    assert plain == []


def test_a_theme_chosen_live_leaves_no_colour_of_the_one_before(
    qapp: QApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time()
    monkeypatch.setattr("time.time", lambda: now)  # ages and dates are the same in both
    settings, grabs = UserSettings(Preferences(tmp_path)), list[dict[str, QImage]]()
    with ExitStack() as stack:
        for theme in ("light", "contrast"):
            settings.set(AppearanceSettings.scheme, theme)
            every = stack.enter_context(made_in(tmp_path, qapp, "a name of usual length"))
            every.appearance.follow(qapp.palette())
            windows = shown(every, qapp)
            main = windows[0][1]
            assert isinstance(main, MainWindow)
            stack.callback(main.theme.choose, "system")
            if theme == "light":  # what was painted now must not stay
                main.theme.choose("contrast")
                qapp.processEvents()
            grabs.append({name: widget.grab().toImage() for name, widget in windows})
            for widget in every.kept:
                widget.hide()
    live, fresh = grabs
    assert len(live) == len(fresh) > 30
    assert [name for name, image in live.items() if image != fresh[name]] == []


def test_every_kind_of_dialog_is_among_the_windows(windows: list[tuple[str, QWidget]]) -> None:
    for module in pkgutil.walk_packages(
        mcp_progress_monitor.gui.__path__, "mcp_progress_monitor.gui."
    ):
        importlib.import_module(module.name)
    kinds = {
        kind
        for kind in set(descendants(QDialog)) - set(descendants(QFileDialog))
        if kind.__module__.startswith("mcp_progress_monitor.gui.")
    }
    made = {type(window) for _, window in windows}
    bases = {base for kind in made for base in kind.__mro__[1:]}
    assert {kind.__name__ for kind in kinds - made - bases} == set()


def descendants(kind: type[Any]) -> Iterator[type[Any]]:
    for each in kind.__subclasses__():
        yield each
        yield from descendants(each)


def fits_all(tmp_path: Path, width: int, height: int, scale: int) -> None:
    least = (width // scale, height // scale - FRAME)
    done = subprocess.run(
        [sys.executable, "-m", "tests.gui.every_window", *map(str, least)],
        cwd=ROOT,
        env=screen_environ(width, height, scale, tmp_path),
        capture_output=True,
        timeout=2 * PATIENCE_S,
        check=True,
    )
    assert json.loads(done.stdout) == []


@pytest.mark.parametrize(("width", "height", "scale"), [(900, 600, 1)])
def test_every_window_fits_the_smallest_screen(
    tmp_path: Path, width: int, height: int, scale: int
) -> None:
    fits_all(tmp_path, width, height, scale)


@pytest.mark.campaign
@pytest.mark.parametrize(
    ("width", "height", "scale"), [(1366, 768, 1), (1366, 768, 2), (1920, 1080, 2)]
)
def test_every_window_fits_other_screens(
    tmp_path: Path, width: int, height: int, scale: int
) -> None:
    fits_all(tmp_path, width, height, scale)
