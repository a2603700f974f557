"""Places in code that name a tool, and how sure each is to be its definition."""

from __future__ import annotations

import enum
import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Set


class Role(enum.IntEnum):
    """The use of a name; the definition is the mention with the highest role."""

    HANDLED = enum.auto()  # a case of the function that dispatches calls
    CONSTANT = enum.auto()
    FUNCTION = enum.auto()  # a function or a key of that name
    NAMED = enum.auto()  # a member `name`
    DESCRIBED = enum.auto()  # such a member beside a description or a schema
    REGISTERED = enum.auto()


class Mention(NamedTuple):
    """A tool's name at a line; `constant` is the identifier that holds it, if one does."""

    tool: str
    line: int
    role: Role
    constant: str = ""


class Names(NamedTuple):
    """Tools to look for, and the identifiers of constants that hold the name of one."""

    tools: Set[str]
    constants: Mapping[str, str]


NAME_MEMBERS: Final = frozenset({"name", "toolname", "tool_name"})
"""Members, in lower case, that hold a tool's name."""
DESCRIPTIONS: Final = frozenset({"description", "inputschema", "input_schema"})
"""Members, in lower case, that stand beside the name in a tool's definition."""

_REGISTERS: Final = re.compile(r"tools?(?![a-z])|Tools?(?![a-z])")
_USES: Final = re.compile(
    r"_*(?:call|get|has|is|find|list|invoke|run|execute|remove|delete|un|enable|disable|use|test|"
    r"assert|expect|parse|handle|on)(?=[_A-Z]|$)"
)


def registers(function: str) -> bool:
    """Tell whether a function or class of this name may define a tool: `registerTool`, `Tool`."""
    called = function[:1].lower() + function[1:]
    return bool(_REGISTERS.search(function)) and not _USES.match(called)
