"""The environment of a tapped server: every entry, in order, whatever it looks like."""

import base64

import pytest

from mcp_progress_monitor.tap.environment import HANDED, Environment, handed_environment


@pytest.mark.parametrize(
    ("entry", "is_plain"),
    [(b"A=", True), (b"a.b=1=2", True), (b"=x", False), (b"none", False), (b"", False)],
)
def test_an_entry_without_a_name_is_not_plain(entry: bytes, is_plain: bool) -> None:
    assert Environment([b"A=1", entry]).is_plain is is_plain


def test_names_may_occur_twice_and_those_that_are_missing_are_not_listed() -> None:
    found = Environment([b"B=2", b"A=1", b"B=3", b"=x", b"secret"])
    assert list(found) == ["B", "A", "B"]
    assert (found[b"B"], len(found)) == (b"2", 5)
    assert found.variables == {"A": "1", "B": "3"}


def test_the_environment_of_the_shell_is_taken_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    block = b"my.var=1\0=x\0\xff=\xfe\0"
    monkeypatch.setenv(HANDED, base64.encodebytes(block).decode())
    handed = handed_environment()
    assert handed is not None
    assert handed.entries == (b"my.var=1", b"=x", b"\xff=\xfe")


@pytest.mark.parametrize("text", ["", "x", base64.b64encode(b"A=1\0B=cut").decode()])
def test_an_environment_that_is_not_whole_is_not_taken(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv(HANDED, text)
    assert handed_environment() is None
