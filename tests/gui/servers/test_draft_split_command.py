"""Command lines are split as a shell would, and give servers their names."""

import os

import hypothesis.strategies as st
import pytest
from hypothesis import given

from mcp_progress_monitor.gui.common.typed_input import JsonInputError
from mcp_progress_monitor.gui.servers.draft import joined_command, split_command, usual_name

posix = pytest.mark.skipif(os.name != "posix", reason="quotes differ on Windows")


@posix
def test_a_command_line_is_split_as_a_shell_would() -> None:
    assert split_command("uvx 'my server' --port 80") == ["uvx", "my server", "--port", "80"]


@posix
@given(st.lists(st.text(st.characters(exclude_characters="\0")), min_size=1))
def test_a_joined_command_is_split_into_the_same_words(arguments: list[str]) -> None:
    if arguments[0]:
        assert split_command(joined_command(arguments)) == arguments


@pytest.mark.parametrize("line", ["", "   ", "python 'open", "''"])
def test_a_command_line_that_cannot_be_read_says_so(line: str) -> None:
    with pytest.raises(JsonInputError):
        split_command(line)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("python -m my_server --verbose", "my_server"),
        ("/usr/bin/python3.11 /srv/orders.py", "orders"),
        ("npx -y @scope/server-files@1.2 /srv", "server-files"),
        ("uv run server", "server"),
        ("/opt/bin/monitor --x", "monitor"),
        ("python", "python"),
        ("python 'open", ""),
    ],
)
def test_a_server_is_called_after_what_it_runs(line: str, name: str) -> None:
    assert usual_name(line, "", is_url=False) == name


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://me:secret@example.com:8443/mcp", "example.com"),
        ("http://localhost/", "localhost"),
        ("", ""),
    ],
)
def test_a_server_is_called_after_its_host(url: str, name: str) -> None:
    assert usual_name("", url, is_url=True) == name
