"""A scripted client on the official Python SDK 1: ``… STEPS URL | COMMAND…``."""

import json
import sys
from pathlib import Path

import anyio
from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client
from mcp.shared.exceptions import McpError

path, *target = sys.argv[1:]
STEPS = json.loads(Path(path).read_text(encoding="utf-8"))


def show(kind, value):
    sys.stdout.write(json.dumps([kind, value]) + "\n")
    sys.stdout.flush()


def plain(model):
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


async def on_message(message):
    if isinstance(message, Exception):
        show("client error", str(message))
    elif isinstance(message, types.ServerNotification):
        show("notification", plain(message))


async def on_elicitation(context, params):
    show("asked", ["elicitation/create", plain(params)])
    return types.ElicitResult(action="accept", content={"name": "Ada", "age": 36})


async def on_sampling(context, params):
    show("asked", ["sampling/createMessage", plain(params)])
    content = types.TextContent(type="text", text="Certainly.")
    return types.CreateMessageResult(role="assistant", model="none", content=content)


async def on_roots(context):
    show("asked", ["roots/list", None])
    return types.ListRootsResult(roots=[types.Root(uri="file:///tmp/root", name="root")])


async def play(session, steps):
    for step in steps:
        if "concurrently" in step:
            async with anyio.create_task_group() as tasks:
                for each in step["concurrently"]:
                    tasks.start_soon(play, session, [each])
        elif "wait_s" in step:
            await anyio.sleep(step["wait_s"])
        else:
            await play_one(session, step)


async def send(session, method, params, callback=None):
    members = {"method": method, **({} if params is None else {"params": params})}
    request = types.ClientRequest.model_validate(members)
    return plain(await session.send_request(request, types.Result, progress_callback=callback))


async def play_one(session, step):
    method, params = step["method"], step.get("params")
    name = (params or {}).get("name", (params or {}).get("uri"))

    async def on_progress(progress, total, message):
        show("progress", [method, name, [progress, total, message]])

    if "task" in step or "cancel_after" in step:
        return
    try:
        callback = on_progress if step.get("progress") else None
        result = await send(session, method, params, callback)
        show("result", [method, name, result])
        while step.get("pages") and result.get("nextCursor"):
            cursor = {**(params or {}), "cursor": result["nextCursor"]}
            result = await send(session, method, cursor)
            show("result", [method, "next", result])
    except McpError as error:
        show("error", [method, name, error.error.code, error.error.message])


async def main():
    if target[0].startswith("http"):
        opened = streamablehttp_client(target[0])
    else:
        opened = stdio_client(StdioServerParameters(command=target[0], args=target[1:]))
    async with (
        opened as streams,
        ClientSession(
            streams[0],
            streams[1],
            message_handler=on_message,
            elicitation_callback=on_elicitation,
            sampling_callback=on_sampling,
            list_roots_callback=on_roots,
        ) as session,
    ):
        show("server", plain(await session.initialize()))
        await play(session, STEPS)


anyio.run(main)
