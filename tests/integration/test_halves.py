"""Ids, cursors and tokens with half of a surrogate pair are sent back exactly as they came."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.integration import halving_server
from tests.integration.commands import run
from tests.integration.halving_server import HALF


@pytest.fixture
def texts(tmp_path: Path) -> tuple[str, ...]:
    """The options with which a command starts the server."""
    server = (sys.executable, halving_server.__file__, str(tmp_path / "read"))
    return ("--era", "handshake", "--data-dir", str(tmp_path / "data"), "--", *server)


def read_by_server(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "read").read_text("ascii").splitlines()]


def test_ids_cursors_arguments_and_tokens_come_back_as_they_were_sent(
    tmp_path: Path, texts: tuple[str, ...]
) -> None:
    given = ("--args", '{"x": "half \\ud83d"}')
    ran = run("call", "work", *given, *texts)
    assert ran.code == 6, ran.err
    assert run("resume", "1", "--data-dir", str(tmp_path / "data")).code == 0
    messages = read_by_server(tmp_path)
    replies = [each["id"] for each in messages if "method" not in each]
    assert replies[:2] == [HALF, f"{HALF}!"]
    pages = [each.get("params") for each in messages if each.get("method") == "tools/list"]
    assert {"cursor": HALF} in pages
    first, second = (each["params"] for each in messages if each.get("method") == "tools/call")
    assert first["arguments"] == second["arguments"] == {"x": HALF}
    assert second["_meta"]["resumeToken"] == HALF


def test_a_progress_token_with_half_a_pair_is_sent_and_followed(texts: tuple[str, ...]) -> None:
    meta = '{"name": "work", "_meta": {"progressToken": "half \\ud83d"}}'
    ran = run("request", "tools/call", "--params", meta, "--json", *texts)
    assert ran.code == 6, ran.err
    (tick,) = ran.only("progress")
    assert tick["token"] == HALF
