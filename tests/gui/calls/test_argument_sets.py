"""Argument sets from CSV, JSON and JSON Lines; what cannot be used is refused with its place."""

from pathlib import Path

import pytest

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.gui.calls.argument_sets import read_argument_sets

_SCHEMA = {
    "type": "object",
    "properties": {
        "rows": {"type": "integer"},
        "table": {"type": "string"},
        "deep": {"type": "boolean"},
        "note": {"type": ["string", "null"]},
    },
}
_TWO = [{"rows": 1, "table": "a"}, {"rows": 2, "table": "b"}]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("sets.json", '[{"rows": 1, "table": "a"}, {"rows": 2, "table": "b"}]'),
        ("sets.jsonl", '{"rows": 1, "table": "a"}\n\n{"rows": 2, "table": "b"}\n'),
        ("sets.csv", "rows,table\r\n1,a\r\n2,b\r\n"),
        ("sets.tsv", "rows\ttable\n1\ta\n2\tb\n"),
        ("sets.csv", "\ufeffrows,table\n1,a\n\n2,b"),
    ],
)
def test_each_format_gives_the_same_sets(name: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text, "utf-8", newline="")
    assert read_argument_sets(path, _SCHEMA) == _TWO


def test_cells_become_what_the_schema_says(tmp_path: Path) -> None:
    path = tmp_path / "sets.csv"
    path.write_text('rows,table,deep,note,free\n7,007,TRUE,null,"{""a"": [1]}"\n,,,,text\n')
    assert read_argument_sets(path, _SCHEMA) == [
        {"rows": 7, "table": "007", "deep": True, "note": "null", "free": {"a": [1]}},
        {"free": "text"},
    ]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", b"[1]", "set 1: not a JSON object"),
        ("a.jsonl", b'{"a": 1}\n{"a"', "line 2: "),
        ("a.jsonl", b'{"a": 1}\n7', "line 2: not a JSON object"),
        ("a.csv", b"rows\n1,2", "line 2: more cells than the header"),
        ("a.csv", b'rows\n"1', "unexpected end of data"),
        ("a.csv", b"rows\n", "no argument sets"),
        ("a.json", b"", "no argument sets"),
        ("a.json", b"\xff\xfe\x00", "codec can't decode"),
        ("a.json", b"[" * 300, ""),
        ("a.jsonl", b"{}\n" * 10_001, "at most 10,000"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_place(
    name: str, content: bytes, message: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(UserError) as raised:
        read_argument_sets(path, {})
    assert message in raised.value.details.what
    assert raised.value.details.where == str(path)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="Cannot read argument sets from this file"):
        read_argument_sets(tmp_path / "gone.csv", {})
