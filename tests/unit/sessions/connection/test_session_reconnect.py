"""When servers that ended by themselves are connected again."""

import anyio
import pytest

from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.sessions.connection.session import ReconnectPolicy
from mcp_progress_monitor.snapshots.definitions import RestartPolicy
from mcp_progress_monitor.snapshots.servers import Retry

POLICY = RestartPolicy(first_delay_s=1, longest_delay_s=5, limit=4, calm_s=60)
LAST = ErrorDetails("The server exited with exit code 4", "run-it", "Look.", "last words")


class Server:
    """A server's ends and connections, at the times that a test tells."""

    def __init__(self, policy: RestartPolicy = POLICY, *, is_on: bool = True) -> None:
        self.policy = policy
        self.reconnecting = ReconnectPolicy("s", is_on=is_on)
        self.now = 0.0

    def comes_up(self) -> None:
        self.reconnecting.begin()
        self.reconnecting.connected(self.now)

    def ends(self, after_s: float = 1.0) -> Retry | None:
        self.now += after_s
        self.reconnecting.ended(self.policy, self.now)
        return self.reconnecting.retry

    def fails(self) -> Retry | None:
        """An attempt is made, and comes to nothing."""
        self.reconnecting.begin()
        return self.ends()

    def retry(self) -> Retry | None:
        return self.reconnecting.retry

    def is_dismissed(self) -> bool:
        return self.reconnecting.is_dismissed

    def delay_s(self) -> float:
        assert self.reconnecting.retry is not None
        assert self.reconnecting.retry.due_at is not None
        return self.reconnecting.retry.due_at - self.now


def test_a_server_that_ended_is_due_after_the_first_delay() -> None:
    server = Server()
    server.comes_up()
    assert server.ends() == Retry(1, 4, 2.0)
    assert server.reconnecting.is_waiting


def test_delays_double_up_to_the_longest_and_end_at_the_limit() -> None:
    server = Server()
    server.comes_up()
    server.ends()
    delays = [server.delay_s()]
    for _attempt in range(3):
        server.fails()
        delays.append(server.delay_s())
    assert delays == [1, 2, 4, 5]
    assert server.fails() is None
    assert not server.reconnecting.is_reconnecting


def test_a_connection_that_does_not_last_counts_like_a_failed_attempt() -> None:
    server = Server()
    numbers = []
    for _time in range(4):
        server.comes_up()
        retry = server.ends(after_s=59)
        numbers.append(retry.number if retry else None)
    assert numbers == [1, 2, 3, 4]
    server.comes_up()
    assert server.ends(after_s=59) is None
    assert server.reconnecting.restarts == 4


def test_a_calm_time_begins_the_count_again() -> None:
    server = Server()
    for after_s in (1, 1, 60):
        server.comes_up()
        retry = server.ends(after_s)
    assert retry == Retry(1, 4, server.now + 1)


def test_a_server_that_never_came_up_is_not_tried_again() -> None:
    assert Server().fails() is None


@pytest.mark.parametrize(
    "server", [Server(is_on=False), Server(RestartPolicy(is_on=False))], ids=["monitor", "policy"]
)
def test_nothing_is_due_where_that_is_not_wanted(server: Server) -> None:
    server.comes_up()
    assert server.ends() is None
    assert server.reconnecting.outlook(server.now) == ""


def test_an_end_is_decided_on_once_however_often_it_is_reported() -> None:
    server = Server()
    server.comes_up()
    first = server.ends()
    assert server.ends() == first


def test_while_the_attempt_is_made_nothing_is_due() -> None:
    server = Server()
    server.comes_up()
    server.ends()
    server.reconnecting.begin()
    assert server.retry() == Retry(1, 4, None)
    assert not server.reconnecting.is_waiting
    assert server.reconnecting.is_reconnecting
    server.reconnecting.connected(server.now)
    assert server.retry() is None
    assert server.reconnecting.restarts == 1


def test_stopping_dismisses_what_waited_and_begins_a_new_row() -> None:
    server = Server()
    server.comes_up()
    server.ends()
    server.reconnecting.stop()
    assert server.is_dismissed()
    assert not server.reconnecting.is_reconnecting
    server.comes_up()
    assert not server.is_dismissed()
    assert server.ends() == Retry(1, 4, server.now + 1)


def test_a_server_stopped_by_the_user_is_not_reconnected() -> None:
    server = Server()
    server.comes_up()
    server.reconnecting.stop()
    assert server.ends() is None
    assert not server.reconnecting.is_dismissed


def test_a_restart_is_no_end_and_begins_a_new_row() -> None:
    server = Server()
    server.comes_up()
    server.ends()
    server.reconnecting.restarting()
    assert server.ends() is None
    assert server.reconnecting.is_reconnecting
    server.comes_up()
    assert server.reconnecting.restarts == 1
    assert server.ends() == Retry(1, 4, server.now + 1)


def test_a_restart_that_fails_is_not_tried_again() -> None:
    server = Server()
    server.comes_up()
    server.reconnecting.restarting()
    assert server.fails() is None
    server.reconnecting.not_restarted()
    assert not server.reconnecting.is_reconnecting


def test_the_longest_row_has_delays_that_are_numbers() -> None:
    server = Server(RestartPolicy(limit=1000, longest_delay_s=7))
    server.comes_up()
    server.ends()
    for _attempt in range(999):
        server.fails()
    assert server.delay_s() == 7
    assert server.reconnecting.retry is not None
    assert server.reconnecting.retry.number == 1000


def test_those_who_waited_are_reported_what_comes_next() -> None:
    server = Server()
    server.comes_up()
    server.ends()
    assert server.reconnecting.outlook(server.now).startswith(
        "Reconnecting in 1 s (attempt 1 of 4): then resume"
    )
    server.reconnecting.restarting()
    assert "Restarting now" in server.reconnecting.outlook(server.now)


def test_the_error_after_the_limit_says_how_often_and_why_it_failed_last() -> None:
    server = Server(RestartPolicy(limit=2))
    server.comes_up()
    server.ends()
    assert server.reconnecting.error(LAST) == LAST
    server.fails()
    server.fails()
    reported = server.reconnecting.error(LAST)
    assert reported is not None
    assert reported.what == "The server was reconnected 2 times in a row and failed each time"
    assert reported.where == "run-it"
    assert reported.detail == "Last failure: The server exited with exit code 4\nlast words"
    assert "2 times in a row" in server.reconnecting.outlook(server.now)
    server.reconnecting.begin()
    assert server.reconnecting.error(LAST) == LAST


async def test_whoever_waits_is_woken_by_each_change() -> None:
    server = Server()
    server.comes_up()
    server.ends()
    woken = anyio.Event()

    async def wait() -> None:
        while server.reconnecting.is_reconnecting:
            await server.reconnecting.changed()
        woken.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        server.reconnecting.begin()
        await anyio.wait_all_tasks_blocked()
        assert not woken.is_set()
        server.reconnecting.connected(server.now)
        with anyio.fail_after(5):
            await woken.wait()


def test_an_attempt_that_is_refused_is_the_last_and_the_server_says_why() -> None:
    server = Server()
    server.comes_up()
    assert server.ends() is not None
    server.reconnecting.refused(ErrorDetails("not agreed to"))
    assert server.retry() is None
    assert not server.reconnecting.is_reconnecting
    assert server.reconnecting.error(LAST) == ErrorDetails(
        "not agreed to", detail="Before that: The server exited with exit code 4"
    )
    server.reconnecting.begin()
    assert server.reconnecting.error(LAST) == LAST
