"""A server whose tools a file describes: `python schema_server.py FILE`.

Each tool in the file is as in `tools/list`, with `ask`, a schema of a form that it asks the user
for, or `result`, what it answers; without either it answers with the arguments it was given.
"""

import json
import sys
from pathlib import Path
from typing import Any

_TOOLS: dict[str, dict[str, Any]] = {}
_OWN = ("ask", "result")


def say(message: dict[str, Any]) -> None:
    """Write one message."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def answer(identity: object, method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """The result of a request; None for an unknown method."""
    match method:
        case "initialize":
            return {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "schemas", "version": "0"},
            }
        case "tools/list":
            listed = [
                {key: value for key, value in tool.items() if key not in _OWN}
                for tool in _TOOLS.values()
            ]
            return {"tools": listed}
        case "tools/call":
            return called(_TOOLS[params["name"]], params.get("arguments", {}))
        case _:
            return None


def called(tool: dict[str, Any], arguments: Any) -> dict[str, Any]:
    """What a tool answers."""
    if "result" in tool:
        result: dict[str, Any] = tool["result"]
        return result
    if "ask" in tool:
        params = {"message": "Fill in", "requestedSchema": tool["ask"]}
        say({"id": "asked", "method": "elicitation/create", "params": params})
        arguments = next(
            reply.get("result")
            for reply in map(json.loads, sys.stdin)
            if reply.get("id") == "asked" and "method" not in reply
        )
    return {"content": [{"type": "text", "text": json.dumps(arguments)}]}


if __name__ == "__main__":
    described = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    _TOOLS.update({tool["name"]: tool for tool in described})
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        found = answer(message["id"], message["method"], message.get("params", {}))
        error = {"code": -32601, "message": "Not found"}
        outcome = {"error": error} if found is None else {"result": found}
        say({"id": message["id"], **outcome})
