"""Regular expressions end within their limit of time and of memory."""

import contextlib
import subprocess
import sys

import pytest

from mcp_progress_monitor import paths
from mcp_progress_monitor.timed_regex import LONGEST, BadPatternError, compiled_pattern, is_match

RUNAWAYS = [
    ("^(a|aa)+$", "a" * 60 + "!"),
    ("(x+x+)+y", "x" * 3_000),
    ("^(a+b?)+$", "a" * 40 + "!"),
    ("^((a+))+$", "a" * 40 + "!"),
    (r"^(\w+\s?)*$", "a" * 40 + "!"),
    ("a*a*a*a*a*a*b", "a" * 5_000),
    ("(?:a?){500}a{500}", "a" * 500),
]


@pytest.mark.timeout(20)
@pytest.mark.parametrize(("pattern", "text"), RUNAWAYS)
def test_a_pattern_that_runs_away_ends_with_no_match_or_at_the_limit(
    pattern: str, text: str
) -> None:
    with contextlib.suppress(TimeoutError):
        assert is_match(pattern, text, 0.01) is (pattern == "(?:a?){500}a{500}")


def test_ordinary_patterns_match_as_ever() -> None:
    assert is_match("^[0-9]{4}-[0-9]{2}$", "2026-11", 1.0)
    assert not is_match("^[0-9]{4}$", "20x6", 1.0)
    assert is_match(r"^(?=.*[A-Z])(?=.*\d).{8,}$", "Passw0rd", 1.0)
    uuid = "^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
    assert is_match(uuid, "123e4567-e89b-12d3-a456-426614174000", 1.0)
    assert is_match("^.{1,60000}$", "a", 1.0)


@pytest.mark.parametrize(
    "pattern",
    [
        "x{1000000}",
        "(?:x{1000}){1000}",
        "(?:(?:x|yy){1000}){1000}",
        "x{60000}" * 200,
        "(?:" * 5 + "x" + "{60000})" * 5,
        "(?x)x{ 999999 }",
        "(?:x{300}(?#()){300}",
        "(?:x{300}[[:alpha:](]){300}",
        "x{" + "9" * 1_000 + "}",
    ],
)
def test_repetitions_that_would_take_the_memory_are_refused(pattern: str) -> None:
    with pytest.raises(BadPatternError):
        compiled_pattern(pattern)


def test_what_is_no_pattern_is_refused_with_its_place() -> None:
    with pytest.raises(BadPatternError) as caught:
        compiled_pattern("ab(")
    assert caught.value.position == 3
    with pytest.raises(BadPatternError, match="longer than"):
        compiled_pattern("a" * (LONGEST + 1))


def test_the_engine_is_loaded_by_the_first_pattern() -> None:
    code = "import sys, mcp_progress_monitor.timed_regex; sys.exit('regex' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], cwd=paths.import_root(), check=True)
