"""What is wanted of a server takes effect at once as far as its connection allows."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any, cast

import anyio
import pytest

from mcp_progress_monitor.clock import Clock
from mcp_progress_monitor.engine.servers import Servers
from mcp_progress_monitor.engine.settings import Settings
from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.protocol.eras import ClientIdentity, Era
from mcp_progress_monitor.protocol.framing import FrameNumbers
from mcp_progress_monitor.protocol.messages import CAPABILITIES_KEY
from mcp_progress_monitor.protocol.peer import TokenSource
from mcp_progress_monitor.sessions.connection.connection import Connection, Upkeep
from mcp_progress_monitor.sessions.connection.manager import SessionManager
from mcp_progress_monitor.snapshots.definitions import StdioDefinition
from mcp_progress_monitor.snapshots.settings import QuestionRule, QuestionRules, Root, read_roots
from tests.unit.sessions.playbook import INITIALIZED, PlayedServer, by_method, connection_to
from tests.unit.sessions.questioned import broker

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
        monkeypatch.setattr(SessionManager, "_connection", self._connection)
        made = broker()
        self.manager = SessionManager(
            ClientIdentity({"name": "test"}, {}),
            FrameNumbers(),
            TokenSource(0),
            Clock(),
            lambda _frames, _facts: None,
            self.changed.append,
            made,
        )
        self.manager.add(StdioDefinition(name="s", command="c"))
        self.settings = Settings(self.manager, made)
        self.all_servers = Servers(self.manager, cast("Any", None), lambda _: None, lambda _: None)

    def _connection(self, _entry: object, upkeep: Upkeep) -> Connection:
        self.servers.append(PlayedServer(by_method(**self._answers)))
        return connection_to(self.servers[-1], upkeep=upkeep)


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


async def test_new_roots_are_reported_where_servers_can_ask_for_them(handshake: Wishing) -> None:
    async with connected(handshake) as server:
        handshake.settings.set_roots("s", ROOTS)
        handshake.settings.set_roots("s", ROOTS)
        handshake.settings.set_roots("s", [])
        await server.until_sent("notifications/roots/list_changed")
        await anyio.wait_all_tasks_blocked()
    assert server.methods.count("notifications/roots/list_changed") == 2


async def test_in_2026_nothing_is_reported_roots(per_request: Wishing) -> None:
    async with connected(per_request) as server:
        per_request.settings.set_roots("s", ROOTS)
        await anyio.wait_all_tasks_blocked()
    assert "notifications/roots/list_changed" not in server.methods
    assert per_request.manager.snapshot("s").settings.roots == tuple(ROOTS)


async def test_rules_decide_what_the_handshake_declares(handshake: Wishing) -> None:
    handshake.settings.set_question_rules(
        "s", QuestionRules(sampling=QuestionRule(mode="undeclared"))
    )
    async with connected(handshake) as server:
        sent = await server.until_sent("initialize")
    assert set(sent["params"]["capabilities"]) == {"elicitation", "roots"}


async def test_in_2026_the_next_request_declares_what_is_left(per_request: Wishing) -> None:
    async with connected(per_request) as server:
        declared = QuestionRules(form=QuestionRule(mode="undeclared"))
        per_request.settings.set_question_rules("s", declared)
        outbox = per_request.manager.connection("s").outbox
        outbox.ask("tools/call", {"name": "t"})
        sent = await server.until_sent("tools/call")
    expected = declared.capabilities(Era.PER_REQUEST)
    assert sent["params"]["_meta"][CAPABILITIES_KEY] == expected


def test_settings_of_a_disconnected_server_are_kept(handshake: Wishing) -> None:
    rules = QuestionRules(form=QuestionRule(mode="decline"))
    handshake.settings.set_question_rules("s", rules)
    handshake.settings.set_roots("s", ROOTS)
    handshake.settings.set_log_level("s", "info")
    settings = handshake.manager.snapshot("s").settings
    assert (settings.rules, settings.roots, settings.log_level) == (rules, tuple(ROOTS), "info")
    assert handshake.changed == ["s"] * 4


def test_an_unknown_log_level_is_refused_with_those_there_are(handshake: Wishing) -> None:
    with pytest.raises(UserError, match="debug, info, notice") as caught:
        handshake.settings.set_log_level("s", "loud")
    assert "'loud'" in caught.value.details.what


async def test_updates_are_only_wanted_where_they_are_offered(
    handshake: Wishing, per_request: Wishing
) -> None:
    with pytest.raises(UserError, match="not connected"):
        handshake.all_servers.subscribe_resource("s", "demo://a")
    async with connected(per_request) as server:
        per_request.all_servers.subscribe_resource("s", "demo://a")
        sent = await server.until_sent("subscriptions/listen")
        assert per_request.manager.snapshot("s").subscriptions == ("demo://a",)
    assert sent["params"]["notifications"] == {"resourceSubscriptions": ["demo://a"]}


async def test_a_server_that_offers_no_updates_is_not_asked(handshake: Wishing) -> None:
    async with connected(handshake):
        with pytest.raises(UserError, match="does not send resource updates"):
            handshake.all_servers.subscribe_resource("s", "demo://a")


def test_invalid_roots_are_rejected_with_the_reason() -> None:
    assert read_roots([{"uri": "file:///a"}]) == tuple(ROOTS)
    with pytest.raises(UserError, match="Invalid root") as caught:
        read_roots([{"uri": "file:///a"}, {"uri": "https://b"}])
    assert caught.value.details.detail.startswith("uri: ")
