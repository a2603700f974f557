"""A stand-in for a model behind an agent: ``python model_api.py PORT TOOL ARGUMENTS``.

It listens on localhost only, answers the first message with one call of a tool, and the tool's
result with "Done."; so an agent that nobody here wrote makes a call of which all is known.
"""

import http.server
import json
import sys
import time

PORT, TOOL, ARGUMENTS = int(sys.argv[1]), sys.argv[2], sys.argv[3]
MOST_WAITS = 60


def block(request: dict) -> tuple[dict, dict, str]:
    """The beginning of the model's answer, what follows, and why it stops.

    Until the agent has connected its servers, a harmless tool of its own is called.
    """
    contents = [message["content"] for message in request.get("messages", [])]
    blocks = [each for content in contents if isinstance(content, list) for each in content]
    results = [each["tool_use_id"] for each in blocks if each.get("type") == "tool_result"]
    tools = [tool.get("name") for tool in request.get("tools", [])]
    if "toolu_1" in results or not tools or len(results) > MOST_WAITS:
        return {"type": "text", "text": ""}, {"type": "text_delta", "text": "Done."}, "end_turn"
    if TOOL in tools:
        name, arguments, key = TOOL, ARGUMENTS, "toolu_1"
    else:
        time.sleep(0.5)
        name, arguments, key = "Glob", '{"pattern": "none"}', f"toolu_wait_{len(results)}"
    delta = {"type": "input_json_delta", "partial_json": arguments}
    return {"type": "tool_use", "id": key, "name": name, "input": {}}, delta, "tool_use"


class Api(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send("application/json", b"{}")

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not request.get("stream"):
            self.send("application/json", b'{"input_tokens": 1}')
            return
        start, delta, reason = block(request)
        message = {"id": "msg_1", "type": "message", "role": "assistant", "content": []}
        message |= {"model": request["model"], "stop_reason": None, "stop_sequence": None}
        message |= {"usage": {"input_tokens": 1, "output_tokens": 1}}
        ended = {"stop_reason": reason, "stop_sequence": None}
        events = [
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": start},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 1}},
            {"type": "message_stop"},
        ]
        lines = [f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events]
        self.send("text/event-stream", "".join(lines).encode())

    def send(self, kind: str, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *arguments: object) -> None: ...


http.server.ThreadingHTTPServer(("127.0.0.1", PORT), Api).serve_forever()
