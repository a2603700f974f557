"""The time for connecting, which stands still while the user signs in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from app.sessions import connect_limit
from app.sessions.connect_limit import ConnectLimit, not_signed_in

if TYPE_CHECKING:
    import pytest


async def test_the_limit_ends_what_takes_longer() -> None:
    limit = ConnectLimit(0.01)
    with limit.scope:
        await anyio.sleep(5)
    assert limit.scope.cancelled_caught
    assert not limit.is_held


async def test_it_stands_still_while_it_is_held_and_then_goes_on() -> None:
    limit = ConnectLimit(0.05)
    with limit.scope:
        limit.hold()
        limit.hold()
        await anyio.sleep(0.1)
        assert limit.is_held
        limit.release()
        limit.release()
        await anyio.sleep(5)
    assert limit.scope.cancelled_caught


async def test_a_sign_in_has_a_limit_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect_limit, "SIGN_IN_S", 0.02)
    monkeypatch.setattr(connect_limit, "_LATER_S", 0.0)
    limit = ConnectLimit(5)
    with limit.scope:
        limit.hold()
        await anyio.sleep(5)
    assert limit.scope.cancelled_caught
    assert limit.is_held


async def test_a_sign_in_that_nobody_makes_ends_before_the_limit_of_connecting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connect_limit, "SIGN_IN_S", 0.02)
    limit, ended = ConnectLimit(60), False
    with limit.scope:
        limit.hold()
        with anyio.move_on_after(connect_limit.SIGN_IN_S):
            await anyio.Event().wait()
        ended = True
        limit.release()
    assert ended
    assert not limit.scope.cancelled_caught


def test_the_problem_says_how_long_was_waited() -> None:
    assert "5 min" in not_signed_in("http://a/mcp").what
