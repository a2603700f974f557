"""What the log says of a connection's life: how it began, failed, was ended, what comes next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from PySide6.QtCore import QCoreApplication

from mcp_progress_monitor.text import one_line, size

if TYPE_CHECKING:
    from collections.abc import Callable

_LONG: Final = 300


def summary_of(name: str, fields: dict[str, Any]) -> str:
    """The words for an event, from whatever a recording has; empty where its fields are to do."""
    reader = _READERS.get(name)
    return "" if reader is None else reader(fields)


def _closed(fields: dict[str, Any]) -> str:
    code = fields.get("exit_code")
    reason = _text(fields, "reason")
    is_told = type(code) is not int or str(code) in reason
    ended = "" if is_told else _tr("exit code {}").format(code)
    unread = fields.get("unread")
    left = _tr("{} left unread").format(size(unread)) if type(unread) is int else ""
    return _joined(reason, ended, left, _text(fields, "outlook"))


def _failed(fields: dict[str, Any]) -> str:
    return _joined(*(_text(fields, name) for name in ("what", "where", "hint")))


def _restarting(fields: dict[str, Any]) -> str:
    return _text(fields, "reason")


def _call_ended(fields: dict[str, Any]) -> str:
    return _joined(_text(fields, "outcome"), _text(fields, "text"))


def _output_checked(fields: dict[str, Any]) -> str:
    for name, words in (
        ("problems", _tr("The result breaks the tool's output schema: {}")),
        ("unchecked", _tr("The result was not checked completely: {}")),
    ):
        listed = fields.get(name)
        texts = (
            [each for each in listed if isinstance(each, str)] if isinstance(listed, list) else []
        )
        if texts:
            return words.format(one_line("; ".join(texts), _LONG))
    return ""


def _joined(*parts: str) -> str:
    return _tr("; ").join(part for part in parts if part)


def _text(fields: dict[str, Any], name: str) -> str:
    value = fields.get(name)
    return one_line(value, _LONG) if isinstance(value, str) else ""


def _tr(words: str) -> str:
    return QCoreApplication.translate("LogEvents", words)


_READERS: Final[dict[str, Callable[[dict[str, Any]], str]]] = {
    "closed": _closed,
    "failed": _failed,
    "restarting": _restarting,
    "transport_changed": _restarting,
    "call_ended": _call_ended,
    "output_checked": _output_checked,
    "timed_out": _call_ended,
}
