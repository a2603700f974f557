"""Every listener is called, whatever the others do."""

from collections.abc import Callable

import pytest

from mcp_progress_monitor.engine.updates import Listeners, Update


@pytest.mark.announces_log("a listener failed")
def test_a_listener_that_fails_hurts_no_other_and_is_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(_update: Update) -> None:
        raise ZeroDivisionError

    listeners = Listeners()
    heard: list[Update] = []
    listeners.add(fail)
    listeners.add(heard.append)
    for _number in range(3):
        listeners.publish(Update())
    assert len(heard) == 3
    assert len(caplog.records) == 1


def test_a_listener_may_leave_while_it_is_reported() -> None:
    listeners = Listeners()
    heard: list[Update] = []
    leave: list[Callable[[], None]] = []

    def once(update: Update) -> None:
        heard.append(update)
        leave[0]()

    leave.append(listeners.add(once))
    listeners.add(heard.append)
    listeners.publish(Update())
    listeners.publish(Update())
    assert len(heard) == 3
