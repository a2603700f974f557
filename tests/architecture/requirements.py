"""Which requirements of the progress specification the tests claim to show met."""

import ast
from collections.abc import Iterable

from tests.architecture.source import Module

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def claimed(modules: Iterable[Module]) -> set[str]:
    """Collect the ids named by ``@pytest.mark.requirement`` on tests that pytest would collect.

    Also by ``pytestmark`` of a module that has tests. A skipped test claims nothing.
    """
    found: set[str] = set()
    for module in modules:
        if module.path.name.startswith("test_") and module.has("mark.requirement"):
            found |= _claimed_in(module.tree)
    return found


def _claimed_in(tree: ast.Module) -> set[str]:
    definitions = [node for node in ast.walk(tree) if isinstance(node, _Definition)]
    tests = [definition for definition in definitions if _is_test(definition)]
    marks = [m for t in tests for m in t.decorator_list] if tests else []
    if tests:
        marks += [m for node in tree.body for m in _module_marks(node)]
    return {name for mark in marks for name in _ids(mark)}


def _is_test(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    prefix = "Test" if isinstance(node, ast.ClassDef) else "test_"
    return node.name.startswith(prefix) and not any(_is_skip(d) for d in node.decorator_list)


def _module_marks(node: ast.stmt) -> list[ast.expr]:
    if not isinstance(node, ast.Assign):
        return []
    if not any(isinstance(t, ast.Name) and t.id == "pytestmark" for t in node.targets):
        return []
    return list(node.value.elts) if isinstance(node.value, ast.List) else [node.value]


def _is_skip(mark: ast.expr) -> bool:
    return ast.unparse(mark).startswith(("pytest.mark.skip(", "pytest.mark.xfail"))


def _ids(mark: ast.expr) -> list[str]:
    if not isinstance(mark, ast.Call) or ast.unparse(mark.func) != "pytest.mark.requirement":
        return []
    return [str(a.value) for a in mark.args if isinstance(a, ast.Constant)]
