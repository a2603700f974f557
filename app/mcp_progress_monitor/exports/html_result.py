"""What a job asked for and what it was answered, without what a report need not hold."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor import text
from mcp_progress_monitor.exports.html_parts import Html, joined, render

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_progress_monitor.exports.html_parts import Words
    from mcp_progress_monitor.protocol.facts import RequestAnswered

_TEXTS: Final = 20
_SMALL: Final = 200


def answer_parts(answer: RequestAnswered, words: Words, characters: int) -> Html:
    """A reply: its texts, then the whole of it; each value in at most so many characters."""
    size = render("note", f"{text.size(answer.size)} on the wire.")
    if answer.error is not None:
        return joined((words.json(answer.error, characters), size))
    texts = [words.block(said, characters) for said in _texts(answer.result)]
    label = render("note", "The whole reply:") if texts else ""
    whole = words.json(without_blobs(answer.result), characters)
    return joined((*texts, label, whole, size))


def _texts(result: Any) -> Iterator[str]:
    """The texts among a result's content blocks."""
    content = result.get("content") if isinstance(result, dict) else None
    for block in itertools.islice(content if isinstance(content, list) else (), _TEXTS):
        said = block.get("text") if isinstance(block, dict) else None
        if isinstance(said, str) and said:
            yield said


def without_blobs(value: Any) -> Any:
    """A result without its images and such: a report loads nothing and need not hold them."""
    if isinstance(value, list):
        return [without_blobs(element) for element in value]
    if not isinstance(value, dict):
        return value
    return {name: _member(name, member) for name, member in value.items()}


def _member(name: str, member: Any) -> Any:
    is_blob = name in {"data", "blob"} and isinstance(member, str) and len(member) > _SMALL
    if is_blob:
        return f"({text.size(len(member))} of base64 left out)"
    return without_blobs(member)
