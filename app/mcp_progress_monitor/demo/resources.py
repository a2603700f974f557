"""A few resources and prompts, some of them slow enough to report progress."""

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from mcp_progress_monitor.demo.call import Call
from mcp_progress_monitor.demo.resumption import attempt, write_some
from mcp_progress_monitor.demo.wire import INVALID_PARAMS, JsonObject, RpcError

_SECTIONS: Final = 20
_SECTION_S: Final = 0.15
_VOLUMES: Final = 6
_VOLUMES_AT_ONCE: Final = 2

_PICTURE: Final = (
    b'<svg xmlns="http://www.w3.org/2000/svg" width="64" height="12">'
    b'<rect width="64" height="12" rx="3" fill="#ccc"/>'
    b'<rect width="40" height="12" rx="3" fill="#37c"/></svg>'
)


@dataclass(frozen=True, slots=True)
class Resource:
    """A row in the table of resources; `read` returns the one contents entry without its uri."""

    uri: str
    title: str
    description: str
    mime_type: str
    read: Callable[[Call], JsonObject]

    def listed(self) -> JsonObject:
        return {
            "uri": self.uri,
            "name": self.uri.removeprefix("demo://"),
            "title": self.title,
            "description": self.description,
            "mimeType": self.mime_type,
        }


def list_resources(call: Call) -> JsonObject:
    return {"resources": [resource.listed() for resource in _offered(call)]}


def list_templates(_call: Call) -> JsonObject:
    return {"resourceTemplates": []}


def read(call: Call) -> JsonObject:
    """Serve `resources/read`.

    Raises:
        RpcError: There is no resource of that address.
    """
    uri = call.params.get("uri")
    if not isinstance(uri, str):
        raise RpcError(INVALID_PARAMS, "resources/read needs a string uri")
    for resource in _offered(call):
        if resource.uri == uri:
            entry = {"uri": uri, "mimeType": resource.mime_type, **resource.read(call)}
            return {"contents": [entry]}
    raise RpcError(call.dialect.not_found_code, "Resource not found", {"uri": uri})


def _offered(call: Call) -> tuple[Resource, ...]:
    return (*RESOURCES, EXTRA) if "resources" in call.connection.extras else RESOURCES


def _counter(call: Call) -> JsonObject:
    return {"text": str(call.connection.counts.get(COUNTER, 0))}


def _extra(_call: Call) -> JsonObject:
    return {"text": "This entry was added by change_list."}


def _welcome(_call: Call) -> JsonObject:
    return {"text": "This server shows the ways of reporting progress, correct and faulty."}


def _settings(_call: Call) -> JsonObject:
    return {"text": json.dumps({"sections": _SECTIONS, "seconds_each": _SECTION_S})}


def _picture(_call: Call) -> JsonObject:
    return {"blob": base64.b64encode(_PICTURE).decode()}


def _report(call: Call) -> JsonObject:
    for section in range(1, _SECTIONS + 1):
        call.sleep(_SECTION_S)
        call.progress(section, _SECTIONS, f"Writing section {section} of {_SECTIONS}")
    lines = [f"## Section {section}\n\nNothing to report." for section in range(1, _SECTIONS + 1)]
    return {"text": "\n\n".join(lines)}


def _archive(call: Call) -> JsonObject:
    lines = [f"Volume {volume}: nothing happened." for volume in range(1, _VOLUMES + 1)]
    with attempt(call, "resource-archive") as work:
        write_some(call, work, lines, _VOLUMES_AT_ONCE, _SECTION_S, "Volume")
        return {"text": "\n".join(work.lines)}


COUNTER: Final = "demo://counter"  # the resource that `update_resource` updates

EXTRA: Final = Resource(
    "demo://extra", "Extra", "Added and removed by change_list", "text/plain", _extra
)

