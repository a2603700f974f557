"""Servers with a URL watched from the window: a tap of its own for each, until it is unticked."""

import contextlib
import http.client
import http.server
import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import anyio.to_thread
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication

from mcp_progress_monitor.engine.url_taps import UrlTapOrder
from mcp_progress_monitor.gui.program import Program
from mcp_progress_monitor.gui.servers.clients_dialog import ClientsDialog
from mcp_progress_monitor.gui.servers.url_taps_controller import UrlTapsController
from mcp_progress_monitor.gui.window_commands import WATCH
from mcp_progress_monitor.tap_http.addresses import TapAddresses
from tests.gui.programs import until
from tests.gui.saved import running

pytestmark = pytest.mark.anyio
WATCHED = 2
RECURSIVE = Qt.MatchFlag.MatchExactly | Qt.MatchFlag.MatchRecursive


@pytest.fixture
def server() -> Iterator[socket.socket]:
    """A port that accepts connections and says nothing."""
    found = socket.create_server(("127.0.0.1", 0))
    yield found
    found.close()


def configure(home: Path, url: str) -> None:
    path = home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    servers = {"web": {"url": url}, "orders": {"url": url, "auth": {"CLIENT_ID": "x"}}}
    path.write_text(json.dumps({"mcpServers": servers}))


async def opened(program: Program) -> ClientsDialog:
    program.window.do[WATCH].trigger()
    (dialog,) = program.window.findChildren(ClientsDialog)
    await until(lambda: dialog.tree.topLevelItemCount() == 1)
    return dialog


def is_open(address: str) -> bool:
    host, _, port = address.removeprefix("http://").partition("/")[0].partition(":")
    with socket.socket() as client:
        client.settimeout(1)
        return client.connect_ex((host, int(port))) == 0


async def test_a_ticked_url_has_a_tap_whose_address_can_be_copied(
    data_dir: Path, isolated_home: Path, server: socket.socket
) -> None:
    configure(isolated_home, f"http://127.0.0.1:{server.getsockname()[1]}/mcp")
    async with running(data_dir) as program:
        dialog = await opened(program)
        dialog.tick("web", WATCHED, is_on=True)
        await until(lambda: "in place of the server's: http://127.0.0.1:" in dialog.note.text())
        assert dialog.watch_request().watch == ()
        dialog.copy.click()
        address = QGuiApplication.clipboard().text()
        assert address.startswith("http://127.0.0.1:")
        assert address.endswith("/mcp")
        assert is_open(address)
        dialog.close()
        await until(lambda: not program.window.findChildren(ClientsDialog))
        dialog = await opened(program)
        await until(lambda: address in dialog.details.toPlainText())
        await until(lambda: bool(recordings(data_dir)))
        dialog.tick("web", WATCHED, is_on=False)
        await until(lambda: "No tap runs" in dialog.note.text())
        assert not is_open(address)


def recordings(data_dir: Path) -> list[Path]:
    return list((data_dir / "recordings" / "live").glob("*web*"))


async def test_a_tap_that_starts_stays_ticked_and_may_be_ticked_again_while_it_ends(
    data_dir: Path, isolated_home: Path, server: socket.socket
) -> None:
    url = f"http://127.0.0.1:{server.getsockname()[1]}/mcp"
    configure(isolated_home, url)
    usual = f"http://127.0.0.1:{TapAddresses(url).usual_port}/mcp"
    async with running(data_dir) as program:
        dialog = await opened(program)
        (item,) = dialog.tree.findItems("web", RECURSIVE)
        dialog.tick("web", WATCHED, is_on=True)
        (taps,) = program.window.findChildren(UrlTapsController)
        dialog.show_addresses(taps.addresses)  # as when another one begins
        assert item.checkState(WATCHED) is Qt.CheckState.Checked
        assert item.text(WATCHED) == "starting…"
        await until(lambda: usual in dialog.note.text())
        dialog.tick("web", WATCHED, is_on=False)
        dialog.tick("web", WATCHED, is_on=True)
        assert not dialog.note.text()
        await until(lambda: usual in dialog.note.text())
        assert item.checkState(WATCHED) is Qt.CheckState.Checked
        assert is_open(usual)


