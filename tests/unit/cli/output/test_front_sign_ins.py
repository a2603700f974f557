"""Sign-ins on a terminal: reported once, the host apart, as text or as an event."""

import json
from typing import cast

from mcp_progress_monitor.cli.output.front import Front, ServerNotices
from mcp_progress_monitor.cli.output.text_front import sign_in_lines
from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.engine.updates import Update
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.snapshots.definitions import HttpDefinition
from mcp_progress_monitor.snapshots.servers import ServerSnapshot, SignIn
from tests.unit.cli.witness import Witness

URL = "https://user@login.example:8443/authorize?client_id=a&state=b"


class Servers:
    """What a teller asks of a monitor."""

    def __init__(self) -> None:
        self.sign_in: SignIn | None = None
        self.is_there = True
        self.servers = self

    def snapshot(self, name: str) -> ServerSnapshot:
        if not self.is_there:
            raise UserError(ErrorDetails("Server not found", name))
        definition = HttpDefinition(name=name, url="https://a.example/mcp")
        return ServerSnapshot(name=name, definition=definition, sign_in=self.sign_in)


class NotedFront:
    def __init__(self) -> None:
        self.reported: list[SignIn] = []

    def report_sign_in(self, sign_in: SignIn) -> None:
        self.reported.append(sign_in)


def test_each_sign_in_is_reported_once_and_again_when_it_is_another() -> None:
    servers, front = Servers(), NotedFront()
    teller = ServerNotices(cast("Engine", servers), cast("Front", front))
    changed = Update(servers=frozenset({"remote"}))
    teller.on_update(changed)
    first, second = SignIn("remote", URL), SignIn("remote", URL + "2")
    for sign_in in (first, first, second, None, second):
        servers.sign_in = sign_in
        teller.on_update(changed)
    teller.on_update(Update())
    servers.is_there = False
    teller.on_update(changed)
    assert front.reported == [first, second, second]


def test_the_host_stands_apart_from_the_whole_address() -> None:
    assert sign_in_lines(SignIn("remote", URL)) == [
        "Sign in to use the server remote, within 5 minutes.",
        "Open this URL of login.example:8443 in your browser:",
        f"  {URL}",
        "  The part before the @ is not the host.",
    ]


def test_a_url_with_invisible_characters_is_not_recommended() -> None:
    lines = sign_in_lines(SignIn("a\x1b[31m", "https://a\u202e/\x1b[2J"))
    assert "invisible" in lines[0]
    assert not any(sign in line for line in lines for sign in ("\x1b", "\u202e"))
    assert "cannot be parsed" in sign_in_lines(SignIn("a", "https://[a/"))[0]


def test_the_event_has_server_and_address() -> None:
    witness = Witness()
    witness.events.report_sign_in(SignIn("remote", URL))
    event = json.loads(witness.text)
    assert event.pop("t") >= 0
    assert event == {"event": "sign_in", "server": "remote", "url": URL}
    assert witness.said == ""
