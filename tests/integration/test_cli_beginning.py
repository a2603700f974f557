"""What keeps a command from beginning is shown to people and to scripts."""

from pathlib import Path

import pytest

from tests.integration.commands import run


@pytest.mark.parametrize(
    "arguments",
    [
        ("call", "x", "--server", "nosuch"),
        ("call", "x", "--config", "/no/such/file"),
        ("call", "x", "--demo", "--args", "{"),
        ("call", "x", "--demo", "--answer", "/no/such/file"),
        ("call", "x", "--demo", "--record", "/no/such/folder/x"),
        ("resume",),
        ("resume", "1", "--server", "nosuch"),
    ],
)
def test_it_is_an_event_too(arguments: tuple[str, ...], tmp_path: Path) -> None:
    ran = run(*arguments, "--json", "--data-dir", str(tmp_path))
    assert [event["event"] for event in ran.events()] == ["error", "summary"]
    error = ran.events()[0]
    assert (error["job"], error["where"]) == (None, "local")
    assert error["message"] == ran.err.strip()
    assert ran.code == 2
