"""Pages that servers want opened: seen whole, opened by a click alone."""

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.questions.bodies import UrlBody
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.snapshots.questions import Accept
from tests.gui.jobs.job_lists import heard
from tests.question_stand_ins import page

URL = "https://Login.example.com:8443/a?next=<b>x</b>&state=" + "s" * 400


@pytest.fixture
def body(qtbot: QtBot, appearance: Appearance) -> Iterator[UrlBody]:
    holder = QWidget()  # kept: what is in it goes with it
    qtbot.addWidget(holder)
    yield UrlBody(page(URL), appearance, holder)
    holder.close()


def test_the_whole_address_is_shown_as_plain_text_and_its_host_apart(body: UrlBody) -> None:
    assert body.whole.toPlainText() == URL
    assert body.host.text() == "Login.example.com:8443"
    assert body.host.textFormat() is Qt.TextFormat.PlainText


def test_nothing_is_opened_but_by_a_click(body: UrlBody) -> None:
    said = heard(body.link_opened)
    assert body.accepted() == Accept()
    assert said == []
    body.open.click()
    assert said == [URL]


@pytest.mark.parametrize("url", ["javascript:alert(1)", "https://exam\u202eple.com/", "nonsense"])
def test_what_is_no_page_cannot_be_opened_and_says_why(
    qtbot: QtBot, appearance: Appearance, url: str
) -> None:
    holder = QWidget()
    qtbot.addWidget(holder)
    body = UrlBody(page(url), appearance, holder)
    assert not body.open.isEnabled()
    assert body.open.toolTip() in body.warnings.text()
    assert "\u202e" not in body.whole.toPlainText()


def test_it_says_that_the_server_knows_it_is_done(body: UrlBody) -> None:
    body.follow(body.question._replace(is_complete=True))
    assert "this step is complete" in body.note.text()
