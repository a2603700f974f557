"""Questions, and somebody at a keyboard who answers them as a test wrote down."""

import io
from collections.abc import Iterable
from typing import Any

from mcp_progress_monitor.cli.asking.terminal import Dialogue, HungUpError, Keyboard
from mcp_progress_monitor.cli.output.stdout import StandardOutput
from mcp_progress_monitor.snapshots.questions import Question

METHODS = {
    "form": "elicitation/create",
    "url": "elicitation/create",
    "sampling": "sampling/createMessage",
    "roots": "roots/list",
}


def asked(kind: Any = "form", **changes: Any) -> Question:
    """A question of the server `demo`; a form without fields unless a test says more."""
    known: dict[str, Any] = {
        "id": 1,
        "server": "demo",
        "connection": "demo#1",
        "request": 7,
        "key": None,
        "method": METHODS[kind],
        "message": "Your name?",
        "schema": form() if kind == "form" else None,
        "url": "https://example.com/in" if kind == "url" else None,
        "params": {},
        "job": None,
        "asked_at": 100.0,
        "asked_when": 1000.0,
    }
    return Question(kind=kind, **(known | changes))


def form(required: Iterable[str] = (), **properties: dict[str, Any]) -> dict[str, Any]:
    """The schema of a form."""
    return {"type": "object", "properties": properties, "required": list(required)}


class Typist(Keyboard):
    """Types the lines of a test, then hangs up."""

    def __init__(self, *lines: str) -> None:
        super().__init__(io.StringIO())
        self.lines = list(lines)
        self.discarded = 0

    async def line(self) -> str:
        """The next line."""
        if not self.lines:
            raise HungUpError
        return self.lines.pop(0)

    def discard(self) -> None:
        """Count the beginnings of questions."""
        self.discarded += 1


class Talk:
    """A dialogue with a typist, and what was shown in it."""

    def __init__(self, *lines: str) -> None:
        self._shown = io.BytesIO()
        self._stream = io.TextIOWrapper(self._shown, encoding="utf-8")
        self.typist = Typist(*lines)
        self.dialogue = Dialogue(StandardOutput(self._stream), self.typist)

    @property
    def shown(self) -> str:
        """Everything that was shown."""
        return self._shown.getvalue().decode()
