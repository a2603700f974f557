"""A test lies where its module lies, so that one is found from the other without a search."""

from pathlib import Path

import pytest

from tests.architecture.mirror import mirroring, strays, unnamed_aspects
from tests.architecture.source import ROOT

_OF_SEVERAL_MODULES = {
    "unit/cli/test_main.py": "the command line as a whole: `main` is in the package itself",
    "unit/tracker/test_invariants.py": "what holds for the tracker, whatever happens",
    "gui/test_clocks.py": "deadlines from the session to the row",
    "gui/test_every_window.py": "what holds for every window",
    "gui/test_dialog_looks.py": "what all dialogs have alike",
    "gui/schema_form/test_hostile_forms.py": "forms of hostile schemas, wherever they are shown",
    "gui/test_read_only.py": "each pane beside a recording that nothing can be done to",
}
"""Tests that have no one module, and what they are about."""


_TREE = (
    "app/mcp_progress_monitor/paths.py",
    "app/mcp_progress_monitor/tracker/__init__.py",
    "app/mcp_progress_monitor/tracker/rates.py",
    "app/mcp_progress_monitor/gui/jobs/view.py",
    "packaging/dev.py",
    "tests/growth.py",
)


def test_every_test_mirrors_a_module_or_is_named_here() -> None:
    found = mirroring(ROOT)
    assert len(found) > 100
    assert strays(ROOT, found) == _OF_SEVERAL_MODULES.keys()


def test_every_aspect_names_something_in_its_module_or_in_the_glossary() -> None:
    assert unnamed_aspects(ROOT, mirroring(ROOT)) == set()


@pytest.mark.parametrize(
    ("test", "is_named"),
    [
        ("unit/tracker/test_rates.py", True),
        ("unit/tracker/test_rates_pace_table.py", True),
        ("unit/tracker/test_rates_slow_server.py", True),
        ("unit/tracker/test_rates_resume_chains.py", True),
        ("unit/tracker/test_rates_verdicts.py", False),
        ("unit/tracker/test_rates_attempt.py", False),
        ("unit/test_tracker_pace_table.py", True),
        ("unit/test_tracker_wishes.py", False),
    ],
)
def test_an_aspect_that_names_nothing_is_found(
    tmp_path: Path, test: str, *, is_named: bool
) -> None:
    module = tmp_path / "app/mcp_progress_monitor/tracker/rates.py"
    module.parent.mkdir(parents=True)
    module.write_text('class PaceTable:\n    """Paces of a slow server."""\n', encoding="utf-8")
    page = "## Glossary\n\n| term | meaning |\n| resume chain | the attempts |\n\n## Where\n"
    (tmp_path / "ARCHITECTURE.md").write_text(page, encoding="utf-8")
    file = tmp_path / "tests" / test
    file.parent.mkdir(parents=True)
    file.touch()
    found = unnamed_aspects(tmp_path, mirroring(tmp_path))
    assert found == (set() if is_named else {test})


@pytest.mark.parametrize(
    ("test", "is_stray"),
    [
        ("unit/test_paths.py", False),
        ("unit/test_tracker.py", False),
        ("unit/test_growth.py", False),
        ("unit/tracker/test_rates.py", False),
        ("unit/tracker/test_rates_of_many.py", False),
        ("unit/packaging/test_dev.py", False),
        ("gui/jobs/test_view.py", False),
        ("unit/test_rates.py", True),
        ("unit/tracker/test_paths.py", True),
        ("unit/tracker/test_rate.py", True),
        ("unit/tracker/test_ratesofmany.py", True),
        ("unit/nowhere/test_rates.py", True),
        ("gui/jobs/test_rates.py", True),
    ],
)
def test_a_stray_test_is_found(tmp_path: Path, test: str, *, is_stray: bool) -> None:
    for name in (*_TREE, f"tests/{test}"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    assert strays(tmp_path, mirroring(tmp_path)) == ({test} if is_stray else set())
