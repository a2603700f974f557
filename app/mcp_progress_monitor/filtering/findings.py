"""Filters of findings: the filter language with the fields of a finding."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor.filtering.completion import Vocabulary, completed
from mcp_progress_monitor.filtering.expressions import And, Not, Or, Text
from mcp_progress_monitor.filtering.fields import FieldDefinition, FieldType
from mcp_progress_monitor.filtering.language import FilterBuilder, parse
from mcp_progress_monitor.findings.advice import ADVICE
from mcp_progress_monitor.timed_regex import is_match

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from mcp_progress_monitor.checking.report import ReportedResult
    from mcp_progress_monitor.filtering.completion import Completion
    from mcp_progress_monitor.filtering.expressions import Comparison, Expression

SEVERITY: Final = ("note", "warning", "error")  # levels of findings, least severe first
_PATTERN_S: Final = 0.02
_TEXTS: Final = FieldType.TEXT
FINDING_FIELDS: Final[dict[str, FieldDefinition]] = {
    field.name: field
    for field in (
        FieldDefinition("rule", _TEXTS, "id of the rule, such as PROG-3"),
        FieldDefinition("level", _TEXTS, "level of the finding, ordered by severity", SEVERITY),
        FieldDefinition("server", _TEXTS, "name of the server"),
        FieldDefinition("job", FieldType.JOB, "number of the job that it is about"),
        FieldDefinition("by", FieldType.CHOICE, "who violated the rule", ("server", "client")),
        FieldDefinition("method", _TEXTS, "method of the request that it is about"),
        FieldDefinition("name", _TEXTS, "tool, prompt or resource that it is about"),
        FieldDefinition("count", FieldType.COUNT, "how many messages violate the rule"),
        FieldDefinition("frame", FieldType.COUNT, "number of the first message"),
        FieldDefinition(
            "certainty", FieldType.CHOICE, "how certain it is", ("certain", "likely", "hint")
        ),
        FieldDefinition("revision", _TEXTS, "negotiated revision of the specification"),
        FieldDefinition("connection", _TEXTS, "name of the server and number of the connection"),
        FieldDefinition("text", _TEXTS, "what was observed"),
    )
}
_VALUES: Final[dict[str, Callable[[ReportedResult], Any]]] = {
    "rule": operator.attrgetter("rule"),
    "level": lambda finding: finding.level.value,
    "server": operator.attrgetter("server"),
    "job": operator.attrgetter("job"),
    "by": operator.attrgetter("by"),
    "method": operator.attrgetter("method"),
    "name": operator.attrgetter("title"),
    "count": operator.attrgetter("times"),
    "frame": lambda finding: finding.frames[0],
    "certainty": lambda finding: ADVICE[finding.rule].certainty.value,
    "revision": operator.attrgetter("revision"),
    "connection": operator.attrgetter("connection"),
    "text": operator.attrgetter("text"),
}
_ORDER: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class _Builder(FilterBuilder):
    """Builds filters with the fields of findings, none of which has members."""

    known = FINDING_FIELDS
    roots = ()


def finding_filter(text: str) -> Callable[[ReportedResult], bool] | None:
    """A predicate for a filter; None if the text is blank and matches everything.

    `FilterError` if it is invalid.
    """
    expression = parse(text, _Builder)
    return None if expression is None else lambda finding: _passes(expression, finding)


def complete_finding(text: str, cursor: int, seen: Mapping[str, Iterable[str | int]]) -> Completion:
    """The completions at `cursor`; `seen` maps fields to the values they had."""
    return completed(text, cursor, Vocabulary(FINDING_FIELDS, (), lambda name: seen.get(name, ())))


def _passes(expression: Expression, finding: ReportedResult) -> bool:
    if isinstance(expression, And):
        return all(_passes(part, finding) for part in expression.parts)
    if isinstance(expression, Or):
        return any(_passes(part, finding) for part in expression.parts)
    if isinstance(expression, Not):
        return not _passes(expression.part, finding)
    if isinstance(expression, Text):
        return expression.text.casefold() in _searched(finding)
    return _compares(expression, _VALUES[expression.field](finding))


def _searched(finding: ReportedResult) -> str:
    advice = ADVICE[finding.rule]
    parts = (finding.rule, finding.text, advice.title, finding.place, finding.server)
    return "\n".join(parts).casefold()


def _compares(wanted: Comparison, value: Any) -> bool:
    """Return whether the value of a field matches; a missing one never does."""
    if value in {None, ""}:
        return False
    if wanted.op == "matches":
        return _matches(str(wanted.value), str(value))
    if wanted.op == "contains":
        return str(wanted.value).casefold() in str(value).casefold()
    if wanted.op == "in" and isinstance(wanted.value, tuple):
        return any(_plain(value) == _plain(each) for each in wanted.value)
    if wanted.field == "level" and wanted.op not in {"==", "!="}:
        ranks = (SEVERITY.index(value), SEVERITY.index(str(wanted.value)))
        return _ORDER[wanted.op](*ranks)
    return _ORDER[wanted.op](_plain(value), _plain(wanted.value))


def _matches(pattern: str, text: str) -> bool:
    try:
        return is_match(pattern, text, _PATTERN_S)
    except TimeoutError:
        return False


def _plain(value: Any) -> Any:
    """A value for a comparison that ignores case."""
    return value.casefold() if isinstance(value, str) else value
