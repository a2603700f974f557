"""The template of reports escapes whatever is put into it, and knows no exception."""

import pytest
from jinja2 import UndefinedError

from mcp_progress_monitor.exports.html.sections import facts, joined, render, table
from mcp_progress_monitor.paths import resource

HOSTILE = "</b><script>'\"&\u202e\ud800"
ESCAPED = "&lt;/b&gt;&lt;script&gt;&#39;&#34;&amp;\\u202e\\ud800"


@pytest.mark.parametrize(
    ("macro", "values"),
    [
        ("begin", (HOSTILE, HOSTILE, HOSTILE)),
        ("end", (HOSTILE,)),
        ("heading", (HOSTILE, "id")),
        ("heading", ("title", HOSTILE)),
        ("part", (HOSTILE, HOSTILE)),
        ("note", (HOSTILE,)),
        ("muted_line", (HOSTILE,)),
        ("muted", (HOSTILE,)),
        ("bold", (HOSTILE,)),
        ("code", (HOSTILE,)),
        ("quoted", (HOSTILE,)),
        ("block", (HOSTILE, HOSTILE)),
        ("state", (HOSTILE, HOSTILE)),
        ("bold_state", (HOSTILE,)),
        ("mark", (HOSTILE,)),
        ("bar", (HOSTILE, HOSTILE, HOSTILE)),
        ("job_name", (HOSTILE, HOSTILE, True)),
        ("head", (HOSTILE, HOSTILE, HOSTILE)),
        ("story", ([HOSTILE], HOSTILE)),
        ("listed", ([(HOSTILE, HOSTILE)],)),
        ("message", (HOSTILE, HOSTILE, HOSTILE)),
        (
            "chart",
            (HOSTILE, HOSTILE, 1, 1, [(1, 1, 1, 1, "grid")], [(HOSTILE, 1, 1, None)], [(0, 0)], 1),
        ),
    ],
)
def test_every_macro_escapes_what_it_is_given(macro: str, values: tuple[object, ...]) -> None:
    made = render(macro, *values)
    assert "&lt;/b&gt;&lt;script&gt;" in made
    assert HOSTILE[:12] not in made
    assert "\u202e" not in made


def test_words_in_tables_facts_and_rows_are_escaped_once() -> None:
    assert str(render("note", HOSTILE)) == f'<p class="note">{ESCAPED}</p>'
    assert str(table((HOSTILE,), [(render("bold", HOSTILE),)], numbers=(0,))) == (
        '<div class="wide"><table><thead><tr><th class="number">'
        f'{ESCAPED}</th></tr></thead><tbody><tr><td class="number"><b>{ESCAPED}</b></td></tr>'
        "</tbody></table></div>"
    )
    assert str(facts([("a", ""), (HOSTILE, "b")])) == (
        f"<dl><div><dt>{ESCAPED}</dt><dd>b</dd></div></dl>"
    )
    assert str(joined(("<", render("bold", "<")), " ")) == "&lt; <b>&lt;</b>"


def test_the_template_marks_nothing_as_safe_and_runs_and_loads_nothing() -> None:
    template = (resource("report") / "report.html").read_text(encoding="utf-8")
    for word in (
        "| safe",
        "|safe",
        "autoescape",
        "<script",
        "src=",
        "url(",
        "@import",
        "http:",
        "https:",
    ):
        assert word not in template


def test_a_value_that_is_missing_is_a_fault_and_not_left_blank() -> None:
    with pytest.raises(UndefinedError):
        render("note")
