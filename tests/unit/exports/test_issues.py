"""A finding and a failed job as issues: plain Markdown, none of it a server's, no secrets."""

from mcp_progress_monitor.exports.issues import MOST_CHARACTERS, issue_text, job_issue
from mcp_progress_monitor.exports.redaction import Redaction
from mcp_progress_monitor.protocol.frames import Channel, Frame
from mcp_progress_monitor.protocol.outline import finish
from tests.unit.exports.sessions import Session
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


def test_an_address_of_a_server_is_no_link() -> None:
    text = issue(b"x", "see https://evil.example and www.evil.example")
    assert "see https\\://evil.example and www\\.evil.example" in text


def test_a_long_message_is_shortened_and_says_so() -> None:
    text = issue(b"x" * 5000)
    assert "Message no. 7, truncated:" in text
    assert text.count("x") < MOST_CHARACTERS + 200


def test_without_the_message_the_rest_is_there() -> None:
    assert "Message no." not in issue()


def job_text(session: Session) -> str:
    job = session.jobs.snapshot(1)
    assert job is not None
    return finish(job_issue(session, job, Redaction()))


def crashed(ticks: int = 2, api_key: str = SECRET) -> Session:
    session = Session()
    session.opened()
    session.called("export", api_key=api_key, region="eu")
    for done in range(1, ticks + 1):
        session.at += 1
        session.ticked(done, total=50)
    session.printed("MemoryError: out of memory")
    session.printed(f"Authorization: Bearer {SECRET}")
    session.closed("exited", 3)
    return session


def test_a_job_that_was_lost_has_all_that_its_author_needs() -> None:
    text = job_text(crashed())
    assert text.startswith("# export: lost\n\n- What happened: ")
    for part in (
        "- Call: tools/call export",
        "- Progress: 2 ticks, 2 / 50",
        "- Connection: closed: exited, exit code 3",
        "- Client: MCP Progress Monitor ",
        "- System: ",
        "Client to server, +0.000 s:\n\n```json\n{",
        '"region": "eu"',
        "## Standard error\n\n```text\nMemoryError: out of memory\n",
    ):
        assert part in text
    assert SECRET not in text


def test_of_many_ticks_the_first_and_the_last_are_quoted() -> None:
    text = job_text(crashed(1_000))
    assert text.count("notifications/progress") == 2
    assert "Between the first and the last: 998 progress notifications." in text
    assert len(text) < 6_000


def test_an_issue_of_a_flood_of_long_messages_is_bounded() -> None:
    session = Session()
    session.opened()
    session.called("export", text="x" * 3_000_000)
    for request in range(50):
        session.heard({"jsonrpc": "2.0", "id": f"q{request}", "method": "x" * 9_000})
    for _ in range(500):
        session.printed("y" * 9_000)
    session.refused(-32603, "# title ``` " + "z" * 100_000)
    text = job_text(session)
    assert len(text) < 60_000  # of which GitHub takes 65,536
    assert "Standard error, the last 20 lines" in text
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert headings[0] == "# export: failed"
    assert all(line.startswith("## ") for line in headings[1:])


def test_the_findings_of_a_job_are_listed_by_rule() -> None:
    session = Session()
    session.opened()
    session.called("export")
    for progress in (5, 3, 2):
        session.ticked(progress)
    session.refused(-32603, "disk full")
    text = job_text(session)
    assert "## Findings\n\n- PROG-3: " in text
    assert "(2 times)" in text
    assert "- What happened: disk full" in text
