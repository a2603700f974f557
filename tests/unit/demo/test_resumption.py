"""Resources and prompts, too, can be read in parts, in several attempts."""

from pathlib import Path
from typing import Any

import mcp_types.methods
import pytest

from mcp_progress_monitor.demo.eras import ERAS
from mcp_progress_monitor.demo.resumption import default_state_dir
from tests.unit.demo.client import Client

ARCHIVE = ("resources/read", {"uri": "demo://archive"}, 6)
INTERVIEW = ("prompts/get", {"name": "interview", "arguments": {"topic": "rain"}}, 4)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_progress_monitor.demo.resources._SECTION_S", 0)
    monkeypatch.setattr("mcp_progress_monitor.demo.resources._EXAMPLE_S", 0)


def _text(method: str, result: dict[str, Any]) -> str:
    if method == "resources/read":
        return str(result["contents"][0]["text"])
    return str(result["messages"][0]["content"]["text"])


@pytest.mark.parametrize("version", ERAS["both"])
@pytest.mark.parametrize(("method", "params", "parts"), [ARCHIVE, INTERVIEW])
def test_parts_add_up_over_attempts_and_restarts(
    tmp_path: Path, version: str, method: str, params: dict[str, Any], parts: int
) -> None:
    message = Client(version, state_dir=tmp_path).message(method, params, "a")
    played = Client(version, state_dir=tmp_path).send(message)
    values, lines = list(played.values), 2
    while played.next_token is not None:
        assert len(_text(method, played.result).splitlines()) == lines
        mcp_types.methods.validate_server_result(method, version, played.result)
        played = Client(version, state_dir=tmp_path).resumed(message, played.next_token)
        values, lines = values + played.values, lines + 2
    assert values == list(range(1, parts + 1))
    text = _text(method, played.result).splitlines()
    assert len(text) == len(set(text)) == parts


@pytest.mark.parametrize(("method", "params", "_parts"), [ARCHIVE, INTERVIEW])
def test_a_token_of_something_else_is_refused(
    tmp_path: Path, method: str, params: dict[str, Any], _parts: int
) -> None:
    client = Client(state_dir=tmp_path)
    message = client.message(method, params)
    client.send(message)
    assert client.resumed(message, "made-up").error["code"] == -32602


def test_a_prompt_about_something_else_is_refused(tmp_path: Path) -> None:
    client = Client(state_dir=tmp_path)
    method, params, _ = INTERVIEW
    token = client.request(method, params).next_token
    other = client.message(method, {"name": "interview", "arguments": {"topic": "snow"}})
    assert client.resumed(other, token).error["code"] == -32602


def test_state_is_kept_in_a_folder_of_the_users_by_default(isolated_home: Path) -> None:
    Client().request("resources/read", {"uri": "demo://archive"})
    folder = isolated_home / ".local" / "state" / "mcp-progress-demo"
    assert (folder / "resource-archive.txt").read_text().count("\n") == 2


def test_without_a_home_work_is_kept_in_the_temporary_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setattr(Path, "home", home)
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    assert default_state_dir().parent == tmp_path
