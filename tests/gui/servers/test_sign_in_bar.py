"""The bar that asks to sign in: one page at a time, seen whole, opened by a click alone."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.servers.sign_in import SignInBar
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.snapshots.servers import SignIn
from tests.gui.jobs.job_lists import heard

URL = "https://Login.example.com/authorize?state=<b>x</b>" + "s" * 300
ONE = SignIn("remote", URL)
TWO = SignIn("<i>two</i>", "https://two.example/authorize")


@pytest.fixture
def bar(qtbot: QtBot, appearance: Appearance) -> SignInBar:
    made = SignInBar(appearance)
    qtbot.addWidget(made)
    return made


def test_nothing_is_shown_while_nobody_waits(bar: SignInBar) -> None:
    assert bar.isHidden()
    bar.show_sign_ins([ONE])
    assert not bar.isHidden()
    bar.show_sign_ins([])
    assert bar.isHidden()
    assert bar.shown is None


def test_server_host_and_whole_address_are_plain_text(bar: SignInBar) -> None:
    bar.show_sign_ins([TWO])
    assert "<i>two</i>" in bar.what.text()
    assert bar.what.textFormat() is Qt.TextFormat.PlainText
    bar.show_sign_ins([ONE])
    assert bar.host.text() == "Login.example.com"
    assert bar.host.textFormat() is Qt.TextFormat.PlainText
    assert bar.whole.toPlainText() == URL
    assert bar.whole.isReadOnly()


def test_in_a_low_window_it_takes_less_room_and_the_address_is_scrolled(bar: SignInBar) -> None:
    bar.show_sign_ins([ONE])
    line = bar.whole.fontMetrics().lineSpacing()
    bar.resize(500, bar.sizeHint().height())
    assert bar.whole.height() >= 3 * line
    bar.resize(500, bar.minimumSizeHint().height())
    assert bar.whole.height() < 2 * line + 12
    assert bar.whole.verticalScrollBar().maximum() > 0


def test_it_is_opened_copied_and_cancelled_by_clicks(bar: SignInBar) -> None:
    opened, cancelled = heard(bar.open_requested), heard(bar.cancel_requested)
    bar.show_sign_ins([ONE])
    assert (opened, cancelled) == ([], [])
    bar.open.click()
    bar.copy.click()
    bar.cancel.click()
    assert opened == [URL]
    assert QGuiApplication.clipboard().text() == URL
    assert cancelled == ["remote"]


def test_several_are_asked_for_one_after_the_other(bar: SignInBar) -> None:
    bar.show_sign_ins([ONE])
    assert bar.more.isHidden()
    bar.show_sign_ins([TWO, ONE])
    assert bar.shown == ONE
    assert bar.more.text().startswith("1 more")
    bar.show_sign_ins([TWO])
    assert bar.shown == TWO
    assert bar.more.isHidden()


def test_what_is_selected_stays_selected_while_others_come(bar: SignInBar) -> None:
    bar.show_sign_ins([ONE])
    bar.whole.selectAll()
    bar.show_sign_ins([ONE, TWO])
    assert bar.whole.textCursor().hasSelection()


@pytest.mark.parametrize("url", ["javascript:alert(1)", "file:///etc/passwd", "https://a\u202eb/"])
def test_what_is_no_page_cannot_be_opened_and_says_why(bar: SignInBar, url: str) -> None:
    bar.show_sign_ins([SignIn("remote", url)])
    assert not bar.open.isEnabled()
    assert bar.cancel.isEnabled()
    assert bar.warnings.text()
    assert "\u202e" not in bar.whole.toPlainText()


def test_a_suspicious_sign_in_url_is_warned_about(bar: SignInBar) -> None:
    bar.show_sign_ins([SignIn("remote", "http://login.example@10.0.0.1/a")])
    assert bar.open.isEnabled()
    assert "not encrypted" in bar.warnings.text()
    assert bar.host.text() == "10.0.0.1"
