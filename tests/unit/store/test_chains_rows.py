"""Whatever JSON holds, and whatever a server says, comes back from the disk as it was."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.protocol.jsonrpc import canonical
from mcp_progress_monitor.store import chains
from mcp_progress_monitor.store.chains import (
    Origin,
    SavedAttempt,
    SavedChain,
    SavedOutcome,
    SavedProgress,
)
from tests.unit.store.samples import ORIGIN, begun, opened, query

# Surrogates and NUL included: a server may send any of them.
TEXT = st.text(st.characters(exclude_categories=()))
NUMBERS = st.integers() | st.integers(-(10**60), 10**60) | st.floats(allow_nan=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda below: st.lists(below, max_size=4) | st.dictionaries(TEXT, below, max_size=4),
    max_leaves=20,
)


def _round_trip(origin: Origin, token: str, standing: SavedProgress, reason: str) -> SavedChain:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.row_factory = sqlite3.Row
        connection.executescript(chains.MIGRATIONS[0])
        chain = chains.add_chain(connection, origin, standing, 1.0, 2.0)
        chains.add_token(connection, chain, token, 2.0)
        chains.rest(connection, chain, standing, reason, 3.0)
        row = chains.row_of(connection, chain)
        assert row is not None
        return chains.chain_of(row, is_elsewhere=False)


@given(params=st.dictionaries(TEXT, JSON, max_size=5))
def test_params_come_back_byte_for_byte(params: dict[str, Any]) -> None:
    origin = Origin("s", "k", "{}", "r", "m", params)
    back = _round_trip(origin, "t", SavedProgress(), "").origin.params
    assert canonical(back) == canonical(params)
    assert json.dumps(back) == json.dumps(params)


@given(progress=st.none() | NUMBERS, total=st.none() | NUMBERS)
def test_numbers_come_back_with_value_and_type(progress: float | None, total: float | None) -> None:
    back = _round_trip(ORIGIN, "t", SavedProgress(progress, total), "").standing
    assert (repr(back.progress), repr(back.total)) == (repr(progress), repr(total))


@pytest.mark.parametrize(
    "number",
    [0, -0.0, 1.0, 1, 2**63, 2**64 + 1, -(2**70), 10**400, 0.1 + 0.2, 5e-324, 1e308, float("inf")],
)
def test_awkward_numbers_come_back_with_value_and_type(number: float) -> None:
    origin = Origin("s", "k", "{}", "r", "m", {"n": number})
    back = _round_trip(origin, "t", SavedProgress(number), "")
    assert repr(back.standing.progress) == repr(number)
    assert repr(back.origin.params["n"]) == repr(number)


@given(text=TEXT)
def test_any_text_comes_back(text: str) -> None:
    origin = Origin(text, text, text, text, text, {})
    back = _round_trip(origin, text, SavedProgress(message=text), text)
    assert back.origin == origin
    assert (back.token, back.reason, back.standing.message) == (text, text, text)


def test_deep_params_come_back() -> None:
    deep: dict[str, Any] = {}
    for _ in range(400):
        deep = {"a": deep}
    back = _round_trip(Origin("s", "k", "{}", "r", "m", deep), "t", SavedProgress(), "")
    assert back.origin.params == deep


@pytest.mark.parametrize(
    ("is_abandoned", "outcome"), [(False, SavedOutcome.RUNNING), (True, SavedOutcome.INTERRUPTED)]
)
def test_an_attempt_of_a_program_that_is_gone_was_interrupted(
    is_abandoned: bool, outcome: SavedOutcome
) -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.row_factory = sqlite3.Row
        connection.executescript(chains.MIGRATIONS[0])
        chain = chains.add_chain(connection, ORIGIN, SavedProgress(), 1.0, 2.0)
        chains.add_attempt(connection, chain, "me", 5.0)
        (row,) = chains.attempts_of(connection, chain)
        attempt = chains.attempt_of(row, is_abandoned=is_abandoned)
    assert attempt == SavedAttempt(1, 5.0, None, outcome, "")


@pytest.mark.parametrize(
    ("column", "value", "fault"),
    [
        ("origin", "[", "origin: not valid JSON: EOF while parsing a list at line 1 column 1"),
        ("origin", '["s"]', "origin: missing"),
        ("origin", '["s","k","{}","r",7,{}]', "origin: must be a string"),
        ("origin", '["s","k","{}","r","m",[]]', "origin: must be an object"),
        ("standing", '["5",null,null]', "standing: must be an integer"),
        ("reason", "7", "reason: must be a string"),
        ("created_when", "today", "created_when: must be a number"),
        ("updated_when", float("inf"), "updated_when: must be a finite number"),
    ],
)
async def test_the_fault_of_a_damaged_chain_is_named_by_its_column(
    tmp_path: Path, column: str, value: object, fault: str
) -> None:
    async with opened(tmp_path) as store:
        chain = await begun(store, "token")
        query(tmp_path, f"UPDATE chains SET {column} = ? RETURNING 1", value)  # noqa: S608
        with pytest.raises(UserError, match="cannot be read") as caught:
            await store.start_attempt(chain, when=2.0)
        assert caught.value.details.detail == fault
