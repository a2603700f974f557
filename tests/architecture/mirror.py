"""Where the test of a module lies: at the path of the module, below `tests/unit` or `tests/gui`.

An aspect in its name, `test_<module>_<aspect>.py`, is in words of the module or of the glossary.
"""

import functools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.architecture.source import PACKAGE


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
    return any(_matching(root, test))


def unnamed_aspects(root: Path, tests: Iterable[Path]) -> set[str]:
    """Test files whose name ends in words that neither the module nor the glossary has."""
    terms = _words(_glossary(root))
    return {test.as_posix() for test in tests if not _has_aspect(root, test, terms)}


def _has_aspect(root: Path, test: Path, terms: str) -> bool:
    subjects = sorted(_matching(root, test), key=lambda found: len(found[1]))
    if not subjects:
        return True  # a stray, which is found as such
    place, subject = subjects[-1]
    aspect = test.stem.removeprefix(f"test_{subject}").strip("_").replace("_", " ")
    text = f" {_words(_source(place, subject))} {terms} "
    forms = {aspect, f"{aspect}s", aspect.removesuffix("s"), re.sub("ies$", "y", aspect)}
    return not aspect or any(f" {form} " in text for form in forms)


def _matching(root: Path, test: Path) -> Iterator[tuple[Path, str]]:
    name = test.stem.removeprefix("test_")
    for place in _places(root, test):
        for subject in _subjects(place):
            if name == subject or name.startswith(f"{subject}_"):
                yield place, subject


def _source(place: Path, subject: str) -> str:
    files = [place / f"{subject}.py", place / f"_{subject}.py", *(place / subject).rglob("*.py")]
    return " ".join(f"{file.stem} {file.read_text('utf-8')}" for file in files if file.exists())


def _glossary(root: Path) -> str:
    page = root / "ARCHITECTURE.md"
    text = page.read_text("utf-8") if page.exists() else ""
    rows = text.partition("## Glossary")[2].partition("\n## ")[0].splitlines()
    return " ".join(row.split("|")[1] for row in rows if row.startswith("|"))


def _words(text: str) -> str:
    """Return names and sentences as words in lower case: `ReadyQueue` is `ready queue`."""
    parted = re.sub("([a-z0-9])([A-Z])", r"\1 \2", text)
    return " ".join(re.findall("[a-z0-9]+", parted.lower()))


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
