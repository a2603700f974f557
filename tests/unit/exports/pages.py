"""Reads a report as a browser would: its text, its elements, and whether these close in order."""

import html.parser

_VOID = frozenset({"meta", "line", "circle", "path", "polyline"})
_ALLOWED = frozenset(
    (
        *("html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "p", "div", "pre"),
        *("dl", "dt", "dd", "span", "b", "q", "code", "ul", "li", "a", "i", "svg", "text"),
        *("table", "thead", "tbody", "tr", "th", "td", "line", "circle", "path", "polyline"),
    )
)
_NO_BLOCKS = frozenset({"p", "h1", "h2", "h3", "a", "span"})
_BLOCKS = frozenset({"p", "pre", "ul", "div", "table", "h3"})


class Page(html.parser.HTMLParser):
    """The words of a page, with a space where an element begins or ends."""

    def __init__(self, content: bytes) -> None:
        super().__init__()
        self._open: list[str] = []
        self._texts: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.faults: list[str] = []
        self.feed(content.decode())
        self.close()
        self.faults += [f"{name} stays open" for name in self._open]

    @property
    def text(self) -> str:
        return " ".join(" ".join(self._texts).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in _ALLOWED:
            self.faults.append(f"{tag} is no element of reports")
        if tag in _BLOCKS and _NO_BLOCKS & set(self._open):
            self.faults.append(f"{tag} within {self._open}")
        if tag not in _VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            self.faults.append(f"{tag} closes what is not open")

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] != "style":
            self._texts.append(data)
