"""Pieces of the HTML report, rendered by its template: whatever is no `Html` is escaped there."""

from __future__ import annotations

import functools
import itertools
import json
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import jinja2
from markupsafe import Markup

from mcp_progress_monitor import text
from mcp_progress_monitor.paths import resource

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mcp_progress_monitor.exports.redaction import Redaction

Html: TypeAlias = Markup
"""Markup; any other string is escaped."""

_LINE: Final = 300
_ROWS: Final = 50


@functools.cache
def _macros() -> Any:
    folder = resource("report")
    environment = jinja2.Environment(
        autoescape=True,
        finalize=_seen,
        loader=jinja2.FileSystemLoader(folder),
        undefined=jinja2.StrictUndefined,
    )
    return environment.get_template("report.html").module


def _seen(value: Any) -> Any:
    """A value, to be escaped, with what cannot be seen made visible; line ends and tabs stay."""
    is_words = isinstance(value, str) and not isinstance(value, Html)
    return text.visible(value, keep_line_ends=True) if is_words else value


def render(macro: str, /, *values: object) -> Html:
    """A piece of the report, by the macro of that name in `resources/report/report.html`."""
    made: Html = getattr(_macros(), macro)(*values)
    return made


def joined(parts: Iterable[str], between: str = "") -> Html:
    """Join `parts`, escaping those that are not markup."""
    return Html.escape(between).join(map(_seen, parts))


def table(
    titles: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Sequence[int] = ()
) -> Html:
    """A table; the columns in `numbers` stand to the right."""
    return joined(table_parts(titles, rows, numbers=numbers))


def table_parts(
    titles: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Sequence[int] = ()
) -> Iterator[Html]:
    """A table some rows at a time."""
    yield render("table_begin", titles, numbers)
    left = iter(rows)
    while some := list(itertools.islice(left, _ROWS)):
        yield render("table_rows", some, numbers)
    yield render("table_end")


def facts(pairs: Iterable[tuple[str, str]]) -> Html:
    """Names with their values; pairs without a value are left out."""
    return render("facts", [(name, value) for name, value in pairs if value])


class Words:
    """Brings what servers and users said into a report: without secrets, bounded, escaped."""

    def __init__(self, redaction: Redaction) -> None:
        self.redaction = redaction

    def line(self, words: str, limit: int = _LINE) -> Html:
        """Words on one line."""
        # What is cut off first could lose the name that tells that it is a secret; so it is last.
        bounded = words[: 20 * limit]
        return Html.escape(text.one_line(self.redaction.text(bounded), limit))

    def block(self, words: str, limit: int) -> Html:
        """A text of several lines; says how many characters were left out."""
        clean = self.redaction.text(words)
        return render("block", clean[:limit], _left_out(len(clean) - limit))

    def said(self, words: str) -> Html:
        """Words as a quotation, within a sentence."""
        return render("quoted", self.line(words))

    def json(self, value: Any, limit: int) -> Html:
        """A JSON value, indented."""
        written = json.dumps(self.redaction.value(value), indent=2, ensure_ascii=False)
        return render("block", written[:limit], _left_out(len(written) - limit))


def _left_out(count: int) -> str:
    return f"{text.count(count, 'more character')} left out" if count > 0 else ""
