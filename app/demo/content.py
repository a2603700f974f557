"""What the server offers, as methods: tools, resources and prompts, listed in pages."""

from collections.abc import Callable, Sequence

from app.demo import prompts, resources
from app.demo.call import Call
from app.demo.messages import INVALID_PARAMS, JsonObject, RpcError
from app.demo.tool import Tool

Method = Callable[[Call], JsonObject | None]
"""Serves a call and returns its result, or None when it replied itself or never will."""


class Content:
    """The tables behind `tools/…`, `resources/…` and `prompts/…`."""

    def __init__(
        self, tools: Sequence[Tool], page_size: int, later_tools: Sequence[Tool] = ()
    ) -> None:
        """List at most `page_size` tools in one answer; 0 lists all of them.

        `later_tools`, if any, take the place of `tools` once one was called.
        """
        self._tools = {tool.name: tool for tool in tools}
        self._later_tools = {tool.name: tool for tool in later_tools or tools}
        self._page_size = page_size

    def methods(self) -> dict[str, Method]:
        """Return what each method name does."""
        return {
            "ping": _ping,
            "tools/list": self._list_tools,
            "tools/call": self._call_tool,
            "resources/list": resources.list_resources,
            "resources/templates/list": resources.list_templates,
            "resources/read": resources.read,
            "prompts/list": prompts.list_prompts,
            "prompts/get": prompts.get,
        }

    def _list_tools(self, call: Call) -> JsonObject:
        listed = [tool.listed() for tool in self._tools.values()]
        return page("tools", listed, self._page_size, call.params.get("cursor"))

    def _call_tool(self, call: Call) -> JsonObject | None:
        name, arguments = call.params.get("name"), call.params.get("arguments", {})
        if not isinstance(name, str) or name not in self._tools:
            raise RpcError(INVALID_PARAMS, f"Unknown tool: {name}")
        tool, self._tools = self._tools[name], self._later_tools
        return tool(call, arguments)


def page(member: str, entries: list[JsonObject], size: int, cursor: object) -> JsonObject:
    """Return the entries that `cursor` points at, and the next cursor if there are more.

    Raises:
        RpcError: We never gave out this cursor.
    """
    if not size:
        return {member: entries}
    cursors = {f"{member}-from-{start}": start for start in range(size, len(entries), size)}
    if cursor is not None and cursor not in cursors:
        raise RpcError(INVALID_PARAMS, f"Unknown cursor: {cursor}")
    start = cursors.get(str(cursor), 0)
    result: JsonObject = {member: entries[start : start + size]}
    if start + size < len(entries):
        result["nextCursor"] = f"{member}-from-{start + size}"
    return result


def _ping(_call: Call) -> JsonObject:
    return {}
