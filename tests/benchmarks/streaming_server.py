"""A server over HTTP whose floods are rendered before they are sent: ``… streaming_server COUNT``.

Each call is answered by one event stream of COUNT notifications, written in large pieces, so that
the reader is what is measured. With a second argument ``ids`` each event has its own id, as those
of streams that can be taken up. Prints its URL.
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

_INFO: Final = {"name": "streams", "version": "0"}
_OPENING: Final = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": _INFO,
}
_TOOLS: Final = {"tools": [{"name": "flood", "inputSchema": {"type": "object"}}]}
_PIECE: Final = 1 << 18


def _events(token: object, count: int, *, has_ids: bool) -> bytes:
    """So many notifications, each an event, as servers of the official SDK write them."""
    head = (
        'event: message\r\ndata: {"jsonrpc":"2.0","method":"notifications/progress",'
        f'"params":{{"progressToken":{json.dumps(token)},"progress":'
    )
    tail = f',"total":{count}}}}}\r\n\r\n'
    numbers = range(1, count + 1)
    if has_ids:
        return "".join([f"id: 7f3c_{n}\r\n{head}{n}{tail}" for n in numbers]).encode()
    return "".join([f"{head}{n}{tail}" for n in numbers]).encode()


class _Handler(BaseHTTPRequestHandler):
    """Answers what a client of the handshake era asks."""

    protocol_version = "HTTP/1.1"
    count = 0
    has_ids = False

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        match message.get("method"):
            case "initialize":
                self._answer({"id": message["id"], "result": _OPENING})
            case "tools/list":
                self._answer({"id": message["id"], "result": _TOOLS})
            case "tools/call":
                self._flood(message)
            case _ if "id" in message:
                error = {"code": -32601, "message": "Method not found"}
                self._answer({"id": message["id"], "error": error})
            case _:
                self._nothing(202)

    def do_GET(self) -> None:
        self._nothing(405)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing on stderr."""

    def _nothing(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _answer(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _flood(self, message: dict[str, Any]) -> None:
        token = message["params"]["_meta"]["progressToken"]
        events = _events(token, self.count, has_ids=self.has_ids)
        reply = {"jsonrpc": "2.0", "id": message["id"], "result": {"content": []}}
        events += f"event: message\r\ndata: {json.dumps(reply)}\r\n\r\n".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for start in range(0, len(events), _PIECE):
            piece = events[start : start + _PIECE]
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        self.wfile.write(b"0\r\n\r\n")


def main() -> None:
    """Serve until killed."""
    _Handler.count, _Handler.has_ids = int(sys.argv[1]), sys.argv[2:] == ["ids"]
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        print(f"http://127.0.0.1:{server.server_address[1]}/mcp", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
