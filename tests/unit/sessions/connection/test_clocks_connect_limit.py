"""The time for connecting, which stands still while the user signs in."""

import anyio
import pytest

from mcp_progress_monitor.sessions.connection import clocks
from mcp_progress_monitor.sessions.connection.clocks import ConnectLimit, not_signed_in


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
    monkeypatch.setattr(clocks, "SIGN_IN_S", 0.02)
    monkeypatch.setattr(clocks, "_AFTER_SIGN_IN_S", 0.0)
    limit = ConnectLimit(5)
    with limit.scope:
        limit.hold()
        await anyio.sleep(5)
    assert limit.scope.cancelled_caught
    assert limit.is_held


async def test_a_sign_in_that_nobody_makes_ends_before_the_limit_of_connecting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(clocks, "SIGN_IN_S", 0.02)
    limit, ended = ConnectLimit(60), False
    with limit.scope:
        limit.hold()
        with anyio.move_on_after(clocks.SIGN_IN_S):
            await anyio.Event().wait()
        ended = True
        limit.release()
    assert ended
    assert not limit.scope.cancelled_caught


def test_the_error_says_how_long_was_waited() -> None:
    assert "5 min" in not_signed_in("http://a/mcp").what


class Limited(ConnectLimit):
    """A limit whose deadline is read instead of waited for."""

    @property
    def ends_after_s(self) -> float:
        """Seconds from its beginning."""
        return self.scope.deadline - self.began_at


async def test_without_a_choice_a_process_may_take_longer_than_a_url() -> None:
    assert Limited(None).ends_after_s == pytest.approx(15, abs=1)
    assert Limited(None, has_process=True).ends_after_s == pytest.approx(30, abs=1)


async def test_signs_of_life_make_it_longer_up_to_a_minute() -> None:
    limit = Limited(None, has_process=True)
    limit.note_stderr(1)
    assert limit.ends_after_s == pytest.approx(30, abs=1)
    limit.began_at -= 25  # as if that had passed
    limit.scope.deadline -= 25
    limit.note_stderr(1)
    assert limit.ends_after_s == pytest.approx(25 + 14, abs=1)
    limit.note_start()
    assert limit.ends_after_s == pytest.approx(25 + 30, abs=1)
    limit.began_at -= 30
    limit.scope.deadline -= 30
    limit.note_stderr(0)
    assert limit.ends_after_s == pytest.approx(60, abs=1)


async def test_a_chosen_limit_is_kept_whatever_comes() -> None:
    limit = Limited(5, has_process=True)
    limit.note_stderr(0)
    limit.note_start()
    assert limit.ends_after_s == pytest.approx(5, abs=0.1)
    assert limit.renew() is None


async def test_after_its_end_one_more_start_has_what_is_left() -> None:
    limit = Limited(None, has_process=True)
    limit.began_at -= 50
    assert limit.renew() is limit.scope
    assert limit.left_s == pytest.approx(10, abs=1)
    limit.began_at -= 10
    assert limit.renew() is None
