"""Every distribution in a bundle comes with its notices, or no bundle is made."""

import sys
from pathlib import Path

import pytest

import licences
from licences import Content
from system import SetupError

PYTHON = Path(sys.executable)


def test_all_that_the_program_needs_here_has_a_notice(tmp_path: Path) -> None:
    licences.write(tmp_path / "licences", PYTHON)
    names = {
        path.name.rpartition("-")[0] or path.name: path
        for path in (tmp_path / "licences").iterdir()
    }
    assert {"anyio", "click", "pydantic-core", "jsonschema-rs"} <= names.keys()
    assert not {"pytest", "mypy", "hypothesis", "ruff"} & names.keys()
    qt = names["pyside6-essentials"]
    assert "GNU LESSER GENERAL PUBLIC LICENSE" in (qt / "LGPL-3.0.txt").read_text("utf-8")
    assert "complete copy of the corresponding source" in (qt / "Qt.txt").read_text("utf-8")
    assert "SIL OPEN FONT LICENSE" in (names["Noto"] / "OFL.txt").read_text("utf-8")
    assert (tmp_path / "licences" / "Python" / "LICENSE.txt").stat().st_size


def test_a_distribution_without_a_notice_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = Content("bare", "1.0", "", "", "", ())
    monkeypatch.setattr(licences, "contents", lambda _: [bare])
    with pytest.raises(SetupError, match=r"bare 1\.0 has no licence file"):
        licences.write(tmp_path / "licences", PYTHON)
