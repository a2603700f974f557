"""A scripted client on the official Python SDK 2: ``… STEPS URL | COMMAND…``."""

import json
import os
import sys
from pathlib import Path

import anyio
from mcp import Client, MCPError, StdioServerParameters, types

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
    elif getattr(message, "method", "") != "notifications/progress":
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


async def play(client, steps):
    for step in steps:
        if "concurrently" in step:
            async with anyio.create_task_group() as tasks:
                for each in step["concurrently"]:
                    tasks.start_soon(play, client, [each])
        elif "wait_s" in step:
            await anyio.sleep(step["wait_s"])
        else:
            await play_one(client, step)


async def send(client, method, params, callback):
    match method:
        case "ping":
            return await client.send_ping()
        case "tools/call":
            return await client.call_tool(
                params["name"], params.get("arguments"), progress_callback=callback
            )
        case "prompts/get":
            return await client.get_prompt(params["name"], params.get("arguments"))
        case "resources/read":
            return await client.read_resource(params["uri"])
        case "resources/subscribe":
            return await client.subscribe_resource(params["uri"])
        case "resources/unsubscribe":
            return await client.unsubscribe_resource(params["uri"])
        case "logging/setLevel":
            return await client.set_logging_level(params["level"])
        case "completion/complete":
            kinds = {
                "ref/prompt": types.PromptReference,
                "ref/resource": types.ResourceTemplateReference,
            }
            ref = kinds[params["ref"]["type"]].model_validate(params["ref"])
            return await client.complete(ref, params["argument"])
        case "tools/list" | "prompts/list" | "resources/list" | "resources/templates/list":
            words = method.replace("resources/templates", "resource_templates").split("/")
            return await getattr(client, f"list_{words[0]}")(**(params or {}))
    raise ValueError(method)


async def play_one(client, step):
    method, params = step["method"], step.get("params")
    name = (params or {}).get("name", (params or {}).get("uri"))

    async def on_progress(progress, total, message):
        show("progress", [method, name, [progress, total, message]])

    if "task" in step or "cancel_after" in step:
        return
    try:
        callback = on_progress if step.get("progress") else None
        result = await send(client, method, params, callback)
        show("result", [method, name, plain(result)])
        while step.get("pages") and result.next_cursor:
            cursor = {**(params or {}), "cursor": result.next_cursor}
            result = await send(client, method, cursor, None)
            show("result", [method, "next", plain(result)])
    except MCPError as error:
        show("error", [method, name, error.error.code, error.error.message])
    except Exception as error:  # noqa: BLE001  # it is shown
        show("error", [method, name, type(error).__name__, str(error)])


async def main():
    if target[0].startswith("http"):
        server = target[0]
    else:
        server = StdioServerParameters(command=target[0], args=target[1:], env=dict(os.environ))
    async with Client(
        server,
        message_handler=on_message,
        elicitation_callback=on_elicitation,
        sampling_callback=on_sampling,
        list_roots_callback=on_roots,
        log_level="debug",
        mode=os.environ.get("MODE", "auto"),
    ) as client:
        about = client.server_info
        opened = [client.protocol_version, about and plain(about), client.instructions]
        show("server", [*opened, plain(client.server_capabilities)])
        await play(client, STEPS)


anyio.run(main)
