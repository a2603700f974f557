"""Texts of a form have the formats that their fields ask for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.sessions.questions.answers import format_violations


def _found(wanted: str, value: object) -> list[str]:
    return format_violations(
        {"properties": {"f": {"type": "string", "format": wanted}}}, {"f": value}
    )


@pytest.mark.parametrize(
    ("wanted", "value"),
    [
        ("email", "ada@example.com"),
        ("uri", "https://example.com/a?b"),
        ("uri", "urn:isbn:1"),
        ("date", "2026-07-28"),
        ("date-time", "2026-07-28T12:00:00Z"),
        ("date-time", "2026-07-28T12:00:00.25+02:00"),
        ("colour", "anything"),
        ("email", 7),
    ],
)
def test_what_has_its_format_fits(wanted: str, value: object) -> None:
    assert _found(wanted, value) == []


@pytest.mark.parametrize(
    ("wanted", "value"),
    [
        ("email", "ada"),
        ("email", "a b@c"),
        ("uri", "no address"),
        ("uri", "http://[broken"),
        ("date", "2026-02-30"),
        ("date", "28.7.2026"),
        ("date-time", "2026-07-28T12:00:00"),
        ("date-time", "2026-07-28T25:00:00Z"),
    ],
)
def test_what_has_not_is_named_with_its_field(wanted: str, value: str) -> None:
    [text] = _found(wanted, value)
    assert text.startswith(f"f: {value!r} is not a valid ")


@given(st.sampled_from(["email", "uri", "date", "date-time"]), st.text())
def test_no_text_breaks_the_check(wanted: str, value: str) -> None:
    assert len(_found(wanted, value)) <= 1


@pytest.mark.parametrize("schema", [{}, {"properties": 3}, {"properties": {"f": "text"}}])
def test_a_schema_without_fields_asks_for_nothing(schema: dict[str, object]) -> None:
    assert format_violations(schema, {"f": "x"}) == []
