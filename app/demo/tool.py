"""What a tool is: a small function, the schema of its arguments, and words about it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from app.demo.call import ON_CANCEL, Call
from app.demo.messages import INVALID_PARAMS, JsonObject, RpcError
from app.demo.schemas import ArgumentError, choice, complete, record

_ON_CANCEL: Final = choice(
    "When cancelled: stop without a word, ignore it, answer with an error, or with a result",
    *ON_CANCEL,
)
_IS_SURE: Final[JsonObject] = {"type": "boolean", "description": "Whether you are sure"}


@dataclass(frozen=True, slots=True)
class Tool:
    """A row in a table of tools.

    `run` gets the call and its arguments by name. It returns the result to send, or None when it
    has replied itself or means never to. A tool that takes time (`lasts`) has one argument more
    than it names, `on_cancel`, which is dealt with before it runs; one that was `changed`, too.
    """

    run: Callable[..., JsonObject | None]
    title: str
    description: str
    arguments: JsonObject
    lasts: bool = True
    is_changed: bool = False

    @property
    def name(self) -> str:
        """The name clients call it by: that of its function."""
        return self.run.__name__

    @property
    def schema(self) -> JsonObject:
        """The JSON Schema of everything a client may pass."""
        if not self.lasts and not self.is_changed:
            return self.arguments
        members = dict(self.arguments["properties"])
        if self.lasts:
            members["on_cancel"] = _ON_CANCEL
        if self.is_changed:
            members["is_sure"] = _IS_SURE
        return record("", **members)

    def changed(self) -> "Tool":
        """Return the tool as a later version has it: it needs one argument more."""
        return replace(self, is_changed=True)

    def listed(self) -> JsonObject:
        """Return the entry in `tools/list`."""
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.schema,
        }

    def __call__(self, call: Call, given: JsonObject) -> JsonObject | None:
        """Check the arguments, fill in defaults and run.

        Raises:
            RpcError: The arguments do not fit the schema.
        """
        try:
            arguments = complete(self.schema, given)
        except ArgumentError as error:
            data = {"path": error.path, "problem": error.problem}
            raise RpcError(INVALID_PARAMS, f"{self.name}: {error}", data) from error
        if self.lasts:
            call.on_cancel = arguments.pop("on_cancel")
        if self.is_changed:
            del arguments["is_sure"]
        return self.run(call, **arguments)


NO_ARGUMENTS: Final = record()
