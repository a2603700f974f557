"""The summary page: tables of servers, findings and jobs, with a server's text as it is."""

from mcp_progress_monitor.checking.markdown import as_markdown
from mcp_progress_monitor.checking.report import CheckedJob, SourcePlace
from tests.unit.checking.test_report import checked, report

JOB = CheckedJob(1, "files", "copy", "Done", 1.5, 1204)


def test_servers_findings_and_jobs_are_tables() -> None:
    found = checked(definition=SourcePlace("src/copy.py", 12))
    text = as_markdown(report([found], listed_jobs=(JOB,), notes=("Damaged",)))
    lines = text.splitlines()
    assert lines[:3] == [
        "## MCP check",
        "",
        "1 error. Failed: 1 new finding at or above --fail-on.",
    ]
    assert "| files | 2025-11-25 | 3 | 2 | 1 |" in lines
    assert (
        "| error | PROG-3: Progress does not increase | Progress did not increase: 1 after 1 "
        "| tools/call copy | src/copy.py:12 | 2 |" in lines
    )
    assert "| 1 | copy | Done | 1.5 s | 1,204 | 1 |" in lines
    assert lines[-1] == "- Damaged"


def test_a_servers_text_is_shown_as_it_is() -> None:
    hostile = checked(text="a | b\n<img src=x> [c](d) `e`", title="**f**")
    text = as_markdown(report([hostile]))
    assert r"a \| b\\n\<img src=x\> \[c\](d) \`e\`" in text
    assert r"tools/call \*\*f\*\*" in text


def test_tables_are_bounded() -> None:
    jobs = tuple(JOB._replace(id=number) for number in range(100))
    text = as_markdown(report([checked()] * 150, listed_jobs=jobs)._replace())
    assert "50 more rows not shown." in text
