"""A rule that a monitor can check, and a finding: the rule with what was seen.

Nothing is formatted until somebody reads the text.
"""

from __future__ import annotations

import enum
import functools
import string
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor import formatting

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


class Level(enum.StrEnum):
    """Severity of breaking a rule."""

    ERROR = "error"  # the protocol says MUST
    WARNING = "warning"  # it says SHOULD, or the case is doubtful
    NOTE = "note"  # allowed, and worth a look


class Source(NamedTuple):
    """Document that states a rule."""

    document: str
    section: str


class Rule(NamedTuple):
    """A rule, or one way to break it: several rules may have the same `id`.

    `kind` is the key of the mark on a job and of `--json`, empty where the message decides it
    (see `tracker.marks`). `text` is a template: its fields name the arguments of a finding, in
    order, and how each is shown (see `_SPECS`). `member` is the name of the one member that is at
    fault, "token" for that of a progress token; empty where it is the whole message.
    """

    id: str
    level: Level
    revisions: tuple[str, ...]
    source: Source
    text: str
    kind: str = ""
    member: str = ""


class Finding(NamedTuple):
    """A rule and how it was broken. The frame is that of the fact or mark that carries it."""

    rule: Rule
    arguments: tuple[Any, ...] = ()

    @property
    def text(self) -> str:
        return text_of(self.rule, self.arguments)

    @property
    def member(self) -> str:
        """The name of the member at fault: its rule's, or the argument that says it."""
        named = dict(zip(_names(self.rule.text), self.arguments, strict=True)).get("member")
        return self.rule.member or (named if isinstance(named, str) else "")


def text_of(rule: Rule, arguments: Sequence[Any]) -> str:
    template = rule.text
    return _FORMATTER.vformat(template, (), dict(zip(_names(template), arguments, strict=True)))


def texts(findings: Iterable[Finding]) -> tuple[str, ...]:
    return tuple(finding.text for finding in findings)


def joined(findings: Iterable[Finding]) -> str:
    """All findings on a message as one text; empty when there are none."""
    return "; ".join(finding.text for finding in findings)


@functools.cache
def _names(template: str) -> tuple[str, ...]:
    return tuple(name for _, name, _, _ in _FORMATTER.parse(template) if name is not None)


class _Formatter(string.Formatter):
    """Fills templates; the specs of `_SPECS` are its own, all others are Python's."""

    def format_field(self, value: Any, format_spec: str) -> str:
        show = _SPECS.get(format_spec)
        return str(super().format_field(value, format_spec)) if show is None else show(value)


def _late(seconds: float | None) -> str:
    """Say how late something arrived, with a trailing space; empty if unknown."""
    return "" if seconds is None else f"{formatting.duration(seconds)} "


def _or_missing(value: float | None) -> str:
    return "missing" if value is None else formatting.number(value)


def _listed(parts: Sequence[str]) -> str:
    *others, last = parts
    return f"{', '.join(others)} and {last}" if others else last


_SPECS: Final[Mapping[str, Any]] = {
    "number": formatting.number,
    "or_missing": _or_missing,
    "duration": formatting.duration,
    "late": _late,
    "and": " and ".join,
    "list": _listed,
}
_FORMATTER: Final = _Formatter()
