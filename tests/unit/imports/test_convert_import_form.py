"""Whatever a file says in one of the forms, it is read to its end or refused as text."""

import json
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.recording import reader
from tests.unit.imports.imported import SAMPLES, Imported

SETTINGS = hypothesis.settings(
    max_examples=15, suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture]
)
SNOOPED = '{"session_id":"s","direction":"c2s","ts":"2026-01-01T00:00:00Z","raw":{"jsonrpc":"2.0"}}'
RECORDED = '{"ts":1750000001,"dir":"client->server","msg":{"jsonrpc":"2.0","method":"x"}}'
LOGGED = '2025-10-03T07:50:01.100Z [a] [info] Message from client: {"jsonrpc":"2.0","id":1}'
ODD: st.SearchStrategy[Any] = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20)
)
ARGUMENTS = st.sampled_from(
    [
        "2025-10-03T07:50:01.100Z",
        "2025-13-99T07:50:01.100Z",
        "[a]",
        "[info]",
        "[a#b]",
        "Message from client:",
        "Message from server:",
        '{"jsonrpc":"2.0","id":1,"result":{}}',
        '{"id":',
        "id=1 result",
        'method="x" id="1"',
        "Initializing server...",
        "Server transport closed",
        "{ metadata: undefined }",
        "{",
        "}",
        "[" * 2000,
        "\r",
        "\n",
    ]
)


def imported(path: Path, text: str) -> Imported:
    path.write_bytes(text.encode(errors="replace"))
    return Imported(path)


@hypothesis.given(
    lines=st.lists(
        st.dictionaries(
            st.sampled_from(
                ["session_id", "direction", "ts", "raw", "text", "seq", "conn_id", "server_label"]
            ),
            ODD | st.sampled_from(["c2s", "s2c", "stderr", "meta", "2026-01-01T00:00:00Z"]),
        ),
        max_size=5,
    )
)
@SETTINGS
def test_lines_of_mcpsnoop(lines: list[dict[str, Any]], tmp_path: Path) -> None:
    text = "\n".join([SNOOPED, *map(json.dumps, lines), "no JSON", SNOOPED, ""])
    found = imported(tmp_path / "a.jsonl", text)
    assert sum(raw == b'{"jsonrpc":"2.0"}' for _, _, raw in found.lines()) == 2
    assert "Lines that are not records" in found.missing


@hypothesis.given(
    lines=st.lists(
        st.dictionaries(
            st.sampled_from(["ts", "dir", "msg"]),
            ODD | st.just("server->client") | st.just({"_unparsed": True, "_raw": 1}),
        ),
        max_size=5,
    )
)
@SETTINGS
def test_lines_of_mcp_rec(lines: list[dict[str, Any]], tmp_path: Path) -> None:
    text = "\n".join([RECORDED, *map(json.dumps, lines), "[", RECORDED, ""])
    found = imported(tmp_path / "a.jsonl", text)
    assert sum(raw == b'{"jsonrpc":"2.0","method":"x"}' for _, _, raw in found.lines()) == 2


@hypothesis.given(arguments=st.lists(ARGUMENTS | st.text(max_size=10), max_size=30))
@SETTINGS
def test_lines_of_claude_desktop(arguments: list[str], tmp_path: Path) -> None:
    found = imported(tmp_path / "mcp.log", f"{LOGGED}\n{' '.join(arguments)}\n{LOGGED}\n")
    assert sum(raw == b'{"jsonrpc":"2.0","id":1}' for _, _, raw in found.lines()) >= 2
    assert [frame.at for frame in found.frames] == sorted(frame.at for frame in found.frames)


@pytest.mark.parametrize("path", sorted(SAMPLES.iterdir()), ids=lambda path: path.name)
@hypothesis.given(data=st.data())
@hypothesis.settings(max_examples=10)
def test_samples_that_were_damaged(path: Path, data: st.DataObject, tmp_path_factory: Any) -> None:
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        begin = data.draw(st.integers(0, len(content)))
        content[begin : begin + data.draw(st.integers(0, 40))] = data.draw(st.binary(max_size=5))
    damaged = tmp_path_factory.mktemp("damaged") / path.name
    damaged.write_bytes(content)
    try:
        Imported(damaged)
    except UserError as error:
        hint = error.details.hint  # a mistake of ours would have none
        hypothesis.assume(hint)


def test_lines_that_are_too_long_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    defaults = reader.read_blocks.__defaults__
    monkeypatch.setattr(reader.read_blocks, "__defaults__", (1000, 500))
    assert defaults is not None
    long = json.dumps({"ts": 1, "dir": "client->server", "msg": {"jsonrpc": "x" * 5000}})
    path = tmp_path / "a.jsonl"
    path.write_text(f"{RECORDED}\n{long}\n{RECORDED}\n")
    from mcp_progress_monitor.imports.logs import read_mcp_rec
    from mcp_progress_monitor.imports.recording import ImportedRecording

    with ImportedRecording("mcp-rec") as recording, path.open("rb", buffering=0) as file:
        for _ in read_mcp_rec(file, recording):
            pass
        assert "Lines that are not records of this format (1)" in recording.missing


def test_many_servers_and_sessions_are_bounded(tmp_path: Path) -> None:
    lines = [
        json.dumps(
            {
                "session_id": str(number),
                "direction": "c2s",
                "ts": "2026-01-01T00:00:00Z",
                "raw": {"jsonrpc": "2.0", "method": "x"},
            }
        )
        for number in range(3000)
    ]
    found = imported(tmp_path / "a.jsonl", "\n".join(lines))
    assert len({where for where, _, _ in found.lines()}) == 3000
