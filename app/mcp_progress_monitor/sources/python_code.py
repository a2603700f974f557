"""Reads Python by its syntax tree: decorated functions, `Tool(name=…)`, dictionaries, constants."""

from __future__ import annotations

import ast
import warnings
from typing import TYPE_CHECKING

from mcp_progress_monitor.sources.mentions import (
    DESCRIPTIONS,
    NAME_MEMBERS,
    Mention,
    Role,
    registers,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcp_progress_monitor.sources.mentions import Names


def mentions(text: str, names: Names) -> Iterator[Mention]:
    """Yield the places that name a tool; none if the text is not Python of this version."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the escapes of foreign code
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from _function(node, names)
            case ast.Call():
                yield from _call(node, names)
            case ast.Dict():
                yield from _dictionary(node, names)
            case (
                ast.Assign(targets=[target], value=value)
                | ast.AnnAssign(target=target, value=ast.expr() as value)
            ):
                yield from _assignment(target, value, names)
            case ast.match_case(pattern=ast.MatchValue(value=value)):
                yield from _mention(value, names, Role.HANDLED)


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef, names: Names) -> Iterator[Mention]:
    """The function itself is the definition, also if its decorator gives it another name."""
    role = Role.FUNCTION
    for decorator in node.decorator_list:
        call = decorator if isinstance(decorator, ast.Call) else None
        if not registers(_last_name(call.func if call else decorator)):
            continue
        given = _given_name(call) if call else None
        if given is None:
            role = Role.REGISTERED
            continue
        for found in _mention(given, names, Role.REGISTERED):
            yield found._replace(line=node.lineno)
        return
    if node.name in names.tools:
        yield Mention(node.name, node.lineno, role)


def _call(node: ast.Call, names: Names) -> Iterator[Mention]:
    is_registration = any(map(registers, _dotted(node.func)))
    given = _given_name(node)
    if given is None:
        return
    if is_registration:
        yield from _mention(given, names, Role.REGISTERED)
    elif any(word.arg in NAME_MEMBERS for word in node.keywords):
        is_described = any((word.arg or "").lower() in DESCRIPTIONS for word in node.keywords)
        yield from _mention(given, names, Role.DESCRIBED if is_described else Role.NAMED)


def _given_name(call: ast.Call) -> ast.expr | None:
    """The argument that may be a tool's name: `name`, or the first of the positional ones."""
    named = (word.value for word in call.keywords if word.arg in NAME_MEMBERS)
    return next(named, call.args[0] if call.args else None)


def _dictionary(node: ast.Dict, names: Names) -> Iterator[Mention]:
    keys = [key.value if isinstance(key, ast.Constant) else None for key in node.keys]
    lower = {key.lower() for key in keys if isinstance(key, str)}
    role = Role.DESCRIBED if lower & DESCRIPTIONS else Role.NAMED
    for key, value in zip(keys, node.values, strict=True):
        if key in NAME_MEMBERS:
            yield from _mention(value, names, role)
        elif key in names.tools and isinstance(value, ast.Dict | ast.Call):
            yield Mention(str(key), value.lineno, Role.FUNCTION)


def _assignment(target: ast.expr, value: ast.expr, names: Names) -> Iterator[Mention]:
    constant = _last_name(target)
    is_name = constant.lower() in NAME_MEMBERS
    for found in _mention(value, names, Role.NAMED if is_name else Role.CONSTANT):
        yield found._replace(constant=constant)


def _mention(value: ast.expr, names: Names, role: Role) -> Iterable[Mention]:
    """The mention if the value is the name of a tool, or a constant that holds one."""
    if isinstance(value, ast.Constant):
        tool = value.value if isinstance(value.value, str) else ""
        if tool in names.tools:
            yield Mention(tool, value.lineno, role)
        return
    for identifier in _dotted(value):  # also before `.value` of an enumeration's member
        if (tool := names.constants.get(identifier, "")) in names.tools:
            yield Mention(tool, value.lineno, role)
            return


def _last_name(node: ast.expr) -> str:
    return next(iter(_dotted(node)), "")


def _dotted(node: ast.expr) -> Iterator[str]:
    """The names of `a.b.c`, the last first; nothing of other expressions."""
    while isinstance(node, ast.Attribute):
        yield node.attr
        node = node.value
    if isinstance(node, ast.Name):
        yield node.id
