"""Values are checked where they come in, converted, and written again as they were."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from mcp_progress_monitor.snapshots.validated import (
    Check,
    InvalidValueError,
    Validated,
    anything,
    entries_of,
    flag,
    integer,
    items_of,
    nested,
    number,
    one_of,
    optional,
    text,
)

if TYPE_CHECKING:
    from collections.abc import Mapping


class _Inner(Validated):
    size: int = 1

    forbids_others: ClassVar[bool] = True
    checks: ClassVar[Mapping[str, Check]] = {"size": integer(least=1, most=9)}


class _Outer(Validated):
    name: str
    words: tuple[str, ...] = ()
    inner: _Inner = _Inner()
    env: dict[str, Any] = dataclasses.field(default_factory=dict)
    note: str | None = None

    checks: ClassVar[Mapping[str, Check]] = {
        "name": text(is_needed=True),
        "words": items_of(text(), "must be a list of strings"),
        "inner": nested(_Inner),
        "env": entries_of(text(is_needed=True), anything, "must be an object"),
        "note": optional(text()),
    }


@pytest.mark.parametrize(
    ("check", "given", "held"),
    [
        (number(least=0), "2.5", 2.5),
        (number(least=0), 3, 3.0),
        (integer(least=0, most=5), "4", 4),
        (integer(least=0, most=5), 4.0, 4),
        (flag, "Yes", True),
        (flag, 0, False),
        (flag, True, True),
        (items_of(text(), ""), ["a", "b"], ("a", "b")),
        (one_of("a", "b"), "b", "b"),
        (optional(flag), None, None),
    ],
)
def test_a_value_is_converted_to_the_type_of_its_field(check: Check, given: Any, held: Any) -> None:
    found = check(given)
    assert (found, type(found)) == (held, type(held))


@pytest.mark.parametrize(
    ("check", "given", "message"),
    [
        (number(least=0), -1, "must be greater than or equal to 0"),
        (number(most=86_400_000), 1e300, "must be less than or equal to 86400000"),
        (number(above=0), 0, "must be greater than 0"),
        (number(), float("nan"), "must be a finite number"),
        (number(), 10**400, "must be a finite number"),
        (number(), "soon", "must be a number"),
        (number(), [], "must be a number"),
        (integer(least=1, most=9), 2.5, "must be an integer"),
        (integer(least=1, most=9), float("inf"), "must be an integer"),
        (integer(least=1, most=9), 10, "must be less than or equal to 9"),
        (flag, "maybe", "must be true or false"),
        (flag, 2, "must be true or false"),
        (flag, None, "must be true or false"),
        (text(), 1, "must be a string"),
        (text(), "\ud800", "must be valid UTF-8"),
        (text(is_needed=True), "", "must not be empty"),
        (one_of("a", "b"), ["a"], "must be 'a' or 'b'"),
        (items_of(text(), "must be a list"), "ab", "must be a list"),
        (entries_of(text(), text(), "must be an object"), [], "must be an object"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_reason(
    check: Check, given: Any, message: str
) -> None:
    with pytest.raises(ValueError, match="^" + message):
        check(given)


def test_everything_that_is_wrong_is_named_with_its_place() -> None:
    wrong = {"name": "", "words": ["a", 1], "inner": {"size": 0}, "env": {"": 1}}
    with pytest.raises(InvalidValueError) as caught:
        _Outer.model_validate(wrong)
    assert [error.place for error in caught.value.errors] == [
        ("name",),
        ("words", "1"),
        ("inner", "size"),
        ("env", ""),
    ]
    assert str(caught.value).startswith("name: must not be empty\nwords.1: must be a string\n")


@pytest.mark.parametrize(
    ("fields", "place", "message"),
    [
        ({}, ("name",), "missing"),
        ([], (), "must be an object"),
        ({"name": "a", "inner": {"sizes": 1}}, ("inner", "sizes"), "unknown"),
    ],
)
def test_fields_must_be_there_and_may_be_forbidden(
    fields: object, place: tuple[str, ...], message: str
) -> None:
    with pytest.raises(InvalidValueError) as caught:
        _Outer.model_validate(fields)
    assert [*caught.value.errors] == [(place, message)]


def test_what_a_newer_version_saved_is_ignored() -> None:
    assert _Outer.model_validate({"name": "a", "newer": 1}) == _Outer(name="a")


def test_what_was_written_is_read_again() -> None:
    value = _Outer(name="é", words=("a",), inner=_Inner(size=2), env={"A": {"deep": [1]}})
    written = value.model_dump_json()
    assert json.loads(written)["words"] == ["a"]
    assert written.startswith('{"name":"é","words":["a"],"inner":{"size":2}')
    assert _Outer.model_validate_json(written) == value
    assert value.model_dump()["words"] == ("a",)


def test_what_is_as_usual_or_none_can_be_left_out() -> None:
    value = _Outer(name="a", inner=_Inner(size=3))
    assert value.model_dump(exclude_defaults=True) == {"name": "a", "inner": {"size": 3}}
    assert "note" not in value.model_dump(exclude_none=True)
    assert [*value.model_dump(exclude=("name", "env"))] == ["words", "inner", "note"]


@pytest.mark.parametrize("written", ["{", b"\xff", "[" * 100_000, "null"])
def test_what_is_no_value_in_json_is_refused(written: str | bytes) -> None:
    with pytest.raises(InvalidValueError):
        _Outer.model_validate_json(written)


def test_a_copy_is_another_value_and_the_first_stays() -> None:
    value = _Outer(name="a")
    assert value.model_copy(update={"name": "b"}) == _Outer(name="b")
    assert value.name == "a"


def test_a_value_is_compared_shown_and_kept_from_changes_by_its_fields() -> None:
    inner = _Inner(size=2)
    assert inner == _Inner(size=2) != _Inner()
    assert {inner, _Inner(size=2)} == {inner}
    assert _Inner() != _Outer(name="a")
    assert repr(inner) == "_Inner(size=2)"
    assert _Outer(name="a").env is not _Outer(name="a").env
    with pytest.raises(dataclasses.FrozenInstanceError):
        inner.size = 3  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        del inner.size
    with pytest.raises(TypeError, match="name"):
        _Outer()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="length"):
        _Inner(length=1)  # type: ignore[call-arg]
