"""Of a reply too large to decode, the exact bytes are shown."""

import json

import pytest
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.jobs.result_view import ResultView
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.protocol.lenient_json import Elided
from tests.job_stand_ins import answer, job

_TEXT = {"content": [{"type": "text", "text": "x" * 100_000}]}
_WHOLE = json.dumps({"jsonrpc": "2.0", "id": 1, "result": _TEXT}).encode()


@pytest.mark.parametrize("raw", [_WHOLE, None])
def test_of_an_outlined_reply_the_bytes_are_shown_if_they_are_there(
    qtbot: QtBot, appearance: Appearance, raw: bytes | None
) -> None:
    asked: list[int] = []

    def raw_of(number: int) -> bytes | None:
        asked.append(number)
        return raw

    view = ResultView(appearance, None, raw_of)
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

    view = ResultView(appearance, None, raw_of)
    qtbot.addWidget(view)
    view.show()
    view.show_result(job(), answer({"structuredContent": {"a": [1]}}))
    assert not view.tree.whole.isVisible()
