"""What the server offers, as methods: tools, resources, prompts, and the news of them."""

from collections.abc import Sequence
from typing import Final

from mcp_progress_monitor.demo import prompts, resources
from mcp_progress_monitor.demo.call import Call, Method
from mcp_progress_monitor.demo.messages import INVALID_PARAMS, JsonObject, RpcError, text_result
from mcp_progress_monitor.demo.pages import page
from mcp_progress_monitor.demo.tasks.service import TaskService
from mcp_progress_monitor.demo.tool import NO_ARGUMENTS, Tool

_LONG_S: Final = 3_600


class Content:
    """The tables behind `tools/…`, `resources/…`, `prompts/…`, subscriptions and the log level."""

    def __init__(
        self,
        tools: Sequence[Tool],
        page_size: int,
        tasks: TaskService,
        later_tools: Sequence[Tool] = (),
    ) -> None:
        """List at most `page_size` tools in one answer; 0 lists all of them.

        `later_tools`, if any, take the place of `tools` once one was called.
        """
        self._tools = {tool.name: tool for tool in tools}
        self._later_tools = {tool.name: tool for tool in later_tools or tools}
        self._page_size = page_size
        self._tasks = tasks
        tasks.find = self._tools.get

    def methods(self) -> dict[str, Method]:
        """Return what each method name does."""
        return {
            "ping": _ping,
            "tools/list": self._list_tools,
            "tools/call": self._call_tool,
            "resources/list": resources.list_resources,
            "resources/templates/list": resources.list_templates,
            "resources/read": resources.read,
            "resources/subscribe": _subscribe,
            "resources/unsubscribe": _unsubscribe,
            "prompts/list": prompts.list_prompts,
            "prompts/get": prompts.get,
            "logging/setLevel": _set_level,
            "subscriptions/listen": self._listen,
        }

    def _list_tools(self, call: Call) -> JsonObject:
        listed = [tool.listed(call.dialect) for tool in self._offered(call).values()]
        return page("tools", listed, self._page_size, call.params.get("cursor"))

    def _offered(self, call: Call) -> dict[str, Tool]:
        extra = {EXTRA.name: EXTRA} if "tools" in call.connection.extras else {}
        return {**self._tools, **extra}

    def _call_tool(self, call: Call) -> JsonObject | None:
        name, arguments = call.params.get("name"), call.params.get("arguments", {})
        offered = self._offered(call)
        if not isinstance(name, str) or name not in offered:
            raise RpcError(INVALID_PARAMS, f"Unknown tool: {name}")
        tool, self._tools = offered[name], self._later_tools
        becomes_task = self._tasks.wants(call, tool)
        completed = tool.completed(arguments)
        if becomes_task:
            self._tasks.begin(call, tool, completed)
            return None
        return tool.serve(call, completed)

    def _listen(self, call: Call) -> JsonObject | None:
        """Serve a subscription until it is cancelled."""
        news, wanted = call.connection.news, call.params.get("notifications")
        news.listen(call.id, wanted, self._tasks.known_ids(call, wanted), call.owner)
        try:
            while True:
                call.sleep(_LONG_S)
        finally:
            news.stop(call.id, call.owner)


def extra_tool(_call: Call) -> JsonObject:
    """Do nothing, but only while it is listed."""
    return text_result("I was not always here.")


EXTRA: Final = Tool(
    extra_tool,
    "Extra tool",
    "Comes and goes with change_list.",
    NO_ARGUMENTS,
    lasts=False,
)
"""The tool that `change_list` adds and takes away."""


def _ping(_call: Call) -> JsonObject:
    return {}


def _subscribe(call: Call) -> JsonObject:
    call.connection.news.subscribe(call.params.get("uri"))
    return {}


def _unsubscribe(call: Call) -> JsonObject:
    call.connection.news.unsubscribe(call.params.get("uri"))
    return {}


def _set_level(call: Call) -> JsonObject:
    call.connection.log_level.set(call.params.get("level"))
    return {}
