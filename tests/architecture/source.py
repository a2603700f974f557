"""The repository as these tests read it: parsed modules, and the text of every tracked file."""

from __future__ import annotations

import ast
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
APP = ROOT / "app"
TESTS = ROOT / "tests"
_BUILT = frozenset({"__pycache__", ".git", ".hypothesis", ".venv", "build", "dist"})


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
    """Yield path and text of every file under version control that is text.

    Where there is no git, or this is no clone, of every file that no tool made.
    """
    for name in _tracked() or _everything():
        file = ROOT / name
        data = file.read_bytes() if file.is_file() else b"\0"
        if b"\0" not in data:
            yield name, data.decode("utf-8", errors="replace")


def _tracked() -> list[str]:
    git = shutil.which("git")
    if git is None:
        return []
    listed = subprocess.run([git, "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    return list(filter(None, listed.stdout.decode().split("\0")))


def _everything() -> list[str]:
    paths = (p.relative_to(ROOT) for p in ROOT.rglob("*"))
    return [
        p.as_posix()
        for p in paths
        if not _BUILT & set(p.parts) and not any(part.endswith("cache") for part in p.parts)
    ]
