"""What a tool is: a small function, the schema of its arguments, and words about it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from mcp_progress_monitor.demo.call import ON_CANCEL, Call, RefusedError
from mcp_progress_monitor.demo.eras import Dialect
from mcp_progress_monitor.demo.messages import INVALID_PARAMS, JsonObject, RpcError, text_result
from mcp_progress_monitor.demo.schemas import (
    ArgumentError,
    choice,
    complete,
    flag,
    integer,
    number,
    record,
)
from mcp_progress_monitor.demo.tasks.task import Task

_ON_CANCEL: Final = choice(
    "When cancelled: stop without a word, ignore it, answer with an error, or with a result",
    *ON_CANCEL,
)
_IS_SURE: Final[JsonObject] = {"type": "boolean", "description": "Whether you are sure"}
_TERMS: Final[dict[str, JsonObject]] = {
    "poll_ms": integer("How often to ask for a task's state, in ms", 500, 0, 3_600_000),
    "ttl_s": number("Seconds a task is kept; 0 is as the client wants", 0, 0, 86_400),
    "notifies": flag("Tell of each state of a task without being asked", default=True),
}
_PREPARED: Final = ("on_cancel", "is_sure", *_TERMS)
"""The arguments that are dealt with before a tool runs."""


@dataclass(frozen=True, slots=True)
class TaskTraits:
    """How calls of a tool may become tasks."""

    support: Literal["optional", "required", "forbidden", ""] = "optional"
    """What revision 2025-11-25 lists; nothing means forbidden as well."""
    becomes: Literal["as_wanted", "never", "always"] = "as_wanted"
    """Whether the tool keeps to what client and revision want, or breaks the rules."""
    prepare: Callable[[Task, Any], None] | None = None
    """Gives a new task its faults before anybody hears of it; gets the arguments, too."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A row in a table of tools.

    `run` gets the call and its arguments by name. It returns the result to send, or None when it
    has replied itself or means never to. A tool that takes time (`lasts`) has one argument more
    than it names, `on_cancel`, which is dealt with before it runs; one that was `changed`, too; one
    that may be a task (`tasks`) has three.
    """

    run: Callable[..., JsonObject | None]
    title: str
    description: str
    arguments: JsonObject
    lasts: bool = True
    is_changed: bool = False
    tasks: TaskTraits | None = None

    @property
    def name(self) -> str:
        """The name clients call it by: that of its function."""
        return self.run.__name__

    @property
    def schema(self) -> JsonObject:
        """The JSON Schema of everything a client may pass."""
        members = dict(self.arguments["properties"])
        if self._may_be_task:
            members.update(_TERMS)
        if self.lasts:
            members["on_cancel"] = _ON_CANCEL
        if self.is_changed:
            members["is_sure"] = _IS_SURE
        return record("", **members)

    @property
    def _may_be_task(self) -> bool:
        traits = self.tasks
        if traits is None or traits.becomes == "never":
            return False
        return traits.becomes == "always" or traits.support in {"optional", "required"}

    def changed(self) -> "Tool":
        """Return the tool as a later version has it: it needs one argument more."""
        return replace(self, is_changed=True)

    def listed(self, dialect: Dialect) -> JsonObject:
        """Return the entry in `tools/list`."""
        entry: JsonObject = {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.schema,
        }
        if dialect.has_core_tasks and self.tasks is not None and self.tasks.support:
            entry["execution"] = {"taskSupport": self.tasks.support}
        return entry

    def completed(self, given: JsonObject) -> JsonObject:
        """Check the arguments and fill in defaults.

        Raises:
            RpcError: The arguments do not fit the schema.
        """
        try:
            arguments: JsonObject = complete(self.schema, given)
        except ArgumentError as error:
            data = {"path": error.path, "problem": error.problem}
            raise RpcError(INVALID_PARAMS, f"{self.name}: {error}", data) from error
        return arguments

    def serve(self, call: Call, completed: JsonObject) -> JsonObject | None:
        """Run with arguments that were checked."""
        own = {name: value for name, value in completed.items() if name not in _PREPARED}
        call.on_cancel = completed.get("on_cancel", call.on_cancel)
        try:
            return self.run(call, **own)
        except RefusedError as refusal:
            return text_result(str(refusal), is_error=True)


NO_ARGUMENTS: Final = record()
