"""The client that the MCP conformance suite tests: our monitor, with a user who agrees to all.

Run as `python -m tests.integration.conformance_client URL`; the suite adds the URL and says by
variables of the environment which scenario it plays. The client does what a user does in every
scenario: connect, list the tools, call each of them, fill in the forms, open the pages to sign in.
"""

import json
import os
import sys
from typing import Any

import anyio
import httpx2

from mcp_progress_monitor.engine.call import Call
from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.engine.updates import Update
from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.protocol.facts import JsonObject
from mcp_progress_monitor.snapshots.definitions import HttpDefinition, OAuthClient
from mcp_progress_monitor.snapshots.questions import Accept, Question, Refused
from mcp_progress_monitor.snapshots.servers import ServerSnapshot

CLIENT_METADATA_URL = "https://conformance-test.local/client-metadata.json"
"""The client id that the suite expects where an authorization server takes metadata documents."""
_TYPES: dict[str, Any] = {"string": "x", "integer": 3, "number": 3, "boolean": True, "array": []}


class Person:
    """Answers what a server asks: signs in at each page, leaves each form as it is offered."""

    def __init__(self, engine: Engine) -> None:
        """Begin to follow what `engine` tells."""
        self._engine = engine
        self._pages: set[str] = set()
        self._send, self._receive = anyio.create_memory_object_stream[str | Question](100)
        engine.subscribe(self._on_update)

    def _on_update(self, update: Update) -> None:
        for name in update.servers:
            sign_in = self._engine.servers.snapshot(name).sign_in
            if sign_in is not None and sign_in.url not in self._pages:
                self._pages.add(sign_in.url)
                self._send.send_nowait(sign_in.url)
        for number in update.questions:
            question = self._engine.questions.find(number)
            if question is not None and not question.ended:
                self._send.send_nowait(question)

    async def run(self) -> None:
        """Answer until cancelled."""
        with self._send, self._receive:
            async with httpx2.AsyncClient(trust_env=False) as browser:
                async for task in self._receive:
                    if isinstance(task, Question):
                        self._answer(task)
                    else:
                        await _visit(browser, task)

    def _answer(self, question: Question) -> None:
        if question.kind == "form":
            self._engine.questions.answer(question.id, Accept(_filled_in(question.schema or {})))
        else:
            self._engine.questions.answer(
                question.id, Refused("The conformance client has no model")
            )


async def _visit(browser: httpx2.AsyncClient, url: str) -> None:
    """Open a page to sign in at, and the one it leads to: our own, on this machine."""
    page = await browser.get(url)
    if page.has_redirect_location:
        await browser.get(page.headers["location"])


def _filled_in(schema: JsonObject) -> JsonObject:
    """A form as a person sends it who changes nothing but what is required and empty."""
    fields: dict[str, Any] = schema.get("properties", {})
    required = set(schema.get("required", ()))
    return {
        name: field.get("default", _TYPES.get(field.get("type", ""), "x"))
        for name, field in fields.items()
        if "default" in field or name in required
    }


def _calls(context: JsonObject, server: ServerSnapshot) -> list[JsonObject]:
    """The calls that a scenario asks for by name, else one of each tool that may be called."""
    if "toolCalls" in context:
        return list(context["toolCalls"])
    return [
        {"name": tool.name, "arguments": _filled_in(tool.input_schema)}
        for tool in server.tools
        if not server.rejection(tool)
    ]


def _definition(url: str, scenario: str, context: JsonObject) -> HttpDefinition:
    if not scenario.startswith("auth/"):
        return HttpDefinition(name="conformance", url=url)
    given = context.get("client_id")
    oauth = OAuthClient(
        client_id=given or (CLIENT_METADATA_URL if scenario == "auth/basic-cimd" else None),
        client_secret=context.get("client_secret"),
    )
    return HttpDefinition(name="conformance", url=url, auth="oauth", oauth=oauth)


async def run(url: str, scenario: str, context: JsonObject) -> int:
    """Play a scenario; the exit code says whether everything was answered."""
    status = 0
    async with Engine() as engine, anyio.create_task_group() as group:
        person = Person(engine)
        group.start_soon(person.run)
        engine.servers.add(_definition(url, scenario, context))
        try:
            snapshot = await engine.servers.connect("conformance")
            for params in _calls(context, snapshot):
                outcome = await engine.calls.make(Call("conformance", "tools/call", params))
                sys.stdout.write(f"{params['name']}: {outcome.state.name} {outcome.failure}\n")
                status = status or int(outcome.failure is not None)
        except UserError as error:
            sys.stderr.write(f"{error.details.as_text()}\n")
            status = 1
        group.cancel_scope.cancel()
    return status


if __name__ == "__main__":
    environment = os.environ
    sys.exit(
        anyio.run(
            run,
            sys.argv[1],
            environment.get("MCP_CONFORMANCE_SCENARIO", ""),
            json.loads(environment.get("MCP_CONFORMANCE_CONTEXT", "{}")),
        )
    )
