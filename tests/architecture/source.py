"""The repository as these tests read it: parsed modules, and the text of every tracked file."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
APP = ROOT / "app"
TESTS = ROOT / "tests"
_BUILT = frozenset({"__pycache__", ".venv", "build", "dist"})


class Module(NamedTuple):
    """One Python file: where it lies below the repository, its text and its syntax tree."""

    path: Path
    text: str
    tree: ast.Module

    @property
    def imported(self) -> set[str]:
        """Full names of all modules it imports, wherever in the file."""
        names: set[str] = set()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                names.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module)
                names.update(f"{node.module}.{alias.name}" for alias in node.names)
        return names


def parsed(text: str, path: str = "app/sample.py") -> Module:
    """Parse a sample as if it lay at `path`."""
    return Module(Path(path), text, ast.parse(text))


def modules(*below: str) -> list[Module]:
    """Parse every Python file below these paths of the repository; a file names itself."""
    return [
        parsed(file.read_text(encoding="utf-8"), file.relative_to(ROOT).as_posix())
        for start in below
        for file in _python_files(ROOT / start)
    ]


def _python_files(start: Path) -> list[Path]:
    if start.is_file():
        return [start]
    return sorted(p for p in start.rglob("*.py") if not _BUILT & set(p.parts))


def tracked_texts() -> Iterator[tuple[str, str]]:
    """Yield path and text of every file under version control that is text."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"],  # noqa: S607 -- whichever git the developer has
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        file = ROOT / name
        if not file.is_file():
            continue
        data = file.read_bytes()
        if b"\0" not in data:
            yield name, data.decode("utf-8", errors="replace")
