"""Pieces of HTML that cannot go wrong: whatever is no `Html` is escaped where it is put in."""

from __future__ import annotations

import html
import itertools
import json
from typing import TYPE_CHECKING, Any, Final

from app import text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from app.exports.redaction import Redaction

_LINE: Final = 300
_ROWS: Final = 50
_VOID: Final = frozenset({"circle", "line", "meta", "path", "polyline"})


class Html(str):
    """Markup made by this module; any other string is words."""

    __slots__ = ()


def escaped(words: str) -> Html:
    """Words as markup: control and direction characters visible, line ends and tabs kept."""
    if isinstance(words, Html):
        return words
    return Html(html.escape(text.visible(words, keep_line_ends=True)))


def joined(parts: Iterable[str], between: str = "") -> Html:
    """Parts one after the other."""
    return Html(escaped(between).join(escaped(part) for part in parts))


def element(tag: str, /, *content: str, **attributes: object) -> Html:
    """An element; attributes that are None are left out, `class_` is `class`, `_` is `-`."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escaped(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if tag in _VOID:
        return Html(f"<{tag}{written}/>")
    return Html(f"<{tag}{written}>{joined(content)}</{tag}>")


def table(
    titles: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Sequence[int] = ()
) -> Html:
    """A table; the columns in `numbers` stand to the right."""
    return joined(table_parts(titles, rows, numbers=numbers))


def table_parts(
    titles: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Sequence[int] = ()
) -> Iterator[Html]:
    """A table some rows at a time."""
    sides = ["number" if place in numbers else None for place in range(len(titles))]
    yield Html(f'<div class="wide"><table><thead>{_row("th", titles, sides)}</thead><tbody>')
    left = iter(rows)
    while some := list(itertools.islice(left, _ROWS)):
        yield joined(_row("td", row, sides) for row in some)
    yield Html("</tbody></table></div>")


def _row(name: str, words: Sequence[str], sides: Sequence[str | None]) -> Html:
    return element(
        "tr", *(_cell(name, word, side) for word, side in zip(words, sides, strict=True))
    )


def _cell(name: str, words: str, side: str | None) -> Html:
    return element(name, words, class_=side)


def facts(pairs: Iterable[tuple[str, str]]) -> Html:
    """Names with their values; pairs without a value are left out."""
    found = [
        element("div", element("dt", name), element("dd", value)) for name, value in pairs if value
    ]
    return element("dl", *found) if found else Html("")


class Words:
    """Brings what servers and users said into a report: without secrets, bounded, escaped."""

    def __init__(self, redaction: Redaction) -> None:
        self.redaction = redaction

    def line(self, words: str, limit: int = _LINE) -> Html:
        """Words on one line."""
        # What is cut off first could lose the name that tells that it is a secret; so it is last.
        bounded = words[: 20 * limit]
        return Html(html.escape(text.one_line(self.redaction.text(bounded), limit)))

    def block(self, words: str, limit: int) -> Html:
        """Words of many lines; what is left out is counted."""
        clean = self.redaction.text(words)
        note = _left_out(len(clean) - limit)
        return element("pre", clean[:limit], note)

    def said(self, words: str) -> Html:
        """Words as a quotation, within a sentence."""
        return element("q", self.line(words))

    def json(self, value: Any, limit: int) -> Html:
        """A JSON value, indented."""
        written = json.dumps(self.redaction.value(value), indent=2, ensure_ascii=False)
        return element("pre", written[:limit], _left_out(len(written) - limit))


def _left_out(count: int) -> Html:
    if count <= 0:
        return Html("")
    return element("span", f"\n… {text.count(count, 'more character')} left out", class_="muted")


def bar(share: float | None, tone: str, words: str) -> Html:
    """A progress bar; striped when how full it is is not known."""
    if share is None:
        return element("div", element("i", class_="busy"), class_=f"bar {tone}", title=words)
    # Rounded down, so that only the end looks like the end.
    width = int(share * 1000) / 10
    full = element("i", style=f"width:{width}%")
    return element("div", full, class_=f"bar {tone}", title=words)
