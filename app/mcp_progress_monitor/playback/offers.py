"""What a server offered, as far as its lists were asked for while it was recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor.problem import Problem
from mcp_progress_monitor.protocol import messages
from mcp_progress_monitor.protocol.facts import RequestAnswered, RequestMade, Side
from mcp_progress_monitor.protocol.listing import read_list_result
from mcp_progress_monitor.protocol.reading import Elided, NotJsonError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mcp_progress_monitor.protocol.facts import Fact, JsonObject
    from mcp_progress_monitor.protocol.frame import Frame
    from mcp_progress_monitor.protocol.messages import Page, Prompt, Resource, Tool

_READERS: Final[dict[str, Callable[[JsonObject], Page[Any]]]] = {
    "tools/list": messages.read_tools,
    "resources/list": messages.read_resources,
    "prompts/list": messages.read_prompts,
}
_LONGEST: Final = 4 * 1024 * 1024
"""Bytes of the largest page that is read although that takes some 50 ms."""
_PROBLEMS_SHOWN: Final = 5
_ASKED_KEPT: Final = 1000
_ITEMS_KEPT: Final = 100_000


class Offers:
    """The lists of one connection, page by page, the newest of each."""

    def __init__(self, connection: str) -> None:
        self._connection = connection
        self._asked: dict[int, tuple[str, bool]] = {}
        self._items: dict[str, tuple[Any, ...]] = {}
        self._problems: dict[str, Problem] = {}

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools; empty when they are not known."""
        return self._items.get("tools/list", ())

    @property
    def resources(self) -> tuple[Resource, ...]:
        """The resources; empty when they are not known."""
        return self._items.get("resources/list", ())

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        """The prompts; empty when they are not known."""
        return self._items.get("prompts/list", ())

    @property
    def problem(self) -> Problem | None:
        """Why one of the lists cannot be told; None when all can."""
        return next(iter(self._problems.values()), None)

    def take(self, fact: Fact, frames: Sequence[Frame]) -> bool:
        """Learn from a request or a reply; whether a list has changed."""
        if isinstance(fact, RequestMade):
            if fact.method in _READERS and fact.sender is Side.CLIENT:
                self._asked[fact.number] = fact.method, "cursor" in fact.params
                if len(self._asked) > _ASKED_KEPT:
                    del self._asked[next(iter(self._asked))]
            return False
        if not isinstance(fact, RequestAnswered):
            return False
        asked = self._asked.pop(fact.request or 0, None)
        if asked is None:
            return False
        method, goes_on = asked
        self._answer(method, fact, frames, goes_on=goes_on)
        return True

    def _answer(
        self, method: str, fact: RequestAnswered, frames: Sequence[Frame], *, goes_on: bool
    ) -> None:
        if not goes_on:
            self._items.pop(method, None)
            self._problems.pop(method, None)
        if fact.result is None:
            words = (fact.error or {}).get("message")
            self._problems[method] = Problem(
                f"The server refused {method}: {words}", self._connection
            )
            return
        try:
            page = _READERS[method](_whole(method, fact, fact.result, frames))
        except NotJsonError as error:
            what = f"What the server answered to {method} cannot be read"
            self._problems[method] = Problem(what, self._connection, detail=str(error))
            return
        items = (*self._items.get(method, ()), *page.items)
        self._items[method] = items[:_ITEMS_KEPT]
        if page.problems:
            what = f"What the server answered to {method} is not all right"
            detail = "\n".join(page.problems[:_PROBLEMS_SHOWN])
            self._problems.setdefault(method, Problem(what, self._connection, detail=detail))


def _whole(
    method: str, fact: RequestAnswered, result: JsonObject, frames: Sequence[Frame]
) -> JsonObject:
    """The result, read anew where parts of it were too large to be read with the message."""
    key = method.removesuffix("/list")
    if not isinstance(result.get(key), Elided) or fact.size > _LONGEST:
        return result
    raw = next(frame.raw for frame in frames if frame.number == fact.number)
    return read_list_result(raw, key)
