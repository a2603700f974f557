"""Files of variables, as the usual loaders read them."""

from pathlib import Path

import pytest

from mcp_progress_monitor.catalogue import reading
from mcp_progress_monitor.catalogue.reading import read_env_file
from mcp_progress_monitor.errors import UserError


@pytest.mark.parametrize(
    ("line", "variables"),
    [
        ("A=1", {"A": "1"}),
        ("export A = 1 ", {"A": "1"}),
        ("A=", {"A": ""}),
        ("A=b=c", {"A": "b=c"}),
        ("A=x # why", {"A": "x"}),
        ("A=x#y", {"A": "x#y"}),
        ('A="x # y"', {"A": "x # y"}),
        (r'A="a\nb\"c\\"', {"A": 'a\nb"c\\'}),
        (r"A='a\nb'", {"A": r"a\nb"}),
        ('A="open', {"A": '"open'}),
        ("# A=1", {}),
        ("no variable", {}),
        ("1A=x", {}),
        ("A=x\0y", {}),
        ("", {}),
    ],
)
def test_a_line_is_a_variable_or_nothing(
    tmp_path: Path, line: str, variables: dict[str, str]
) -> None:
    file = tmp_path / ".env"
    file.write_text(line)
    assert read_env_file(file) == variables


def test_a_file_that_is_too_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_LARGEST_CHARACTERS", 10)
    file = tmp_path / ".env"
    file.write_text("A=12345678901")
    with pytest.raises(UserError):
        read_env_file(file)
