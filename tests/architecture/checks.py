"""What the linters cannot express: each check reads one module and returns where it is broken."""

import ast
import graphlib
from collections.abc import Iterator, Sequence
from typing import cast

from tests.architecture.source import Module

MODULE_LINES = 800
_LOOSE_TASKS = frozenset({"ensure_future", "asyncSlot"})


def _at(module: Module, node: ast.AST, what: str) -> str:
    return f"{module.path.as_posix()}:{getattr(node, 'lineno', 1)}: {what}"


def _name(node: ast.expr) -> str:
    """Return the last name of an expression such as ``self.application`` or ``get_loop()``."""
    if isinstance(node, ast.Call):
        return _name(node.func)
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _method_calls(module: Module, *names: str) -> Iterator[tuple[ast.Call, ast.Attribute]]:
    for node in module.nodes:
        function = node.func if isinstance(node, ast.Call) else None
        if isinstance(function, ast.Attribute) and function.attr in names:
            yield cast("ast.Call", node), function


def nested_loops(module: Module) -> list[str]:
    """Find ``.exec(`` on anything but the application.

    A dialog's or menu's own event loop, reached from a coroutine, hangs every other task for good.
    """
    if not module.has(".exec"):
        return []
    return [
        _at(module, call, f"{_name(function.value)}.{function.attr}()")
        for call, function in _method_calls(module, "exec", "exec_")
        if _name(function.value) not in {"app", "application", "qapp"}
    ]


def leaking_connections(module: Module) -> list[str]:
    """Find lambdas, partials and local functions connected to signals: they leak the widget."""
    if not module.has(".connect"):
        return []
    local = _local_functions(module.tree)
    return [
        _at(module, call, f"connect({ast.unparse(argument)})")
        for call, _ in _method_calls(module, "connect")
        for argument in call.args
        if _is_loose_callable(argument, local)
    ]


def _is_loose_callable(argument: ast.expr, local: set[str]) -> bool:
    if isinstance(argument, ast.Call):
        return _name(argument) in {"partial", "partialmethod"}
    if isinstance(argument, ast.Name):
        return argument.id in local
    return isinstance(argument, ast.Lambda)


def _local_functions(tree: ast.Module) -> set[str]:
    """Return the names that are bound to a function, lambda or partial inside a function."""
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    inner = [n for function in functions for n in ast.walk(function) if n is not function]
    found = {n.name for n in inner if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)}
    for node in inner:
        if isinstance(node, ast.Assign) and _is_loose_callable(node.value, set()):
            found.update(target.id for target in node.targets if isinstance(target, ast.Name))
    return found


def loose_tasks(module: Module) -> list[str]:
    """Find tasks that nobody owns: they are collected, or fail, unseen."""
    if not module.has(*_LOOSE_TASKS, "create_task"):
        return []
    named = [
        _at(module, node, _mention(node)) for node in module.nodes if _mention(node) in _LOOSE_TASKS
    ]
    started = [
        _at(module, call, f"{_name(function.value)}.create_task")
        for call, function in _method_calls(module, "create_task")
        if "group" not in _name(function.value)
    ]
    return named + started


def _mention(node: ast.AST) -> str:
    return _name(node) if isinstance(node, ast.Name | ast.Attribute) else ""


def too_long(module: Module) -> list[str]:
    """Find a module that should be two."""
    lines = len(module.text.splitlines())
    return [_at(module, module.tree, f"{lines} lines")] if lines > MODULE_LINES else []


def own_resource_paths(module: Module) -> list[str]:
    """Find a module that looks for shipped files itself instead of asking ``paths``."""
    if not module.has("__file__", "importlib"):
        return []
    found = [f"imports {n}" for n in sorted(module.imported) if n == "importlib.resources"]
    found += [
        f"{node.id} used"
        for node in module.nodes
        if isinstance(node, ast.Name) and node.id == "__file__"
    ]
    return [_at(module, module.tree, what) for what in found]


