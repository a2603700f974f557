"""The table of texts has what a user sees, and nothing else."""

import sys
from pathlib import Path

import pytest

import texts

_MODULE = '''
"""A docstring nobody sees."""
_log.warning("A record of the log")
label: "A forward reference" = "&Resume"
tip = f"Resume {count} jobs"
key = "jobs.resume"
query = "SELECT name FROM jobs"
pattern = re.compile("two words")
'''


def test_only_what_a_user_may_see_is_a_text(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text(_MODULE)
    assert list(texts.texts_of(module)) == [(4, "&Resume"), (5, "Resume {…} jobs")]


def test_the_table_names_module_and_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["texts.py", str(texts.PACKAGE / "gui" / "tool_bar.py")])
    texts.main()
    rows = capsys.readouterr().out.splitlines()
    assert rows
    assert all(row.startswith("gui/tool_bar.py:") and "\t" in row for row in rows)
