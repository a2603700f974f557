"""Counts the weight and shape of the code: `python -m tests.architecture.good_signs`.

Prints one figure a line, with what it counts; those with a limit in `figures.toml` first.
`--no-tick` leaves out the measured one: what runs between a progress notification in a server's
pipe and the pixels of its row.
"""

from __future__ import annotations

import ast
import json
import re
import statistics
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tests.architecture.source import APP, PACKAGE, ROOT, TESTS, Module, modules

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import CodeType, FrameType

_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
_INTERVAL_S: Final = 0.15  # a feed publishes at most every 100 ms: each tick gets its own repaint
_WARM_UP: Final = 10
_REPAINTS: Final = 30
_MOST: Final = 0.8
"""The share of repaints that a function must have part in: timers have it in fewer."""
_LONGEST_S: Final = 60.0
_GUI: Final = f"{PACKAGE}.gui."
_SHARED_ROOMS: Final = frozenset({"", "common", "schema_form"})
_MANY_METHODS: Final = 40
_SLACK: Final = 5
_WEAK: Final = re.compile(r"(What|Whether|Those)\b")
_GIVEN_UP: Final = re.compile(r"(?i)words|told|picture|drawer")
_DECLARING: Final = (
    *("cli/orders.py", "catalogue/clients.py", "exports/formats.py", "filtering/fields.py"),
    *("findings/rules.py", "gui/user_settings.py", "gui/window_commands.py"),
    *("gui/jobs/columns.py", "gui/jobs/commands.py", "gui/servers/commands.py"),
    *("gui/traffic/commands.py", "gui/findings/commands.py", "gui/page_commands.py"),
    "gui/results/commands.py",
)
"""Modules that declare what a user sees: a command, option, setting, rule, field, column, …"""
FIGURES: Final = TESTS / "architecture" / "figures.toml"
_NO_FUNCTIONS: Final = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"})


def main() -> None:
    """Print all figures."""
    for figure in limited():
        print(f"{figure.counted:>8}  {figure.name} (at most {figure.limit})")
    for name, count in _read(_package()):
        print(f"{count:>8}  {name}")
    if "--no-tick" not in sys.argv:
        functions = _one_tick()
        files = {path for path, _ in functions}
        print(f"{len(functions):>8}  functions entered from pipe to pixel, one tick and its row")
        print(f"{len(files):>8}  files of these functions")
        if "--list" in sys.argv:
            print("\n".join(f"{path}: {function}" for path, function in sorted(functions)))


