"""The line with a mistake is shown; a secret that stands in it is not."""

import pytest

from mcp_progress_monitor.catalogue.documents import excerpt


def test_the_place_is_marked_within_a_long_line() -> None:
    line = "a" * 100 + "!" + "b" * 100
    shown, mark = excerpt(f"x\n{line}\r\ny", 2, 101).split("\n")
    assert len(shown) == 60
    assert shown[mark.index("^")] == "!"


@pytest.mark.parametrize(
    "line",
    [
        '{"GITHUB_TOKEN": "hush" "a": 1}',
        '"GITHUB_TOKEN": "hush',
        '"GITHUB_TOKEN": hush,',
        '"GITHUB_TOKEN: "hush",',
        'GITHUB_TOKEN = "hush" x',
        "api_key = 'hush' x",
        '"args": ["--api-key", "hush" "x"]',
        '"args": ["--api-key=hush" "x"]',
        '"args": ["-e", "PASSWORD=hush" "x"]',
        '"args": ["postgres://u:hush@h/db" "x"]',
        '"headers": {"Authorization": "Bearer hush" "x"}',
    ],
)
def test_secrets_are_covered_and_everything_stays_in_its_place(line: str) -> None:
    shown = excerpt(line, 1, 2).split("\n")[0]
    assert "hush" not in shown
    assert len(shown) == len(line)
    assert shown[:3] == line[:3]


@pytest.mark.parametrize(
    "line",
    ['{"command": "npx" "args": ["-y", "x"]}', '"TOKEN": "${env:TOKEN}", "a": x', "]", '"a\\'],
)
def test_all_else_is_shown_as_it_stands(line: str) -> None:
    assert excerpt(line, 1, 1).split("\n")[0] == line


def test_a_secret_before_what_is_shown_of_the_line_covers_what_is_its() -> None:
    line = '"API_KEY": "' + "hush" * 50 + '" x'
    assert "hush" not in excerpt(line, 1, len(line))