async def test_the_taps_end_with_the_window(
    data_dir: Path, isolated_home: Path, server: socket.socket
) -> None:
    configure(isolated_home, f"http://127.0.0.1:{server.getsockname()[1]}/mcp")
    async with running(data_dir) as program:
        dialog = await opened(program)
        dialog.tick("web", WATCHED, is_on=True)
        await until(lambda: "http://127.0.0.1:" in dialog.note.text())
        dialog.copy.click()
        address = QGuiApplication.clipboard().text()
        assert is_open(address)
    assert not is_open(address)


async def test_a_url_that_cannot_be_reached_and_a_used_port_are_reported(
    data_dir: Path, isolated_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("urllib.request.getproxies", dict)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/mcp"
    configure(isolated_home, url)
    usual = TapAddresses(url).usual_port
    async with running(data_dir) as program:
        dialog = await opened(program)
        with socket.create_server(("127.0.0.1", usual)):
            shown: list[str] = []
            monkeypatch.setattr(dialog, "show_refusal", lambda error: shown.append(error.as_text()))
            dialog.tick("web", WATCHED, is_on=True)
            await until(lambda: any(f"Port {usual} is in use" in text for text in shown))
        await until(lambda: any("Cannot reach 127.0.0.1" in text for text in shown))


class Guarded(http.server.BaseHTTPRequestHandler):
    """Answers every request with the challenge of OAuth."""

    def do_POST(self) -> None:
        self.send_response(401)
        self.send_header("WWW-Authenticate", 'Bearer resource_metadata="https://a.example/m"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def post(address: str) -> int:
    """Send what a client sends first; returns the status."""
    authority, _, path = address.removeprefix("http://").partition("/")
    connection = http.client.HTTPConnection(authority)
    body = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}'
    connection.request("POST", f"/{path}", body, {"Content-Type": "application/json"})
    with contextlib.closing(connection):
        return connection.getresponse().status


async def test_a_sign_in_is_reported_when_the_client_tries_unless_the_tap_passes_it_on(
    data_dir: Path, isolated_home: Path
) -> None:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Guarded) as guarded:
        threading.Thread(target=guarded.serve_forever, daemon=True).start()
        configure(isolated_home, f"http://127.0.0.1:{guarded.server_port}/mcp")
        async with running(data_dir) as program:
            dialog = await opened(program)
            dialog.tick("web", WATCHED, is_on=True)
            await until(lambda: "http://127.0.0.1:" in dialog.note.text())
            dialog.copy.click()
            address = QGuiApplication.clipboard().text()
            assert await anyio.to_thread.run_sync(post, address) == 401
            await until(lambda: "requires sign-in with OAuth" in dialog.note.text())
            dialog.tick("web", WATCHED, is_on=False)
            dialog.rewrites_auth.click()
            dialog.tick("web", WATCHED, is_on=True)
            await until(lambda: "http://127.0.0.1:" in dialog.note.text())
            page = address.replace("/mcp", "/.tap/token")
            assert await anyio.to_thread.run_sync(post, page) == 502  # of the tap, not the server
        guarded.shutdown()


def test_a_tap_is_started_as_on_the_command_line(tmp_path: Path) -> None:
    order = UrlTapOrder(
        "https://a.example/mcp",
        "web",
        "Cursor",
        tmp_path,
        requests_progress=True,
        rewrites_auth=True,
    )
    arguments = order.command[order.command.index("tap") :]
    assert arguments == (
        *("tap", "--to", "https://a.example/mcp", "--name", "web", "--client", "Cursor"),
        *("--data-dir", str(tmp_path), "--request-progress", "--rewrite-auth"),
    )
