"""Resume tokens kept out of sight: who has one can go on with the work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from mcp_progress_monitor.protocol.facts import JsonObject

TOKEN: Final = "nextResumeToken"  # noqa: S105 - the member's name
HIDDEN: Final = "(hidden)"
"""What stands in place of a token."""


def without_tokens(result: JsonObject) -> JsonObject:
    """A result, or a JSON-RPC error, with `HIDDEN` wherever a server may have put its token.

    That is in `_meta`, beside it, and at the same places of an error's `data`. What is changed is
    copied: `result` stays as it was.
    """
    shown = _hidden_here(result)
    if isinstance(data := shown.get("data"), dict):
        shown["data"] = _hidden_here(data)
    return shown


def shown_data(data: Any) -> Any:
    """An error's `data`, which may be anything, without its tokens."""
    return without_tokens(data) if isinstance(data, dict) else data


def _hidden_here(values: dict[str, Any]) -> dict[str, Any]:
    """A copy without the token beside `_meta` and the one in it."""
    shown = _hidden_member(values)
    if isinstance(meta := shown.get("_meta"), dict):
        shown["_meta"] = _hidden_member(meta)
    return shown


def _hidden_member(values: dict[str, Any]) -> dict[str, Any]:
    return {name: HIDDEN if name == TOKEN else value for name, value in values.items()}
