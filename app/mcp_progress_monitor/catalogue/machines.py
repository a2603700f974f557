"""The saved commands that print the streams of other machines, in a file of their own."""

from __future__ import annotations

import itertools
import json
import os
import re
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

from pydantic import Field, ValidationError

from mcp_progress_monitor.catalogue.documents import exclusive_lock, read_bytes, write_private
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.snapshots.definitions import StdioDefinition
from mcp_progress_monitor.validation import Validated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

FILE_NAME: Final = "machines.json"
EXAMPLES: Final = {
    "SSH": "ssh -o BatchMode=yes HOST mcp-progress-monitor tap stream",
    "Docker": "docker exec -i CONTAINER mcp-progress-monitor tap stream",
    "Kubernetes": "kubectl exec -i POD -- mcp-progress-monitor tap stream",
    "WSL": "wsl -e mcp-progress-monitor tap stream",
}
_WITH_VALUE: Final = {
    "ssh": re.compile(r"-[BbcDEeFIiJLlmOoPpQRSWw]"),
    "exec": re.compile(r"-[cenuw]|--(?:container|env|namespace|context|user|workdir|env-file)"),
}
"""Options that are followed by a value, of ssh and of what executes in a container."""
_LONGEST_NAME: Final = 60


class SavedMachine(Validated):
    """A machine: its name here, and its command as arguments."""

    name: Annotated[str, Field(min_length=1)]
    command: Annotated[tuple[str, ...], Field(min_length=1)]

    @property
    def definition(self) -> StdioDefinition:
        """The command as what is approved and run."""
        return StdioDefinition(name=self.name, command=self.command[0], args=self.command[1:])


Machines: TypeAlias = tuple[SavedMachine, ...]


class _File(Validated):
    machines: Machines = ()


def read_machines(path: Path) -> Machines:
    """The saved machines; none without a file. `UserError` if it cannot be read."""
    try:
        return _File.model_validate_json(read_bytes(path)).machines
    except FileNotFoundError:
        return ()
    except ValidationError as error:
        what, hint = "Cannot read the saved machines", "Correct or delete the file."
        raise UserError(
            ErrorDetails(what, str(path), hint, str(error.errors()[0]["msg"]))
        ) from error


def save_machine(path: Path, machine: SavedMachine) -> None:
    """Add a machine to the file, which other instances change as well.

    Raises:
        UserError: the file cannot be read or written; it stays as it is.
    """

    def added(saved: Machines) -> Machines:
        name = unused_name(machine.name, (each.name for each in saved))
        return (*saved, machine.model_copy(update={"name": name}))

    _change(path, added)


def forget_machine(path: Path, machine: SavedMachine) -> None:
    """Remove a machine from the file, whatever its name there; `UserError` as above."""

    def left(saved: Machines) -> Machines:
        is_there = machine in saved
        return tuple(
            each
            for each in saved
            if (each != machine if is_there else each.command != machine.command)
        )

    _change(path, left)


def _change(path: Path, changed: Callable[[Machines], Machines]) -> None:
    with exclusive_lock(path, "the saved machines"):
        machines = changed(read_machines(path))
        content = {"machines": [machine.model_dump(mode="json") for machine in machines]}
        write_private(path, f"{json.dumps(content, indent=2)}\n".encode("utf-8", "surrogatepass"))


def are_any(folder: Path) -> bool:
    """Return whether machines were saved in a data folder, without reading them."""
    return os.path.lexists(folder / FILE_NAME)


def usual_machine_name(words: Sequence[str]) -> str:
    """The name of the machine that a command leads to: a host, a container, a pod."""
    program = PurePath(words[0].replace("\\", "/")).stem.lower() if words else ""
    rest = list(words[1:])
    if program == "wsl":
        return next(
            (b for a, b in itertools.pairwise(rest) if a in {"-d", "--distribution"}), "WSL"
        )
    if program in {"docker", "podman", "kubectl", "nerdctl"} and "exec" in rest:
        rest, program = rest[rest.index("exec") + 1 :], "exec"
    with_value = _WITH_VALUE.get(program)
    while with_value is not None and rest:
        word = rest.pop(0)
        if with_value.fullmatch(word):
            del rest[:1]
        elif not word.startswith("-"):
            return word.rpartition("@")[2].rpartition("/")[2][:_LONGEST_NAME]
    return program


def unused_name(name: str, used: Iterable[str]) -> str:
    """The name, with a number if another machine has it."""
    taken = set(used)
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{name} ({number})"
    return found
