"""The repository speaks of no machine it was written on, and the tests lie where one looks."""

import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

import pytest

from tests.architecture.source import APP, ROOT, TESTS, modules, tracked_texts

# Written so that this file does not contain what it looks for.
_MACHINE_BOUND = re.compile(
    "|".join(
        (
            r"(?<![\w.])/(?:work|root|opt/(?:wheels|pypi))(?:/|\b(?=['\"`\s]))",
            r"(?<![\w.])/(?:home|Users)/(?!user|you|me\b|someone)\w",
            r"[A-Z]:\\{1,2}Users\\",
            r"\b(?:files\.)?pythonhosted\.org|\bpypi\.org/simple|\bregistry\.npmjs",
            r"pkg\.dev\b|\bartifactory\b",
            r"--(?:extra-)?index-url[ =]|--find-links[ =]|--hash=",
        )
    )
)

_NAMES = (
    *("/work", "/root", "/opt/", "/home/", "/Users/", "\\Users\\"),
    *("hosted.", "pypi", "npm", "pkg.dev", "artifactory", "index-url", "find-links", "--hash"),
)
"""Where none of them is, there is nothing to find: most files are not looked through for long."""


def machine_bound(text: str) -> list[str]:
    """Find registry addresses and absolute paths of one particular machine."""
    if not any(word in text for word in _NAMES):
        return []
    return [found.group() for found in _MACHINE_BOUND.finditer(text)]


def test_no_registry_and_no_path_of_one_machine_is_in_the_repository() -> None:
    own = PurePosixPath(Path(__file__).relative_to(ROOT).as_posix())
    texts = dict(tracked_texts())
    found = {
        name: hits
        for name, text in texts.items()
        if PurePosixPath(name) != own and (hits := machine_bound(text))
    }

    assert own.as_posix() in texts
    assert found == {}


@pytest.mark.parametrize(
    "text",
    [
        "open('/work/main/app')",
        "cd /root/clone",
        "HOME=/root ",
        "/opt/wheels/x.whl",
        "/home/alice/src",
        r"C:\Users\alice",
        "https://files.pythonhosted.org/packages",
        "pip install --index-url https://example.org/simple x",
        "click==8.0 --hash=sha256:00",
    ],
)
def test_machine_bound_text_is_found(text: str) -> None:
    assert machine_bound(text) != []


@pytest.mark.parametrize(
    "text", ["/usr/bin/python3", "/home/user/file", "self.root / 'work'", "a/work/b", "../root/x"]
)
def test_ordinary_paths_pass(text: str) -> None:
    assert machine_bound(text) == []


def _mirrored(test: Path, sources: dict[Path, set[str]]) -> bool:
    """Tell whether a test's place and name point at a module: ``test_job.py``, ``test_job_x.py``.

    Tests of a package as a whole are named after it, or ``test_invariants.py``, or ``test_main.py``
    where it is a program.
    """
    name = test.stem.removeprefix("test_")
    beside = sources.get(test.parent, set())
    names = beside | ({"invariants", "main", test.parent.name} if beside else set())
    return any(name == known or name.startswith(f"{known}_") for known in names)


def _by_folder(sources: Iterable[Path]) -> dict[Path, set[str]]:
    """Give the names of the modules of each folder."""
    names: dict[Path, set[str]] = {}
    for source in sources:
        names.setdefault(source.parent, set()).add(source.stem)
    return names


def _sources() -> set[Path]:
    """Return every module, as its path below the package.

    Beside them those of packaging/, benchmarks/ and the test servers, and what tests share.
    """
    own = {p.relative_to(APP) for p in APP.rglob("*.py")}
    benchmarks = {p.relative_to(TESTS) for p in (TESTS / "benchmarks").glob("*.py")}
    servers = {p.relative_to(TESTS) for p in (TESTS / "servers").rglob("*.py")}
    shared = {p.relative_to(TESTS) for p in TESTS.glob("*.py")}
    packaging = {p.relative_to(ROOT) for p in (ROOT / "packaging").glob("*.py")}
    return own | benchmarks | servers | shared | packaging


def test_unit_tests_lie_where_their_module_lies() -> None:
    unit = TESTS / "unit"
    tests = [p.relative_to(unit) for p in unit.rglob("test_*.py")]
    sources = _by_folder(_sources())

    assert tests
    assert [t.as_posix() for t in tests if not _mirrored(t, sources)] == []


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("tracker/test_job.py", True),
        ("tracker/test_job_states.py", True),
        ("tracker/test_tracker.py", True),
        ("tracker/test_invariants.py", True),
        ("tracker/test_jobs.py", False),
        ("test_job.py", False),
        ("store/test_job.py", False),
        ("store/test_invariants.py", False),
    ],
)
def test_a_misplaced_test_is_noticed(test: str, *, expected: bool) -> None:
    sources = _by_folder([Path("tracker/__init__.py"), Path("tracker/job.py")])

    assert _mirrored(Path(test), sources) is expected


def test_every_folder_of_tests_is_a_package() -> None:
    folders = {m.path.parent for m in modules("tests")}

    assert [f.as_posix() for f in folders if not (ROOT / f / "__init__.py").exists()] == []


def test_packaging_is_no_package() -> None:
    # It would shadow the library of that name, which pip's and pytest's parts import.
    assert not (ROOT / "packaging" / "__init__.py").exists()
