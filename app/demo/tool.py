"""What a tool is: a small function, the schema of its arguments, and words about it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from app.demo.call import ON_CANCEL, Call
from app.demo.messages import INVALID_PARAMS, JsonObject, RpcError
from app.demo.schemas import ArgumentError, choice, complete, record

_ON_CANCEL: Final = choice(
    "When cancelled: stop without a word, ignore it, answer with an error, or with a result",
    *ON_CANCEL,
)


@dataclass(frozen=True, slots=True)
class Tool:
    """A row in a table of tools.

    `run` gets the call and its arguments by name. It returns the result to send, or None when it
    has replied itself or means never to. A tool that takes time (`lasts`) has one argument more
    than it names, `on_cancel`, which is dealt with before it runs.
    """

    run: Callable[..., JsonObject | None]
    title: str
    description: str
    arguments: JsonObject
    lasts: bool = True

    @property
    def name(self) -> str:
        """The name clients call it by: that of its function."""
        return self.run.__name__

    @property
    def schema(self) -> JsonObject:
        """The JSON Schema of everything a client may pass."""
        if not self.lasts:
            return self.arguments
        members = {**self.arguments["properties"], "on_cancel": _ON_CANCEL}
        return {**self.arguments, "properties": members}

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
        return self.run(call, **arguments)


NO_ARGUMENTS: Final = record()