def widgets_in_models(module: Module) -> list[str]:
    """Find Qt beyond QtCore in a model: then it could not be tested, or used, without a window."""
    qt = sorted(n for n in module.imported if n.startswith("PySide6."))
    return [
        _at(module, module.tree, f"imports {name}")
        for name in qt
        if name != "PySide6.QtCore" and not name.startswith("PySide6.QtCore.")
    ]


_JOINERS = frozenset({"application", "program", "recording_program", "aio", "lifetime"})


def tasks_in_views(module: Module) -> list[str]:
    """Find anyio or asyncio in a view or model: only controllers, and what runs them, start tasks.

    A view that waits for something would have to be thought of when its window closes.
    """
    if is_named(module, "controller") or module.path.stem in _JOINERS:
        return []
    loops = sorted(n for n in module.imported if n.partition(".")[0] in {"anyio", "asyncio"})
    return [_at(module, module.tree, f"imports {name}") for name in loops]


def is_named(module: Module, kind: str) -> bool:
    """Whether a module is called ``kind``, or ends in ``_kind``."""
    return module.path.stem.rpartition("_")[2] == kind


_TIPS = frozenset({"setToolTip", "setStatusTip", "setWhatsThis", "setTabToolTip", "showText"})


def unescaped_tips(module: Module) -> list[str]:
    """Find tips that may hold somebody else's text and do not come from ``plain_tip``.

    A tip has no plain mode: Qt renders whatever looks like markup, and loads its images. Only what
    stands in the source as it is may go without.
    """
    if not module.has(*_TIPS, "ToolTipRole"):
        return []
    return [
        _at(module, call, f"{function.attr}({ast.unparse(call.args[-1])})")
        for call, function in _method_calls(module, *_TIPS)
        if not _is_plain(_tip_of(call, function))
    ]


def _tip_of(call: ast.Call, function: ast.Attribute) -> ast.expr:
    """The text among the arguments: the last, but in ``QToolTip.showText(place, text, widget)``."""
    return call.args[1] if function.attr == "showText" else call.args[-1]


def _is_plain(text: ast.expr) -> bool:
    if isinstance(text, ast.Constant):
        return True
    if isinstance(text, ast.IfExp):
        return _is_plain(text.body) and _is_plain(text.orelse)
    return isinstance(text, ast.Call) and _name(text) == "plain_tip"


_WIRE_PREFIXES = (
    *("tools/", "resources/", "prompts/", "tasks/", "notifications/", "sampling/", "elicitation/"),
    *("roots/list", "completion/", "logging/", "subscriptions/", "server/discover"),
)
_WIRE_KEYS = ("_meta", "progressToken", "esumeToken", "taskId", "io.modelcontextprotocol/")


def wire_names(module: Module) -> list[str]:
    """Find names of MCP that are spelt anew: ``protocol/messages.py`` has them all.

    Sentences, which have spaces, and docstrings may say them.
    """
    if not module.has(*_WIRE_PREFIXES, *_WIRE_KEYS, "initialize"):
        return []
    return [
        _at(module, node, repr(node.value))
        for node in module.nodes
        if isinstance(node, ast.Constant) and _is_wire_name(node.value)
    ]


def _is_wire_name(value: object) -> bool:
    text = value.decode("latin-1") if isinstance(value, bytes) else value
    if not isinstance(text, str) or any(map(str.isspace, text)):
        return False
    is_method = text == "initialize" or text.startswith(_WIRE_PREFIXES)
    return is_method or any(key in text for key in _WIRE_KEYS)


def import_cycle(modules: Sequence[Module]) -> list[str]:
    """Find modules that import each other in a ring, also late or for types alone."""
    known = {module.name for module in modules}
    graph = {
        module.name: {name for name in _imports(module, known) if name != module.name}
        for module in modules
    }
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return [*error.args[1]]
    return []


def _imports(module: Module, known: set[str]) -> Iterator[str]:
    for node in module.nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                if full in known or node.module in known:
                    yield full if full in known else node.module
