"""Finds the definitions of tools in a folder of source code, with bounds on what is read."""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_progress_monitor.sources import python_code, tokens
from mcp_progress_monitor.sources.mentions import Names, Role

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Set

    from mcp_progress_monitor.sources.mentions import Mention

MOST_FILES: Final = 20_000
MOST_BYTES: Final = 100_000_000
LARGEST: Final = 1_000_000  # bytes of a file; larger ones are generated
READERS: Final[Mapping[str, Callable[[str, Names], Iterator[Mention]]]] = {
    ".py": python_code.mentions,
    ".go": tokens.go_mentions,
    **dict.fromkeys((".ts", ".mts", ".cts", ".tsx"), tokens.script_mentions),
    **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx"), tokens.script_mentions),
}
_IGNORED: Final = frozenset(
    {"node_modules", "vendor", "venv", "site-packages", "__pycache__", "dist", "build", "out"}
    | {"target", "coverage"}
)
"""Folders of what others wrote, or a tool made; hidden ones are left out as well."""
_TESTS: Final = frozenset({"test", "tests", "__tests__", "e2e", "spec", "examples", "docs"})
_TEST_ENDS: Final = ("_test.go", ".test.ts", ".spec.ts", ".test.js", ".spec.js", "_test.py")


class Definition(NamedTuple):
    """The line, counted from 1, at which a tool is defined."""

    path: Path
    line: int


class Definitions(NamedTuple):
    """The definitions by tool; `is_whole` is False if the folder has more than was read."""

    by_tool: Mapping[str, Definition]
    is_whole: bool


def find_definitions(folder: Path, tools: Set[str]) -> Definitions:
    """Read the folder's code for these tools; symbolic links to folders are not followed."""
    texts, is_whole = _texts(folder)
    found: dict[Path, list[Mention]] = {}
    names = Names(tools, {})
    for path, text in texts.items():
        if any(tool in text for tool in tools):
            found[path] = list(READERS[path.suffix](text, names))
    constants = _constants(found)
    for path, text in texts.items():
        own = _constants({path: found.get(path, [])})
        known = {each: tool for each, tool in (constants | own).items() if each in text}
        if known:
            found[path] = list(READERS[path.suffix](text, Names(tools, known)))
    every = [(path, each) for path, of_path in found.items() for each in of_path]
    every += _of_mounted(texts, tools - {each.tool for _, each in every})
    best: dict[str, tuple[tuple[bool, int], Definition]] = {}
    for path, each in every:
        rank = (not _is_test(path.relative_to(folder)), int(each.role))
        if each.tool not in best or rank > best[each.tool][0]:
            best[each.tool] = rank, Definition(path, each.line)
    return Definitions({tool: place for tool, (_, place) in best.items()}, is_whole)


def _of_mounted(texts: Mapping[Path, str], tools: Iterable[str]) -> Iterator[tuple[Path, Mention]]:
    """The definitions of `PREFIX_NAME`: NAME, registered in a file whose path has the prefix.

    FastMCP prefixes the tools of a server that is mounted in another.
    """
    mounted: defaultdict[str, set[str]] = defaultdict(set)
    for tool in tools:
        prefix, _, name = tool.partition("_")
        if prefix and name:
            mounted[prefix].add(name)
    for path, text in texts.items():
        stem = path.stem.lower()
        prefixes = [prefix for prefix in mounted if prefix.lower() in stem]
        names = set().union(*(mounted[prefix] for prefix in prefixes))
        for found in READERS[path.suffix](text, Names(names, {})) if names else ():
            for prefix in prefixes:
                if found.role is Role.REGISTERED and found.tool in mounted[prefix]:
                    yield path, found._replace(tool=f"{prefix}_{found.tool}")


def _constants(found: Mapping[Path, list[Mention]]) -> dict[str, str]:
    """The identifiers that hold the name of one tool, and of no other one."""
    held: defaultdict[str, set[str]] = defaultdict(set)
    for of_path in found.values():
        for each in of_path:
            if each.constant:
                held[each.constant].add(each.tool)
    return {constant: next(iter(of)) for constant, of in held.items() if len(of) == 1}


def _is_test(path: Path) -> bool:
    return (
        not _TESTS.isdisjoint(path.parts[:-1])
        or path.name.startswith("test_")
        or path.name.endswith(_TEST_ENDS)
    )


def _texts(folder: Path) -> tuple[dict[Path, str], bool]:
    """The texts of the code in the folder, and whether that is all."""
    texts: dict[Path, str] = {}
    size = 0
    for path in _files(folder):
        try:
            length = path.stat().st_size
            if length > LARGEST or not path.is_file():
                continue
            if len(texts) == MOST_FILES or size + length > MOST_BYTES:
                return texts, False
            size += length
            with path.open(encoding="utf-8", errors="replace") as file:
                texts[path] = file.read(LARGEST)  # more than its size says, as in /proc
        except OSError:
            continue
    return texts, True


def _files(folder: Path) -> Iterator[Path]:
    """The files of code, in the order of their names."""
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(each for each in folders if not _is_ignored(Path(place, each)))
        yield from (Path(place, each) for each in sorted(files) if Path(each).suffix in READERS)


def _is_ignored(folder: Path) -> bool:
    name = folder.name
    return name.startswith(".") or name in _IGNORED or (folder / "pyvenv.cfg").exists()
