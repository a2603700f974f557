"""Readings of agents are logged, and refused once the user has turned them off."""

import json
import threading
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError
from mcp_types import Implementation

from mcp_progress_monitor.agents import auditing
from mcp_progress_monitor.agents.auditing import Auditing
from mcp_progress_monitor.agents.server import made
from mcp_progress_monitor.agents.sources import Sources
from mcp_progress_monitor.audit.access import turn
from mcp_progress_monitor.audit.log import AuditedAgent, AuditLog, AuditReader
from tests.patience import PATIENCE_S
from tests.taps import HandTap
from tests.unit.agents.recorded import asked, asking, finished, live, refused
from tests.unit.serving.recordings import call


def agent(folder: Path) -> AuditedAgent:
    (found,) = AuditReader(folder).read()
    return found


async def turned_off(client: Client, tool: str, **arguments: Any) -> str:
    """The error of a request that is refused."""
    with pytest.raises(MCPError) as error:
        await client.call_tool(tool, arguments)
    return error.value.error.message


async def test_each_answer_is_logged_with_the_servers_and_jobs_in_it(tmp_path: Path) -> None:
    finished(tmp_path, "a")
    finished(tmp_path, "b")
    async with asking(tmp_path, "a") as client:
        (job,) = (await asked(client, "jobs", states=["done"]))["jobs"]
        await asked(client, "job", job=job["job"])
        await client.read_resource("recording://r1/jobs")
        found = agent(tmp_path)
        assert found.is_live
    assert found.beginning.servers == ("a",)
    first, second, third = found.readings
    assert (first.what, json.loads(first.arguments)) == ("jobs", {"states": ["done"]})
    assert (first.servers, first.jobs) == (("a",), (job["job"],))
    assert (second.what, second.servers, second.jobs) == ("job", ("a",), (job["job"],))
    assert third.what == "recording://r1/jobs"
    assert third.servers in {("a",), ()}  # r1 is one of the two
    assert min(first.size, second.size) > 100
    assert agent(tmp_path).ended_when is not None


async def test_the_name_of_the_client_is_logged(tmp_path: Path) -> None:
    info = Implementation(name="claude-code", title="Claude Code", version="2.1")
    server = made(Sources(tmp_path), Auditing(tmp_path))
    async with Client(server, client_info=info) as client:
        await asked(client, "jobs")
        name = agent(tmp_path).name
    assert name is not None
    assert (name.name, name.title, name.version) == ("claude-code", "Claude Code", "2.1")


async def test_secrets_in_arguments_are_not_logged_and_long_ones_are_cut(tmp_path: Path) -> None:
    secret = "sk-ant-REDACTED"
    async with asking(tmp_path) as client:
        await refused(client, "job", job=f"password={secret}")
        await refused(client, "job", job="x" * 10_000)
    first, second = agent(tmp_path).readings
    assert secret not in agent(tmp_path).path.read_text()
    assert (first.outcome, second.outcome) == ("failed", "failed")
    assert len(second.arguments) <= 300


async def test_nothing_is_read_after_the_user_turned_it_off(tmp_path: Path) -> None:
    finished(tmp_path)
    async with asking(tmp_path) as client:
        await asked(client, "jobs")
        turn(tmp_path, is_on=False)
        refusal = await turned_off(client, "jobs")
        with pytest.raises(MCPError, match="turned off"):
            await client.read_resource("jobs://running")
        assert (await client.list_tools()).tools
        turn(tmp_path, is_on=True)
        assert (await asked(client, "jobs"))["jobs"]
    assert "Nothing was read" in refusal
    outcomes = [each.outcome for each in agent(tmp_path).readings]
    assert outcomes == ["answered", "refused", "refused", "answered"]
    assert agent(tmp_path).readings[1].servers == ()


async def test_one_agent_is_turned_off_by_its_name(tmp_path: Path) -> None:
    one, other = (
        Client(
            made(Sources(tmp_path), Auditing(tmp_path)),
            client_info=Implementation(name=name, version="1"),
        )
        for name in ("cursor", "zed")
    )
    async with one, other:
        turn(tmp_path, is_on=False, name="cursor")
        assert "for cursor" in await turned_off(one, "jobs")
        await asked(other, "jobs")


async def test_a_wait_ends_when_reading_is_turned_off(tmp_path: Path) -> None:
    tap = HandTap(live(tmp_path))
    tap.write(tap.opened(), tap.handshake(), tap.sent(call(1, token="a")))
    async with asking(tmp_path) as client:
        (job,) = (await asked(client, "jobs"))["jobs"]
        with anyio.fail_after(PATIENCE_S):
            async with anyio.create_task_group() as tasks:

                async def wait() -> None:
                    assert "turned off" in await turned_off(
                        client, "wait", job=job["job"], timeout_s=3600
                    )

                tasks.start_soon(wait)
                await anyio.sleep(0.3)
                turn(tmp_path, is_on=False)
    tap.lock.release()


async def test_a_switch_that_cannot_be_read_is_off(tmp_path: Path) -> None:
    turn(tmp_path, is_on=True, name="zed")
    (tmp_path / "agents" / "access.json").write_text("?")
    async with asking(tmp_path) as client:
        assert "Cannot read the switch" in await turned_off(client, "jobs")


async def test_an_answer_comes_though_the_log_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> bool:
        raise OSError(28, "No space left on device")

    finished(tmp_path)
    async with asking(tmp_path) as client:
        monkeypatch.setattr(AuditLog, "_appended", full)
        assert (await asked(client, "jobs"))["jobs"]
        monkeypatch.undo()
        await asked(client, "servers")
    assert [(each.what, each.missed) for each in agent(tmp_path).readings] == [("servers", 1)]


async def test_an_answer_does_not_wait_for_a_disk_that_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on = threading.Event()

    def hanging(self: AuditLog, lines: object) -> bool:
        return goes_on.wait(PATIENCE_S)

    monkeypatch.setattr(auditing, "_LOG_S", 0.05)
    async with asking(tmp_path) as client:
        monkeypatch.setattr(AuditLog, "_appended", hanging)
        with anyio.fail_after(PATIENCE_S / 2):
            await asked(client, "jobs")
            await asked(client, "jobs")
        goes_on.set()
        monkeypatch.undo()
        with anyio.fail_after(PATIENCE_S):
            while not (readings := agent(tmp_path).readings):
                await asked(client, "servers")
    assert readings[0].missed >= 1
