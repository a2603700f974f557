"""A played server that asks, and someone at the desk who answers."""

import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Any

import anyio

from mcp_progress_monitor.clock import Clock
from mcp_progress_monitor.protocol.eras import ClientIdentity, Era
from mcp_progress_monitor.sessions.connection.clocks import CallClock, Hold
from mcp_progress_monitor.sessions.questions.broker import RequestBroker
from mcp_progress_monitor.sessions.questions.multi_round_trip import MultiRoundTrips
from mcp_progress_monitor.sessions.questions.questions import Questions
from mcp_progress_monitor.sessions.questions.server_requests import ServerContext, ServerRequests
from mcp_progress_monitor.sessions.settings_file import SettingsFile
from mcp_progress_monitor.snapshots.questions import Question
from mcp_progress_monitor.snapshots.settings import QuestionRules, Root, ServerSettings
from tests.unit.sessions.playbook import Message, PlayedServer, Script, connection_to

ASK = QuestionRules()
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
    "required": ["name"],
}
FORM = {"message": "Who are you?", "requestedSchema": SCHEMA}
SAMPLING = {
    "messages": [{"role": "user", "content": {"type": "text", "text": "hello"}}],
    "maxTokens": 9,
}
SAMPLED = {"role": "assistant", "model": "me", "content": {"type": "text", "text": "hi"}}


def question(**changes: Any) -> Question:
    """A question for a form, with `changes` to its fields."""
    fields: dict[str, Any] = {
        "id": 1,
        "server": "s",
        "connection": "s#1",
        "request": 7,
        "key": None,
        "method": "elicitation/create",
        "kind": "form",
        "message": "Who are you?",
        "schema": SCHEMA,
        "url": None,
        "params": FORM,
        "job": None,
        "asked_at": 0.0,
        "asked_when": 0.0,
    }
    return Question(**{**fields, **changes})


def request(identity: int | str, method: str, params: object = None, token: Any = None) -> Message:
    """A request of the server."""
    body: dict[str, Any] = {"jsonrpc": "2.0", "id": identity, "method": method}
    if isinstance(params, dict) and token is not None:
        params = {**params, "_meta": {"progressToken": token}}
    return body if params is None else {**body, "params": params}


def broker() -> RequestBroker:
    """Settings that are kept nowhere, and questions that hold nothing and that nobody sees."""
    return RequestBroker(
        Questions(lambda _asked: None, lambda _question: Hold((), float)),
        SettingsFile(),
        lambda _request: None,
    )


def silent(_message: Message) -> list[Message]:
    """Say nothing to anything."""
    return []


class Questioned:
    """One connection, all questions that came over it, and what they hold still."""

    def __init__(self, script: Script, rules: QuestionRules, roots: Sequence[Root]) -> None:
        self.server = PlayedServer(script)
        self.connection = connection_to(self.server)
        self.clock = CallClock(0.0)
        self.reported: list[frozenset[int]] = []
        self.settings = ServerSettings(rules=rules, roots=tuple(roots))
        self._heard = anyio.Event()
        self.questions = Questions(self._tell, self._hold)
        context = ServerContext("s", self.questions, self._settings, self._job, Clock())
        self.request_broker = RequestBroker(self.questions, SettingsFile(), self._job)
        self.identity = ClientIdentity(
            {}, rules.capabilities(Era.HANDSHAKE), rules.capabilities(Era.PER_REQUEST)
        )
        self.server_requests = ServerRequests(self.connection, context, self.identity)
        self.rounds = MultiRoundTrips(self.connection, self.server_requests)

    def _settings(self) -> ServerSettings:
        return self.settings

    def _job(self, request: int) -> int:
        return request + 1000

    def _hold(self, _question: Question) -> Hold:
        return Hold([self.clock], Clock().monotonic)

    def _tell(self, questions: frozenset[int]) -> None:
        self.reported.append(questions)
        self._heard.set()

    async def asked(self, count: int = 1) -> list[Question]:
        """So many open questions, once they are there."""
        with anyio.fail_after(5):
            while len(self.questions.open()) < count:
                self._heard = anyio.Event()
                await self._heard.wait()
        return list(self.questions.open())

    async def ended(self, identity: int) -> Question:
        """A question once it is not open any more."""
        with anyio.fail_after(5):
            while not ((found := self.questions.find(identity)) and found.ended):
                self._heard = anyio.Event()
                await self._heard.wait()
        return found

    async def reply_to(self, identity: int | str) -> Message:
        """Our reply to a request of the server, once it is there."""
        with anyio.fail_after(5):
            while True:
                for message in self.server.sent:
                    if message.get("id") == identity and "method" not in message:
                        return message
                await self.server.until_count(len(self.server.sent) + 1)

    def phases(self) -> list[tuple[Any, Any, Any]]:
        """The progress that we sent: value, total, words."""
        sent = [
            m["params"] for m in self.server.sent if m.get("method") == "notifications/progress"
        ]
        return [(each["progress"], each["total"], each["message"]) for each in sent]


@contextlib.asynccontextmanager
async def questioned(
    script: Script = silent,
    *,
    rules: QuestionRules = ASK,
    roots: Sequence[Root] = (),
    era: Era | None = Era.HANDSHAKE,
) -> AsyncIterator[Questioned]:
    """A connection that is open and served until the block ends."""
    broker = Questioned(script, rules, roots)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(broker.connection.run)
        tasks.start_soon(broker.server_requests.run)
        tasks.start_soon(broker.rounds.run)
        await broker.connection.opened()
        if era is not None:
            broker.server_requests.begin(era)
        yield broker
        broker.connection.end("the test is over")
        await broker.connection.over()
        tasks.cancel_scope.cancel()
