"""A finding as an issue: plain Markdown, none of it a server's, without secrets."""

from mcp_progress_monitor.exports.redaction import Redaction
from mcp_progress_monitor.exports.snippet import MOST_CHARACTERS, issue_text
from mcp_progress_monitor.protocol.frames import Channel, Frame
from tests.unit.filtering.test_findings import finding

SECRET = "ghp_0123456789abcdefghijABCDEFGHIJ012345"


def frame(raw: bytes) -> Frame:
    return Frame(7, "local-db#1", Channel.RECEIVED, 1.7e9, 1.0, raw)


def issue(raw: bytes | None = None, text: str = "Progress did not increase") -> str:
    shown = None if raw is None else frame(raw)
    return issue_text(finding(text=text), shown, Redaction())


def test_it_has_what_a_maintainer_needs() -> None:
    text = issue(b'{"jsonrpc":"2.0"}')
    assert text.startswith("# PROG-3: Progress does not increase\n")
    for arguments in (
        "**Observed:** Progress did not increase",
        "**Expected:** Each notification has a greater progress",
        "**Required since:** 2024-11-05",
        "**Confidence:** Certain",
        "```python\n",
        "```typescript\n",
        'Message no. 7:\n\n```json\n{"jsonrpc":"2.0"}\n```',
        "protocol 2025-11-25",
    ):
        assert arguments in text


def test_secrets_are_removed_from_text_and_message() -> None:
    text = issue(f'{{"api_key": "{SECRET}"}}'.encode(), f"the token {SECRET} is not known")
    assert SECRET not in text
    assert "(removed)" in text


def test_text_of_a_server_is_no_markdown() -> None:
    text = issue(b"x ``` y\n# not a title", "**bold** <img src=x> @all [a](b)\n# title\x1b")
    assert "\\*\\*bold\\*\\* \\<img src=x\\> \\@all \\[a\\](b) \\# title" in text
    assert "````json\nx ``` y" in text
    assert "\x1b" not in text
    assert [line for line in text.splitlines() if line.startswith("#")] == [text.splitlines()[0]]


def test_a_long_message_is_shortened_and_says_so() -> None:
    text = issue(b"x" * 5000)
    assert "Message no. 7, truncated:" in text
    assert text.count("x") < MOST_CHARACTERS + 200


def test_without_the_message_the_rest_is_there() -> None:
    assert "Message no." not in issue()
