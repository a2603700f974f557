"""What will run is shown word by word, without values."""

import sys

from mcp_progress_monitor.gui.servers.editor import preview_lines
from mcp_progress_monitor.snapshots.definitions import HttpDefinition, StdioDefinition


def test_a_command_is_shown_word_by_word_with_names_and_masked_values() -> None:
    definition = StdioDefinition(
        name="a",
        command=sys.executable,
        args=("-m", "two words"),
        cwd="/srv",
        env={"A": "hush", "B": "${env:X}", "C": "${keyring:s/C}", "D": ""},
    )
    assert preview_lines(definition) == [
        f"Runs      {sys.executable}",
        "  word 1  -m",
        "  word 2  two words",
        "in        /srv",
        "sets      A = ••••••",
        "          B = (environment variable X)",
        "          C = (from the keyring: s/C)",
        "          D = (empty)",
    ]
    assert "sets      A = hush" in preview_lines(definition, shows_values=True)


def test_a_url_is_shown_without_user_and_password() -> None:
    definition = HttpDefinition(
        name="a",
        url="https://me:hush@example.com/mcp",
        headers={"Authorization": "Bearer hush"},
        auth="oauth",
    )
    lines = preview_lines(definition)
    assert lines[0] == "Asks      POST https://example.com/mcp"
    assert lines[1] == "sends     Authorization: Bearer ••••••"
    assert "hush" not in "\n".join(lines)


def test_what_cannot_be_seen_is_made_visible_and_long_words_are_bounded() -> None:
    definition = StdioDefinition(name="a", command="x\u202ey", args=("z" * 10_000,))
    lines = preview_lines(definition)
    assert "x\\u202ey" in lines[0]
    assert len(lines[1]) < 5000
