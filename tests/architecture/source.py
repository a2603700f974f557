"""The repository as these tests read it: its modules, and the text of every tracked file."""

import ast
import functools
import gc
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "mcp_progress_monitor"
APP = ROOT / "app" / PACKAGE
TESTS = ROOT / "tests"
_BUILT = frozenset({"__pycache__", ".git", ".hypothesis", ".venv", "build", "dist"})


@dataclass(frozen=True)
class Module:
    """One Python file: where it lies below the repository, its text and its syntax tree.

    All checks share one; still, parsing a thousand files takes long: look first whether the text
    has the word you look for.
    """

    path: Path
    text: str

    @functools.cached_property
    def tree(self) -> ast.Module:
        """The syntax tree, parsed when it is first asked for."""
        gc.disable()  # else trees are walked for garbage again and again while they are made
        tree = ast.parse(self.text)
        gc.freeze()
        gc.enable()
        return tree

    def has(self, *arguments: str) -> bool:
        """Tell whether any of the words stands anywhere in the text."""
        return any(word in self.text for word in arguments)

    @property
    def name(self) -> str:
        """What it is imported as, if it lies in the package."""
        parts = self.path.with_suffix("").parts[1:]
        return ".".join(parts).removesuffix(".__init__")

    @functools.cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of the tree, from one walk."""
        return list(ast.walk(self.tree))

    @functools.cached_property
    def imported(self) -> set[str]:
        """Full names of all modules it imports, wherever in the file."""
        names: set[str] = set()
        for node in self.nodes:
            if isinstance(node, ast.Import):
                names.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module)
                names.update(f"{node.module}.{alias.name}" for alias in node.names)
        return names


def parsed(text: str, path: str = "app/sample.py") -> Module:
    """Take a sample as if it lay at `path`."""
    return Module(Path(path), text)


def modules(*below: str) -> list[Module]:
    """Every Python file below these paths of the repository; a file names itself."""
    return [m for start in below for m in _all_modules() if m.path.is_relative_to(start)]


def forget() -> None:
    """Let go of all modules: their trees are a million objects."""
    _all_modules.cache_clear()


@functools.cache
def _all_modules() -> list[Module]:
    files = (file for top in ("app", "packaging", "tests") for file in (ROOT / top).rglob("*.py"))
    paths = sorted(file.relative_to(ROOT) for file in files)
    return [
        Module(path, (ROOT / path).read_text(encoding="utf-8"))
        for path in paths
        if not _BUILT & set(path.parts)
    ]


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
