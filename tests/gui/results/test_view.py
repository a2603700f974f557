"""A result part by part; of a reply too large to decode, the parts or the exact bytes."""

import base64
import json
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.demo.tools.results import rings
from mcp_progress_monitor.gui.common.commands import Commands
from mcp_progress_monitor.gui.results.view import ResultView
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.protocol.lenient_json import Elided
from tests.job_stand_ins import answer, job

_TEXT = {"content": [{"type": "text", "text": "x" * 100_000}]}
HTML = "text/html"
_WHOLE = json.dumps({"jsonrpc": "2.0", "id": 1, "result": _TEXT}).encode()


@pytest.mark.parametrize("raw", [_WHOLE, None])
def test_of_an_outlined_reply_the_bytes_are_shown_if_they_are_there(
    qtbot: QtBot, appearance: Appearance, raw: bytes | None
) -> None:
    asked: list[int] = []

    def raw_of(number: int) -> bytes | None:
        asked.append(number)
        return raw

    view = ResultView(appearance, Commands(), None, raw_of)
    qtbot.addWidget(view)
    view.show()
    view.show_result(job(), answer({"content": Elided(100_000), "isError": False}))
    assert asked == [900]
    assert view.tree.whole.isVisible() == (raw is not None)
    if raw is not None:
        assert view.tree.whole.text.startswith('{"jsonrpc": "2.0", "id": 1, "result"')
        view.tree.tree.value_opened.emit("short")
        assert view.tree.whole.text == "short"
        view.tree.tree.value_opened.emit(Elided(100_000))
        assert view.tree.whole.text.startswith('{"jsonrpc"')


def test_of_a_reply_that_was_decoded_no_bytes_are_read(
    qtbot: QtBot, appearance: Appearance
) -> None:
    def raw_of(_number: int) -> bytes | None:
        raise AssertionError

    view = ResultView(appearance, Commands(), None, raw_of)
    qtbot.addWidget(view)
    view.show()
    view.show_result(job(), answer({"structuredContent": {"a": [1]}}))
    assert not view.tree.whole.isVisible()


def shown(qtbot: QtBot, appearance: Appearance, result: dict[str, Any]) -> ResultView:
    view = ResultView(appearance, Commands())
    qtbot.addWidget(view)
    view.resize(800, 300)
    view.show()
    view.show_result(job(), answer(result))
    return view


def offered(view: ResultView) -> set[str]:
    return {name for name, button in view.buttons.items() if button.isVisible()}


def test_each_part_offers_what_can_be_done_with_it(qtbot: QtBot, appearance: Appearance) -> None:
    image = base64.b64encode(rings()).decode()
    view = shown(
        qtbot,
        appearance,
        {
            "content": [
                {"type": "text", "text": "# Title"},
                {"type": "image", "data": image, "mimeType": "image/png"},
                {"type": "audio", "data": "UklGRgAAAABXQVZF", "mimeType": "audio/wav"},
                {"type": "resource_link", "uri": "demo://report", "name": "report"},
                {"type": "resource", "resource": {"uri": "a", "blob": "AAAA"}},
            ],
            "structuredContent": {"rows": [{"a": 1}]},
        },
    )
    seen = []
    for row in range(view.list.count()):
        view.list.setCurrentRow(row)
        seen.append({name.removeprefix("result.") for name in offered(view)})
    assert seen == [
        {"open", "copy", "save"},
        {"open", "copy", "save"},
        {"open", "save"},
        {"read", "copy", "save"},
        {"save"},
        {"copy", "save"},
        {"open", "copy", "save"},
        {"open", "copy", "save"},
    ]


def test_a_text_is_plain_until_it_is_to_be_rendered(qtbot: QtBot, appearance: Appearance) -> None:
    view = shown(qtbot, appearance, {"content": [{"type": "text", "text": "# Title"}]})
    assert view.text.isVisible()
    assert view.text.text == "# Title"
    view.markdown.click()
    assert view.rendered.isVisible()
    assert view.rendered.toPlainText() == "Title"
    view.show_result(
        job(id=2), answer({"contents": [{"uri": "a", "text": "<b>", "mimeType": HTML}]})
    )
    assert not view.markdown.isVisible()
    assert view.text.text == "<b>"


def test_the_parts_of_a_large_reply_are_read_in_slices(
    qtbot: QtBot, appearance: Appearance
) -> None:
    blocks = [
        {"type": "image", "data": "A" * 2_000_000, "mimeType": "image/png"},
        {"type": "text", "text": "done"},
    ]
    raw = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"content": blocks}}).encode()
    view = ResultView(appearance, Commands(), None, lambda _number: raw)
    qtbot.addWidget(view)
    view.show()
    view.show_result(job(), answer({"content": Elided(len(raw))}))
    assert view.list.count() == 1
    qtbot.waitUntil(lambda: not view.is_reading)
    titles = [view.list.item(row).text() for row in range(view.list.count())]
    assert titles == ["Image", "Text", "Full reply"]
    view.list.setCurrentRow(1)
    assert view.text.text == "done"
    view.show_result(job(id=2), answer({"content": []}))
    assert view.list.count() == 1
