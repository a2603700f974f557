"""A model's answer by hand: as text or as JSON, beside the conversation."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from PySide6.QtWidgets import QPlainTextEdit, QWidget
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.common.image_view import ImageView
from mcp_progress_monitor.gui.questions.bodies import ConversationView, SamplingBody
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.snapshots.questions import Refused, Sampled
from tests.question_stand_ins import drawn, said, sampling

HINTED = {"modelPreferences": {"hints": [{"name": "small"}]}}


@pytest.fixture
def body(qtbot: QtBot, appearance: Appearance) -> Iterator[SamplingBody]:
    holder = QWidget()  # kept: what is in it goes with it
    qtbot.addWidget(holder)
    params = {"messages": [said("How much?")], "maxTokens": 9, **HINTED}
    yield SamplingBody(sampling(params=params), appearance, holder)
    holder.close()


def conversation(qtbot: QtBot, appearance: Appearance, *messages: Any) -> ConversationView:
    made = ConversationView({"messages": list(messages)}, appearance)
    qtbot.addWidget(made)
    return made


def test_a_text_is_sent_as_the_assistants(body: SamplingBody) -> None:
    body.answer_text.setPlainText("A lot")
    assert body.accepted() == Sampled(
        {
            "role": "assistant",
            "content": {"type": "text", "text": "A lot"},
            "model": "small",
            "stopReason": "endTurn",
        }
    )


def test_nothing_is_no_answer(body: SamplingBody) -> None:
    assert body.accepted() is None
    assert "Write an answer" in body.error.text()
    assert body.declined() == Refused()


def test_the_json_takes_the_text_along_and_gives_it_back(body: SamplingBody) -> None:
    body.answer_text.setPlainText("A lot")
    body.show_json(is_shown=True)
    (editor,) = body.editor.findChildren(QPlainTextEdit)
    value = json.loads(editor.toPlainText())
    assert value["content"]["text"] == "A lot"
    value["content"]["text"] = "Little"
    value["extra"] = 1
    editor.setPlainText(json.dumps(value))
    assert body.accepted() == Sampled(value)
    body.show_json(is_shown=False)
    assert body.answer_text.toPlainText() == "Little"


def test_what_is_no_json_is_not_sent(body: SamplingBody) -> None:
    body.show_json(is_shown=True)
    (editor,) = body.editor.findChildren(QPlainTextEdit)
    editor.setPlainText("{")
    assert body.accepted() is None


def test_messages_are_plain_text_with_their_roles(qtbot: QtBot, appearance: Appearance) -> None:
    view = conversation(qtbot, appearance, said("<b>One</b>\u202e"), said("Two", "assistant"))
    assert view.text().split("\n") == ["user", "<b>One</b>\\u202e", "assistant", "Two"]


def test_an_image_is_a_thumbnail_however_large_it_is(qtbot: QtBot, appearance: Appearance) -> None:
    view = conversation(qtbot, appearance, {"role": "user", "content": drawn(1_000, 500)})
    image = view.findChild(ImageView)
    assert isinstance(image, ImageView)
    assert (image.image.width(), image.image.height()) == (160, 80)
    assert "1,000 x 500" in image.text


def test_only_the_first_images_of_a_question_are_decoded(
    qtbot: QtBot, appearance: Appearance
) -> None:
    blocks = [drawn(2, 2)] * 30
    view = conversation(qtbot, appearance, {"role": "user", "content": blocks})
    assert len(view.findChildren(ImageView)) == 8
    assert view.text().count("Image not shown") == 22


def test_an_image_that_is_none_is_reported_with_a_message(
    qtbot: QtBot, appearance: Appearance
) -> None:
    broken = {"type": "image", "data": "%%", "mimeType": "image/png"}
    view = conversation(qtbot, appearance, {"role": "user", "content": broken})
    image = view.findChild(ImageView)
    assert isinstance(image, ImageView)
    assert "not valid base64" in image.text
