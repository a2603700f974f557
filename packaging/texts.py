"""Print every text that a user may see, as a table: place and text, in the order of the source.

    python3 packaging/texts.py [--sample N] [PATH ...]

What cannot be a text is left out: docstrings, annotations, names, patterns, statements of SQL, and
the texts of log records. A string that is put together shows its gaps as {…}. `--sample` draws N
texts at random. The table is for reading: every text in it should say what VS Code, Wireshark or
GitHub would say there.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "app" / "mcp_progress_monitor"
_A_SENTENCE = re.compile(r"[A-Za-z]{2,}.* .*[A-Za-z]|^&?[A-Z][a-z]+…?$")
_SQL = re.compile(r"\b(SELECT|INSERT|UPDATE|DELETE|CREATE|PRAGMA|BEGIN|DROP)\b")
_LOG_METHODS = frozenset({"debug", "info", "warning", "error", "exception", "critical"})


def texts_of(path: Path) -> Iterator[tuple[int, str]]:
    """The line and the text of each string in one module that a user may see."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    hidden = _hidden(tree)
    found: list[tuple[int, str]] = []
    for node in ast.walk(tree):
        if id(node) in hidden:
            continue
        text = _text(node)
        if text and _A_SENTENCE.search(text) and not _SQL.search(text):
            found.append((node.lineno, text))  # type: ignore[attr-defined]
    yield from sorted(found)


def _text(node: ast.AST) -> str:
    """What a string literal says, gaps as {…}; nothing for any other node."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) or "{…}" for part in node.values)
    return ""


def _hidden(tree: ast.Module) -> set[int]:
    """The nodes whose strings nobody sees: docstrings, parts of f-strings, annotations, logs."""
    hidden: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            hidden.add(id(node.value))
        if isinstance(node, ast.JoinedStr):
            hidden.update(id(part) for part in node.values)
        if isinstance(node, ast.Call):
            hidden.update(_not_shown(node))
        for annotation in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if isinstance(annotation, ast.AST):
                hidden.update(id(inner) for inner in ast.walk(annotation))
    return hidden


def _not_shown(call: ast.Call) -> Iterator[int]:
    """The strings of a call that are a type, a pattern or a record of the program's log."""
    function = call.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    of = getattr(function.value, "id", "") if isinstance(function, ast.Attribute) else ""
    if name in {"cast", "compile"} or (name in _LOG_METHODS and of in {"_log", "log"}):
        yield from (id(argument) for argument in call.args)


def main() -> None:
    """Print the table, or a sample of it."""
    parser = argparse.ArgumentParser(description="Prints every text that a user may see.")
    parser.add_argument("--sample", type=int, metavar="N", help="N texts, drawn at random")
    parser.add_argument("paths", nargs="*", type=Path, help="modules or folders of the package")
    options = parser.parse_args()
    places = options.paths or [PACKAGE]
    files = [f for p in places for f in (sorted(p.rglob("*.py")) if p.is_dir() else [p])]
    rows = [(f, line, text) for f in files for line, text in texts_of(f)]
    if options.sample:
        rows = random.sample(rows, min(options.sample, len(rows)))
    for file, line, text in rows:
        print(f"{file.resolve().relative_to(PACKAGE)}:{line}\t{' '.join(text.split())}")


if __name__ == "__main__":
    main()
