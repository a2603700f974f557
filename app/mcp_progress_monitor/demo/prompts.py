"""A few prompts, one of them slow enough to report progress."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from mcp_progress_monitor.demo.call import Call
from mcp_progress_monitor.demo.resumption import in_parts
from mcp_progress_monitor.demo.wire import INVALID_PARAMS, JsonObject, RpcError

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
    return {"prompts": [prompt.listed() for prompt in _offered(call)]}


def get(call: Call) -> JsonObject:
    """Serve `prompts/get`.

    Raises:
        RpcError: There is no such prompt, or an argument is missing.
    """
    wanted = call.params.get("name")
    for prompt in _offered(call):
        if prompt.name == wanted:
            text = prompt.write(call, _arguments(prompt, call.params.get("arguments", {})))
            message = {"role": "user", "content": {"type": "text", "text": text}}
            return {"description": prompt.description, "messages": [message]}
    raise RpcError(INVALID_PARAMS, f"Unknown prompt: {wanted}")


def _offered(call: Call) -> tuple[Prompt, ...]:
    return (*PROMPTS, EXTRA) if "prompts" in call.connection.extras else PROMPTS


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
    return in_parts(call, "prompt-interview", lines, _QUESTIONS_AT_ONCE, _EXAMPLE_S)


def _extra(_call: Call, _arguments: dict[str, str]) -> str:
    return "This entry was added by change_list."


EXTRA: Final = Prompt("extra", "Extra", "Added and removed by change_list", {}, _extra)

PROMPTS: Final = (
    Prompt("greet", "Greet", "Greets a person", {"name": True, "language": False}, _greet),
    Prompt("explain", "Explain", "Slow, with progress", {"topic": True}, _explain),
    Prompt("interview", "Interview", "Resumable, in two halves", {"topic": True}, _interview),
)
