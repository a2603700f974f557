"""Jobs that wait for their server to come back."""

import anyio

from mcp_progress_monitor.clock import Clock
from mcp_progress_monitor.engine.resumer import ReconnectWait
from mcp_progress_monitor.protocol.eras import ClientIdentity
from mcp_progress_monitor.protocol.framing import FrameNumbers
from mcp_progress_monitor.protocol.peer import TokenSource
from mcp_progress_monitor.sessions.connection.asking import SecretsAtConnect
from mcp_progress_monitor.sessions.connection.connector import Connector
from mcp_progress_monitor.sessions.connection.manager import SessionManager
from mcp_progress_monitor.snapshots.definitions import RestartPolicy, StdioDefinition
from mcp_progress_monitor.store.chains import Origin
from tests.unit.sessions.playbook import Log
from tests.unit.sessions.questioned import broker

DEFINITION = StdioDefinition(name="s", command="c")
ORIGIN = Origin(
    "s", DEFINITION.fingerprint, DEFINITION.model_dump_json(), "2025-11-25", "tools/call", {}
)


def nobody(_name: str) -> None:
    """Gets the changes."""


def waiting() -> tuple[ReconnectWait, SessionManager]:
    """Job 1, whose server has ended and waits for its next attempt."""
    manager = SessionManager(
        ClientIdentity({}, {}),
        FrameNumbers(),
        TokenSource(0),
        Clock(),
        Log().take,
        nobody,
        broker(),
        reconnects=True,
    )
    manager.add(DEFINITION)
    secrets = SecretsAtConnect()
    connector = Connector(
        manager, Clock(), nobody, nobody, lambda _: None, secrets, reconnects=True
    )
    reconnecting = manager.reconnecting("s")
    reconnecting.begin()
    reconnecting.connected(0.0)
    reconnecting.ended(RestartPolicy(first_delay_s=7), 1.0)
    return ReconnectWait(manager, connector, {1: ORIGIN}), manager


def test_a_jobs_server_comes_back_at_its_time() -> None:
    comebacks, _ = waiting()
    assert comebacks.is_due(1)
    assert comebacks.due_at(1) == 8.0
    assert not comebacks.is_due(2)
    assert comebacks.due_at(2) is None


async def test_a_job_whose_server_is_there_does_not_wait() -> None:
    comebacks, manager = waiting()
    manager.reconnecting("s").begin()
    manager.reconnecting("s").connected(2.0)
    assert await comebacks.over(1, anyio.Event())


async def test_a_job_whose_server_was_given_up_is_not_gone_on_with() -> None:
    comebacks, manager = waiting()
    outcomes: list[bool] = []

    async def wait() -> None:
        outcomes.append(await comebacks.over(1, anyio.Event()))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        assert outcomes == []
        manager.reconnecting("s").stop()
    assert outcomes == [False]


async def test_someone_may_want_it_now() -> None:
    comebacks, _ = waiting()
    wake = anyio.Event()
    wake.set()
    with anyio.fail_after(5):
        assert await comebacks.over(1, wake)
