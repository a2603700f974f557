"""A server that was agreed to and has changed since: the terminal says so, and what."""

from pathlib import Path

import pytest

from mcp_progress_monitor.catalogue.catalogue import FILE_NAME, Catalogue, CatalogueEntry
from mcp_progress_monitor.catalogue.trust import FILE_NAME as TRUST
from mcp_progress_monitor.catalogue.trust import Trust
from mcp_progress_monitor.cli.entry import main
from mcp_progress_monitor.snapshots.definitions import StdioDefinition

AGREED = StdioDefinition(name="a", command="run", args=("x",), env={"TOKEN": "s3cret"})
CHANGED = AGREED.model_copy(update={"args": ("y",), "env": {"TOKEN": "0ther"}})


@pytest.mark.parametrize("args", [["tools", "--server", "a"], ["servers", "trust", "a"]])
def test_a_change_of_what_was_approved_is_reported_part_by_part(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], args: list[str]
) -> None:
    Trust(tmp_path / TRUST).approve(AGREED)
    Catalogue(tmp_path / FILE_NAME).add(CatalogueEntry(CHANGED))
    assert main([*args, "--data-dir", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "You approved a different definition of this server before" in said
    assert "Changed:   arguments, hidden value of TOKEN changed" in said
    assert "s3cret" not in said
    assert "0ther" not in said


def test_what_is_new_is_no_change(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Catalogue(tmp_path / FILE_NAME).add(CatalogueEntry(CHANGED))
    assert main(["tools", "--server", "a", "--data-dir", str(tmp_path)]) == 2
    assert "different definition" not in capsys.readouterr().err