class Figure(NamedTuple):
    """A count with a limit. `limit` is None for a name that `figures.toml` does not have."""

    name: str
    counted: int
    limit: int | None

    def error(self) -> str:
        """Say what to do about a figure that rose, or whose limit no longer holds it."""
        if self.limit is None:
            return f"{self.name}: {self.counted}. Give it a limit in {FIGURES.name}."
        if self.counted > self.limit:
            return (
                f"{self.name}: {self.counted}, at most {self.limit} are allowed. Make room, or name"
                f" the feature that needs it in {FIGURES.name}."
            )
        if self.limit - self.counted > max(_SLACK, self.limit // 50):
            return f"{self.name}: only {self.counted}. Lower its limit in {FIGURES.name}."
        return ""


def limited() -> list[Figure]:
    """Count the figures that have a limit."""
    stated = limits()
    return [Figure(name, count, stated.get(name)) for name, count in _weights()]


def limits() -> dict[str, int]:
    """Read the limits: what was counted once, and what each feature since has needed."""
    stated = tomllib.loads(FIGURES.read_text("utf-8"))
    return {name: sum(rows.values()) for name, rows in stated.items()}


def _weights() -> Iterator[tuple[str, int]]:
    package, tests = _package(), modules("tests")
    nodes = [node for module in package.values() for node in module.nodes]
    sizes = [_methods(node) for node in nodes if isinstance(node, ast.ClassDef)]
    window = f"{_GUI}main_window"
    old = [len(_GIVEN_UP.findall(module.text)) for module in tests]
    statements = sum(isinstance(node, ast.stmt) for node in nodes)
    yield "lines of the package", sum(map(_lines, package.values()))
    yield "lines of the tests", sum(map(_lines, tests))
    yield "classes with 40 methods or more", sum(size >= _MANY_METHODS for size in sizes)
    yield "methods of the largest class", max(sizes)
    yield "modules that import main_window", sum(window in _imports(package, n) for n in package)
    yield "imports from a room of the window up to its hubs", _arrows_up(package)
    yield "words that the program gave up in tests", sum(old)
    yield "docstrings that begin with what, whether or those", sum(map(_is_weak, nodes))
    yield "statements for each thing declared", round(statements / _declared(package))


def _package() -> dict[str, Module]:
    return {_name(module): module for module in modules(f"app/{PACKAGE}")}


def _lines(module: Module) -> int:
    return module.text.count("\n")


def _methods(node: ast.ClassDef) -> int:
    return sum(isinstance(each, _FUNCTIONS) for each in node.body)


def _arrows_up(package: Mapping[str, Module]) -> int:
    """Count imports from a room to a module of the window that leads to rooms again."""
    hubs = {
        name
        for name in package
        if _room(name) == "" and any(_room(n) not in _SHARED_ROOMS for n in _reached(package, name))
    }
    return sum(len(_imports(package, name) & hubs) for name in package if _room(name))


def _room(name: str) -> str:
    """Return the package below `gui` that a module is in; "" outside."""
    return name.removeprefix(_GUI).rpartition(".")[0] if name.startswith(_GUI) else ""


def _reached(package: Mapping[str, Module], start: str) -> set[str]:
    found, left = set[str](), [start]
    while left:
        new = {n for n in _imports(package, left.pop()) if n.startswith(_GUI)} - found
        found |= new
        left += new
    return found


def _is_weak(node: ast.AST) -> bool:
    if not isinstance(node, (*_FUNCTIONS, ast.ClassDef, ast.Module)):
        return False
    return bool(_WEAK.match(ast.get_docstring(node) or ""))


def _declared(package: Mapping[str, Module]) -> int:
    """Count what the tables of declarations have: each public name or row that is made there."""
    paths = {f"app/{PACKAGE}/{path}" for path in _DECLARING}
    found = [module for module in package.values() if module.path.as_posix() in paths]
    return sum(_is_declaration(node) for module in found for node in module.nodes)


def _is_declaration(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in {"FieldDefinition", "ColumnText"}
    if not isinstance(node, ast.Assign | ast.AnnAssign) or not isinstance(node.value, ast.Call):
        return False
    target = node.targets[0] if isinstance(node, ast.Assign) else node.target
    return isinstance(target, ast.Name) and not target.id.startswith("_")


def _name(module: Module) -> str:
    parts = module.path.with_suffix("").parts[1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _read(package: Mapping[str, Module]) -> Iterator[tuple[str, int]]:
    """Yield the figures that are read from the source."""
    lengths = list(map(_lines, package.values()))
    yield "modules", len(lengths)
    longer = [length for length in lengths if length > 1]  # not the docstrings of packages
    yield "lines in the median module", round(statistics.median(longer))
    yield "lines in the longest module", max(lengths)
    yield "functions that only forward", sum(map(_forwarders, package.values()))
    importers = _importers(package)
    yield "modules with a single importer", sum(len(each) == 1 for each in importers.values())
    names = Counter(name for module in package.values() for name in _classes(module))
    yield "class names that exist twice or more", sum(count > 1 for count in names.values())
    yield "modules that spell _meta", sum(_spells_meta(module) for module in package.values())
    yield "callbacks assigned after construction", sum(map(_callbacks, package.values()))
    knots = list(_knots(package))
    yield "import cycles, TYPE_CHECKING included", len(knots)
    yield "modules in these cycles", sum(map(len, knots))


def _forwarders(module: Module) -> int:
    return sum(isinstance(node, _FUNCTIONS) and _forwards(node) for node in module.nodes)


def _forwards(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Tell whether a function only hands its own arguments, all of them, to another one."""
    body = [node for node in function.body if not _is_docstring(node)]
    if len(body) != 1 or not isinstance(body[0], ast.Return | ast.Expr):
        return False
    call = body[0].value.value if isinstance(body[0].value, ast.Await) else body[0].value
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute | ast.Name):
        return False
    if function.decorator_list or (isinstance(call.func, ast.Name) and call.func.id[:1].isupper()):
        return False  # a slot or a property; something is made
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    own = {each.arg for each in (*function.args.args, *function.args.kwonlyargs)} - {"self", "cls"}
    names = [node.id for node in given if isinstance(node, ast.Name)]
    return len(names) == len(given) and set(names) == own


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _imports(package: Mapping[str, Module], name: str) -> set[str]:
    """Find the modules of the package that one imports, wherever in its text."""
    return {other for other in package[name].imported if other in package} - {name, PACKAGE}


def _importers(package: Mapping[str, Module]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for name in package:
        for other in _imports(package, name):
            if not package[other].path.name.startswith("__"):
                found.setdefault(other, set()).add(name)
    return found


def _classes(module: Module) -> Iterator[str]:
    """Yield the names of a module's public classes."""
    for node in module.tree.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node.name


def _spells_meta(module: Module) -> bool:
    return module.has("_meta") and any(
        isinstance(node, ast.Constant) and node.value == "_meta" for node in module.nodes
    )


def _callbacks(module: Module) -> int:
    """Count attributes `on_…` of others that are assigned: their owner began without them."""
    return sum(
        isinstance(target, ast.Attribute)
        and target.attr.startswith("on_")
        and not (isinstance(target.value, ast.Name) and target.value.id == "self")
        for node in module.nodes
        if isinstance(node, ast.Assign)
        for target in node.targets
    )


def _knots(package: Mapping[str, Module]) -> Iterator[set[str]]:
    """Yield each set of modules that all lead to each other by imports (Tarjan)."""
    graph = {name: sorted(_imports(package, name)) for name in package}
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    path: list[str] = []

    def visit(name: str) -> Iterator[set[str]]:
        order[name] = low[name] = len(order)
        path.append(name)
        for other in graph[name]:
            if other not in order:
                yield from visit(other)
                low[name] = min(low[name], low[other])
            elif other in path:
                low[name] = min(low[name], order[other])
        if low[name] == order[name]:
            knot = set(path[path.index(name) :])
            del path[path.index(name) :]
            if len(knot) > 1:
                yield knot

    for name in graph:
        if name not in order:
            yield from visit(name)


def _one_tick() -> set[tuple[str, str]]:
    """Measure in a process of its own, which has a window of its own."""
    command = [sys.executable, "-m", "tests.architecture.good_signs", "--measure"]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=2 * _LONGEST_S, check=True
    )
    return {(path, name) for path, name in json.loads(done.stdout.splitlines()[-1])}


class _Profile:
    """Which functions of the package are entered between one repaint and the next."""

    def __init__(self) -> None:
        self.seen: list[set[CodeType]] = []
        self._now: set[CodeType] = set()

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            self._now.add(frame.f_code)

    def cut(self) -> None:
        """End a stretch."""
        self.seen.append(self._now)
        self._now = set()

    def usual(self) -> Iterator[tuple[str, str]]:
        """Yield file and name of what most stretches had in them, the first of them left out."""
        stretches = self.seen[_WARM_UP:]
        counts = Counter(code for stretch in stretches for code in stretch)
        for code, count in counts.items():
            path = Path(code.co_filename)
            is_ours = path.is_relative_to(APP) and code.co_name not in _NO_FUNCTIONS
            if is_ours and count >= _MOST * len(stretches):
                name = f"{getattr(code, 'co_qualname', code.co_name)}:{code.co_firstlineno}"
                yield path.relative_to(APP).as_posix(), name


def _measure() -> None:
    """Open a window on a server that ticks, and print what runs for a tick and its row."""
    import os

    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    from PySide6.QtCore import QEvent, QObject, QTimer
    from PySide6.QtWidgets import QApplication

    with tempfile.TemporaryDirectory() as folder:
        from mcp_progress_monitor.gui.aio import run_on_qt
        from mcp_progress_monitor.gui.launch_options import WindowOptions
        from mcp_progress_monitor.gui.program import Program

        application = QApplication([])
        program = Program(application, WindowOptions(Path(folder)))
        profile = _Profile()

        class Paints(QObject):
            def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
                if event.type() is QEvent.Type.Paint:
                    QTimer.singleShot(0, self.painted)  # when the row is on the screen
                return False

            def painted(self) -> None:
                profile.cut()
                if len(profile.seen) == _WARM_UP + _REPAINTS:
                    sys.setprofile(None)
                    program.quit()

        paints = Paints()

        def begin() -> None:
            if not program.ready.is_set():
                QTimer.singleShot(50, begin)
                return
            _call(program)
            QTimer.singleShot(1500, look)

        def look() -> None:
            program.window.docks["traffic"].hide()  # rows of its own, which follow the same tick
            program.window.job_list.table.viewport().installEventFilter(paints)
            sys.setprofile(profile)

        QTimer.singleShot(0, begin)
        QTimer.singleShot(round(1000 * _LONGEST_S), program.quit)
        run_on_qt(application, program.run)
    print(json.dumps(sorted(profile.usual())))


def _call(program: Any) -> None:
    """Connect the demo server and make one call that ticks."""
    from mcp_progress_monitor.engine.call import Call, CallSeries
    from mcp_progress_monitor.snapshots.definitions import demo_definition

    async def run() -> None:
        name = program.engine.servers.add(demo_definition())
        await program.engine.servers.connect(name)
        arguments = {"steps": 900, "interval_s": _INTERVAL_S}
        params = {"name": "unknown_total", "arguments": arguments}
        call = Call(server=name, method="tools/call", params=params)
        program.calls.call_series(CallSeries((call,)))

    program.calls._tasks.start("measure", run)  # noqa: SLF001  # as the window starts tasks


if __name__ == "__main__":
    if "--measure" in sys.argv:
        _measure()
    else:
        main()
