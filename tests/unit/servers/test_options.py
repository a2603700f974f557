"""The command line says what it means, or why it cannot."""

from __future__ import annotations

import pytest

from mcp_progress_monitor.demo.eras import ERAS
from tests.servers.options import PROFILES, parse


def test_the_default_is_polite_and_speaks_everything() -> None:
    options = parse([])
    assert options.profile == "polite"
    assert options.versions == ERAS["both"]
    assert not options.ignores_eof


@pytest.mark.parametrize("profile", PROFILES)
def test_every_profile_is_understood(profile: str) -> None:
    options = parse(["--profile", profile])
    for name, value in PROFILES[profile].items():
        assert getattr(options, name) == value


def test_an_option_wins_over_its_profile() -> None:
    assert parse(["--profile", "slow-start", "--start-delay", "0.1"]).start_delay_s == 0.1


def test_versions_can_be_picked() -> None:
    options = parse(["--protocol-version", "2025-06-18", "--protocol-version", "2024-11-05"])
    assert options.versions == ("2024-11-05", "2025-06-18")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--era", "per-request", "--protocol-version", "2025-06-18"], "2025-06-18"),
        (["--profile", "angry"], "angry"),
        (["--page-size", "-1"], "--page-size"),
        (["--start-delay", "-1"], "--start-delay"),
        (["--start-delay", "nan"], "--start-delay"),
        (["--no-such-option"], "--no-such-option"),
    ],
)
def test_nonsense_ends_with_a_message(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ending:
        parse(arguments)
    assert ending.value.code == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "port"),
    [([], None), (["--http"], 0), (["--http", "8123"], 8123), (["--sse"], 0),
     (["--sse", "--http", "8123"], 8123)],
)  # fmt: skip
def test_a_port_may_be_named_or_left_to_the_system(arguments: list[str], port: int | None) -> None:
    assert parse(arguments).http == port


@pytest.mark.parametrize(
    "arguments", [["--http", "65536"], ["--fail", "200"], ["--reply", "post"], ["--tls", "a"]]
)
def test_nonsense_about_http_ends_with_a_message(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parse(arguments)
    assert arguments[0] in capsys.readouterr().err


def test_the_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(["--help"])
    assert "python -m tests.servers --http 8123 --resumable" in capsys.readouterr().out
