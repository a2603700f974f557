"""What is wanted of a server takes effect at once as far as its connection allows."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from mcp_progress_monitor.problem import ProblemError
from mcp_progress_monitor.protocol.eras import CAPABILITIES_KEY, ClientIdentity, Era
from mcp_progress_monitor.protocol.framing import FrameNumbers
from mcp_progress_monitor.protocol.tokens import TokenSource
from mcp_progress_monitor.sessions.clock import Clock
from mcp_progress_monitor.sessions.definitions import StdioDefinition
from mcp_progress_monitor.sessions.desk import Desk
from mcp_progress_monitor.sessions.manager import Manager
from mcp_progress_monitor.sessions.rules import QuestionRules, Root, Rule
from mcp_progress_monitor.sessions.wishes import Wishes, read_roots
from tests.unit.sessions.playbook import INITIALIZED, PlayedServer, by_method, connection_to

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp_progress_monitor.sessions.connection import Connection

ROOTS = [Root(uri="file:///a")]
DISCOVERED = {
    "supportedVersions": ["2026-07-28"],
    "capabilities": {"resources": {"subscribe": True}},
}


class Wishing:
    """A manager of one server, which is played."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **answers: Any) -> None:
        self._answers = answers
        self.servers: list[PlayedServer] = []
        self.changed: list[str] = []
        monkeypatch.setattr(Manager, "_connection", self._connection)
        desk = Desk.alone()
        self.manager = Manager(
            ClientIdentity({"name": "test"}, {}),
            FrameNumbers(),
            TokenSource(0),
            Clock(),
            lambda _frames, _facts: None,
            self.changed.append,
            desk=desk,
        )
        self.manager.add(StdioDefinition(name="s", command="c"))
        self.wishes = Wishes(self.manager, desk)

    def _connection(self, _entry: object) -> Connection:
        self.servers.append(PlayedServer(by_method(**self._answers)))
        return connection_to(self.servers[-1])


@contextlib.asynccontextmanager
async def connected(wishing: Wishing) -> AsyncIterator[PlayedServer]:
    """The server while it is connected."""
    async with anyio.create_task_group() as tasks:
        session = wishing.manager.begin("s")
        tasks.start_soon(session.run)
        await session.ready()
        yield wishing.servers[-1]
        session.close()
        await session.over()
        tasks.cancel_scope.cancel()


@pytest.fixture
def handshake(monkeypatch: pytest.MonkeyPatch) -> Wishing:
    return Wishing(monkeypatch, discover=-32601, initialize=INITIALIZED, list={"tools": []})


@pytest.fixture
def per_request(monkeypatch: pytest.MonkeyPatch) -> Wishing:
    return Wishing(monkeypatch, discover=DISCOVERED, list={"resources": []})


async def test_new_roots_are_told_where_servers_can_ask_for_them(handshake: Wishing) -> None:
    async with connected(handshake) as server:
        handshake.wishes.set_roots("s", ROOTS)
        handshake.wishes.set_roots("s", ROOTS)
        handshake.wishes.set_roots("s", [])
        await server.until_sent("notifications/roots/list_changed")
        await anyio.wait_all_tasks_blocked()
    assert server.methods.count("notifications/roots/list_changed") == 2


async def test_in_2026_nothing_is_told_of_roots(per_request: Wishing) -> None:
    async with connected(per_request) as server:
        per_request.wishes.set_roots("s", ROOTS)
        await anyio.wait_all_tasks_blocked()
    assert "notifications/roots/list_changed" not in server.methods
    assert per_request.manager.snapshot("s").settings.roots == tuple(ROOTS)


async def test_rules_decide_what_the_handshake_declares(handshake: Wishing) -> None:
    handshake.wishes.set_question_rules("s", QuestionRules(sampling=Rule(mode="undeclared")))
    async with connected(handshake) as server:
        sent = await server.until_sent("initialize")
    assert set(sent["params"]["capabilities"]) == {"elicitation", "roots"}


async def test_in_2026_the_next_request_declares_what_is_left(per_request: Wishing) -> None:
    async with connected(per_request) as server:
        declared = QuestionRules(form=Rule(mode="undeclared"))
        per_request.wishes.set_question_rules("s", declared)
        mail = per_request.manager.connection("s").mail
        mail.ask("tools/call", {"name": "t"})
        sent = await server.until_sent("tools/call")
    expected = declared.capabilities(Era.PER_REQUEST)
    assert sent["params"]["_meta"][CAPABILITIES_KEY] == expected


def test_wishes_for_a_server_that_is_not_connected_are_kept(handshake: Wishing) -> None:
    rules = QuestionRules(form=Rule(mode="decline"))
    handshake.wishes.set_question_rules("s", rules)
    handshake.wishes.set_roots("s", ROOTS)
    handshake.wishes.set_log_level("s", "info")
    settings = handshake.manager.snapshot("s").settings
    assert (settings.rules, settings.roots, settings.log_level) == (rules, tuple(ROOTS), "info")
    assert handshake.changed == ["s"] * 4


def test_an_unknown_log_level_is_refused_with_those_there_are(handshake: Wishing) -> None:
    with pytest.raises(ProblemError, match="debug, info, notice") as caught:
        handshake.wishes.set_log_level("s", "loud")
    assert "'loud'" in caught.value.problem.what


async def test_updates_are_only_wanted_where_they_are_offered(
    handshake: Wishing, per_request: Wishing
) -> None:
    with pytest.raises(ProblemError, match="not connected"):
        handshake.wishes.subscribe_resource("s", "demo://a")
    async with connected(per_request) as server:
        per_request.wishes.subscribe_resource("s", "demo://a")
        sent = await server.until_sent("subscriptions/listen")
        assert per_request.manager.snapshot("s").subscriptions == ("demo://a",)
    assert sent["params"]["notifications"] == {"resourceSubscriptions": ["demo://a"]}


async def test_a_server_that_offers_no_updates_is_not_asked(handshake: Wishing) -> None:
    async with connected(handshake):
        with pytest.raises(ProblemError, match="does not tell of updated resources"):
            handshake.wishes.subscribe_resource("s", "demo://a")


def test_roots_that_are_none_are_refused_with_the_reason() -> None:
    assert read_roots([{"uri": "file:///a"}]) == tuple(ROOTS)
    with pytest.raises(ProblemError, match="This is no root") as caught:
        read_roots([{"uri": "file:///a"}, {"uri": "https://b"}])
    assert caught.value.problem.detail.startswith("uri: ")
