"""Where the test of a module lies: at the path of the module, below `tests/unit` or `tests/gui`."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING

from tests.architecture.source import PACKAGE

if TYPE_CHECKING:
    from collections.abc import Iterable


def mirroring(root: Path) -> list[Path]:
    """The test files below the repository's ``tests`` that each have a module to be about."""
    found = (
        file for kind in ("unit", "gui") for file in (root / "tests" / kind).rglob("test_*.py")
    )
    return sorted(file.relative_to(root / "tests") for file in found)


def strays(root: Path, tests: Iterable[Path]) -> set[str]:
    """Test files whose name begins with no module or package of the folder that they mirror."""
    return {test.as_posix() for test in tests if not _has_subject(root, test)}


def _has_subject(root: Path, test: Path) -> bool:
    name = test.stem.removeprefix("test_")
    return any(
        name == subject or name.startswith(f"{subject}_")
        for place in _places(root, test)
        for subject in _subjects(place)
    )


def _places(root: Path, test: Path) -> list[Path]:
    """The folders whose modules the test may be about: of the program, of helpers, of scripts."""
    kind, *folders = test.parent.parts
    below, package = Path(*folders), root / "app" / PACKAGE
    if kind == "gui":
        return [package / "gui" / below, package / below]
    return [package / below, root / "tests" / below, root / below]


@functools.cache
def _subjects(place: Path) -> set[str]:
    """The modules and packages in a folder."""
    if not place.is_dir():
        return set()
    modules = {file.stem for file in place.glob("*.py") if not file.stem.startswith("__")}
    packages = {folder.name for folder in place.iterdir() if any(folder.glob("*.py"))}
    return {name.lstrip("_") for name in modules | packages}
