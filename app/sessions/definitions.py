"""How to start each server: what the user gave, what configuration files of other clients say."""

from __future__ import annotations

import os
import sys
from typing import Annotated, Final, Literal, TypeAlias

import pydantic

from app import paths
from app.sessions.limits import LONGEST_LIMIT_S

Era: TypeAlias = Literal["auto", "handshake", "per-request"]
"""Which way of opening to use; "auto" finds out (see `app.sessions.negotiation`)."""

_Text = Annotated[str, pydantic.StringConstraints(pattern=r"^[^\x00]*$")]
"""Text that an operating system takes for an argument or a path: without a NUL."""
_Variable = Annotated[str, pydantic.StringConstraints(pattern=r"^[^=\x00]+$")]
_Limit = Annotated[float, pydantic.Field(ge=0, le=LONGEST_LIMIT_S, allow_inf_nan=False)]
_OURS: Final = {"name", "connect_timeout_s", "idle_timeout_s", "total_timeout_s"}
"""How we treat a server, not what it is: a saved job finds it by the rest."""


class StdioDefinition(pydantic.BaseModel):
    """A server that is started as a process and spoken to over its stdin and stdout.

    `command` is a program's name or path, found on PATH; no shell is involved. `env` is added to
    the environment of this program. `cwd` None means this program's own folder.
    `connect_timeout_s` bounds the time from starting the process to the end of negotiation.
    `idle_timeout_s` and `total_timeout_s` are the limits of its calls that choose none: 0 is no
    limit, None the protocol's usual one (see `app.sessions.limits`).
    """

    model_config = pydantic.ConfigDict(frozen=True)

    name: Annotated[str, pydantic.StringConstraints(min_length=1)]
    transport: Literal["stdio"] = "stdio"
    command: Annotated[_Text, pydantic.StringConstraints(min_length=1)]
    args: tuple[_Text, ...] = ()
    env: dict[_Variable, _Text] = pydantic.Field(default_factory=dict)
    cwd: _Text | None = None
    era: Era = "auto"
    connect_timeout_s: Annotated[float, pydantic.Field(gt=0, allow_inf_nan=False)] = 15.0
    idle_timeout_s: _Limit | None = None
    total_timeout_s: _Limit | None = None

    @property
    def fingerprint(self) -> str:
        """What this server is, whatever it is called: equal for equal commands and settings."""
        return self.model_dump_json(exclude=_OURS)

    @property
    def command_line(self) -> str:
        """Command and arguments for people to read; never to be run."""
        return " ".join((self.command, *self.args))


ServerDefinition: TypeAlias = StdioDefinition


def demo_definition(
    *args: str, name: str = "demo", era: Era = "auto", connect_timeout_s: float = 15.0
) -> StdioDefinition:
    """The bundled demo server, started by this very Python; `args` go to `python -m app.demo`."""
    roots = [str(paths.import_root()), os.environ.get("PYTHONPATH", "")]
    return StdioDefinition(
        name=name,
        command=sys.executable,
        args=("-m", "app.demo", *args),
        env={"PYTHONPATH": os.pathsep.join(filter(None, roots))},
        era=era,
        connect_timeout_s=connect_timeout_s,
    )
