"""The reference pages of the manual are what the program would write now."""

import subprocess
import sys
from pathlib import Path

import pytest

import reference
from tests.architecture.source import ROOT
from tests.patience import PATIENCE_S


@pytest.mark.skipif(sys.platform != "linux", reason="where pages are written")
def test_the_reference_pages_are_up_to_date() -> None:
    script = ROOT / "packaging" / "reference.py"
    ran = subprocess.run(
        [sys.executable, str(script), "--check"],
        capture_output=True,
        check=False,
        text=True,
        timeout=PATIENCE_S,
    )
    assert ran.returncode == 0, f"{ran.stdout}{ran.stderr}Run: python3 packaging/dev.py docs"


def test_a_page_that_differs_is_named_and_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "exit-codes.md"
    monkeypatch.setattr(reference, "FOLDER", tmp_path)
    monkeypatch.setattr(reference, "PAGES", {name: reference.PAGES[name]})
    (tmp_path / name).write_text("old")

    assert reference.main(["--check"]) == 1
    assert capsys.readouterr().out == f"Out of date: {name}\n"
    assert (tmp_path / name).read_text() == "old"

    assert reference.main([]) == 0
    assert "| `70` |" in (tmp_path / name).read_text("utf-8")
    assert reference.main(["--check"]) == 0


def test_every_command_has_a_section_with_its_own_options() -> None:
    page = reference.command_line()
    section = page.partition("\n## resume\n")[2].partition("\n## ")[0]
    assert "`--list`" in section
    assert "`--data-dir`" in section
    assert "| `--data-dir" not in section


def test_every_filter_field_has_a_row() -> None:
    from mcp_progress_monitor.filtering.fields import FIELDS

    page = reference.filter_fields()
    assert all(f"| `{name}` |" in page for name in FIELDS)