RESOURCES: Final = (
    Resource("demo://welcome", "Welcome", "A line of text", "text/plain", _welcome),
    Resource("demo://settings", "Settings", "A small document", "application/json", _settings),
    Resource("demo://picture", "Picture", "A small picture", "image/svg+xml", _picture),
    Resource(
        "demo://report",
        "Slow report",
        "Written on request, with progress for each section",
        "text/markdown",
        _report,
    ),
    Resource(
        "demo://archive",
        "Resumable archive",
        "Returned in parts, each with a resume token for the next",
        "text/plain",
        _archive,
    ),
    Resource(COUNTER, "Counter", "Incremented by update_resource", "text/plain", _counter),
)


_EXAMPLES: Final = 8
_EXAMPLE_S: Final = 0.2
_QUESTIONS: Final = 4
_QUESTIONS_AT_ONCE: Final = 2


@dataclass(frozen=True, slots=True)
class Prompt:
    """A row in the table of prompts.

    `arguments` maps each name to whether it is required; `write` returns the text of the one
    message, given all arguments (those left out are empty).
    """

    name: str
    title: str
    description: str
    arguments: dict[str, bool]
    write: Callable[[Call, dict[str, str]], str]

    def listed(self) -> JsonObject:
        arguments = [{"name": name, "required": need} for name, need in self.arguments.items()]
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "arguments": arguments,
        }


def list_prompts(call: Call) -> JsonObject:
    return {"prompts": [prompt.listed() for prompt in _offered_prompts(call)]}


def get_prompt(call: Call) -> JsonObject:
    """Serve `prompts/get`.

    Raises:
        RpcError: The prompt is unknown, or an argument is missing.
    """
    wanted = call.params.get("name")
    for prompt in _offered_prompts(call):
        if prompt.name == wanted:
            text = prompt.write(call, _arguments(prompt, call.params.get("arguments", {})))
            message = {"role": "user", "content": {"type": "text", "text": text}}
            return {"description": prompt.description, "messages": [message]}
    raise RpcError(INVALID_PARAMS, f"Unknown prompt: {wanted}")


def _offered_prompts(call: Call) -> tuple[Prompt, ...]:
    return (*PROMPTS, EXTRA_PROMPT) if "prompts" in call.connection.extras else PROMPTS


def _arguments(prompt: Prompt, given: object) -> dict[str, str]:
    known = given if isinstance(given, dict) else {}
    for name, is_required in prompt.arguments.items():
        if is_required and not isinstance(known.get(name), str):
            raise RpcError(INVALID_PARAMS, f"Prompt {prompt.name} needs a string argument {name}")
    return {name: str(known.get(name, "")) for name in prompt.arguments}


def _greet(_call: Call, arguments: dict[str, str]) -> str:
    return f"Greet {arguments['name']} in {arguments['language'] or 'English'}."


def _explain(call: Call, arguments: dict[str, str]) -> str:
    for example in range(1, _EXAMPLES + 1):
        call.sleep(_EXAMPLE_S)
        call.progress(example, _EXAMPLES, f"Choosing example {example} of {_EXAMPLES}")
    return f"Explain {arguments['topic']} with {_EXAMPLES} examples."


def _interview(call: Call, arguments: dict[str, str]) -> str:
    topic = arguments["topic"]
    lines = [f"Question {number} about {topic}?" for number in range(1, _QUESTIONS + 1)]
    with attempt(call, "prompt-interview") as work:
        write_some(call, work, lines, _QUESTIONS_AT_ONCE, _EXAMPLE_S, "Question")
        return "\n".join(work.lines)


def _extra_prompt(_call: Call, _arguments: dict[str, str]) -> str:
    return "This entry was added by change_list."


EXTRA_PROMPT: Final = Prompt(
    "extra", "Extra", "Added and removed by change_list", {}, _extra_prompt
)

PROMPTS: Final = (
    Prompt("greet", "Greet", "Greets a person", {"name": True, "language": False}, _greet),
    Prompt("explain", "Explain", "Slow, with progress", {"topic": True}, _explain),
    Prompt("interview", "Interview", "Resumable, in two halves", {"topic": True}, _interview),
)
