"""Text is sent without secrets, bounded and valid; numbers as OTLP can carry them."""

import math

from mcp_progress_monitor import telemetry_names as names
from mcp_progress_monitor.telemetry.signals import TEXT_LIMIT, Texts, state_of
from tests.job_stand_ins import job

_SECRET = "sk-ant-api03-Zq7XvHunter2Zq7XvHunter2Zq7XvHunter2"


def test_text_is_bounded_and_has_no_half_surrogates() -> None:
    texts = Texts()
    assert len(texts.text("a" * 1_000_000)) <= TEXT_LIMIT
    assert texts.text("a\ud800b").encode() == b"a\\ud800b"
    assert texts.content({"a": "\ud800"}).encode() == '{"a": "\N{REPLACEMENT CHARACTER}"}'.encode()
    assert "\x1b" not in texts.text("\x1b[31mred")


def test_a_secret_that_is_cut_off_is_not_sent() -> None:
    text = "x" * (TEXT_LIMIT - 20) + f" {_SECRET} and more"
    assert "sk-ant" not in Texts().text(text)


def test_an_address_has_no_credentials() -> None:
    clean = Texts().name(f"https://user:{_SECRET}@example.org/a?api_key={_SECRET}", "uri")
    assert _SECRET not in clean
    assert "example.org" in clean


def test_numbers_that_are_no_numbers_are_left_out() -> None:
    found = state_of(job(progress=10**400, total=1.5, fraction=None, eta_s=math.inf), Texts())
    assert names.PROGRESS not in found
    assert names.TIME_LEFT not in found
    assert found[names.TOTAL] == 1.5


def test_names_are_cleaned_once_and_not_kept_for_ever() -> None:
    texts = Texts()
    for number in range(2_100):
        texts.name(f"tool-{number}")
    assert texts.name("tool-1") == "tool-1"
