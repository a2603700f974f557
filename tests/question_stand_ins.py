"""Questions of servers without a server."""

import base64
from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QBuffer, QIODevice
from PySide6.QtGui import QImage

from mcp_progress_monitor.snapshots.questions import Question
from mcp_progress_monitor.tracker.snapshot import JobId, JobSnapshot

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 2},
        "colour": {"type": "string", "oneOf": [{"const": "r", "title": "Red"}], "default": "r"},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}},
    },
    "required": ["name"],
}
_PLAIN = Question(
    id=1,
    server="demo",
    connection="demo#1",
    request=21,
    key=None,
    method="elicitation/create",
    kind="form",
    message="Who <b>are</b> you?",
    schema=SCHEMA,
    url=None,
    params={"message": "Who <b>are</b> you?", "requestedSchema": SCHEMA},
    job=None,
    asked_at=100.0,
    asked_when=1_795_190_467.0,
)


def form(**changes: Any) -> Question:
    """A form with a required name, with `changes` to its fields."""
    return _PLAIN._replace(**changes)


def page(url: str, **changes: Any) -> Question:
    """A page to be opened."""
    plain = {"id": 2, "request": 22, "kind": "url", "schema": None, "url": url}
    return form(**{**plain, "params": {"mode": "url", "message": "Sign in", "url": url}, **changes})


def sampling(*messages: dict[str, Any], **changes: Any) -> Question:
    """A request for a model's answer."""
    plain = {"id": 3, "request": 23, "kind": "sampling", "schema": None, "message": ""}
    params = {"messages": list(messages) or [said("How much?")], "maxTokens": 200}
    method = "sampling/createMessage"
    return form(**{**plain, "method": method, "params": params, **changes})


def said(expected: str, role: str = "user") -> dict[str, Any]:
    """A message of a conversation, as text."""
    return {"role": role, "content": {"type": "text", "text": expected}}


def drawn(width: int, height: int) -> dict[str, Any]:
    """An image block."""
    image = QImage(width, height, QImage.Format.Format_RGB32)
    image.fill(0x3366AA)
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")  # type: ignore[call-overload]  # its stub wants bytes, Qt does not
    data = base64.b64encode(bytes(buffer.data().data())).decode()
    return {"type": "image", "data": data, "mimeType": "image/png"}


class FakeQuestions:
    """A `QuestionSource`: says what a test put into it."""

    def __init__(self, *questions: Question) -> None:
        self.held: list[Question] = list(questions)
        self.jobs: dict[JobId, JobSnapshot] = {}
        self.time = 114.0

    def questions(self) -> Sequence[Question]:
        """The questions as held."""
        return tuple(self.held)

    def snapshot(self, job: JobId) -> JobSnapshot | None:
        """A job as put in."""
        return self.jobs.get(job)

    def now(self) -> float:
        """The time that a test has set."""
        return self.time
