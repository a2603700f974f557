"""A data folder that version 0.1.0 has written opens: nothing is lost, nothing is refused."""

import json
import shutil
from pathlib import Path

import pytest

from mcp_progress_monitor.audit.access import load_access
from mcp_progress_monitor.audit.log import AuditReader
from mcp_progress_monitor.audit.settings import asks_before_actions
from mcp_progress_monitor.catalogue import machines
from mcp_progress_monitor.catalogue.machines import read_machines
from mcp_progress_monitor.clock import Clock
from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.gui.preferences import Preferences
from mcp_progress_monitor.paths import SERVER_SETTINGS
from mcp_progress_monitor.protocol.eras import Era
from mcp_progress_monitor.recording.recent import recent_recordings
from mcp_progress_monitor.secrets.token_store import TokenStore
from mcp_progress_monitor.sessions.connection import negotiation
from mcp_progress_monitor.sessions.connection.negotiation import EraMemory
from mcp_progress_monitor.snapshots.definitions import StdioDefinition
from mcp_progress_monitor.store.resumes import ResumeStore
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.architecture.source import TESTS
from tests.integration.commands import run

WRITTEN_BY_0_1_0 = TESTS / "recordings" / "data-0.1.0"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    shutil.copytree(WRITTEN_BY_0_1_0, folder)
    return folder


def test_saved_servers_and_approvals_open(data: Path) -> None:
    listed = run("servers", "list", "--json", "--data-dir", str(data))
    assert listed.code == 0, listed.err
    names = [server["name"] for server in json.loads(listed.out)["servers"]]
    assert names == ["files", "search", "docs"]
    shown = run("servers", "list", "--data-dir", str(data)).out
    states = {line.split()[0]: line for line in shown.splitlines()}
    assert "ready" in states["files"]
    assert "ready" in states["search"]  # approved with `servers trust`
    assert "disabled" in states["docs"]


def test_a_saved_resume_token_can_be_used(data: Path) -> None:
    listed = run("resume", "--list", "--data-dir", str(data))
    assert listed.code == 0, listed.err
    assert "resumable_export" in listed.out
    assert "resumable" in listed.out


async def test_the_resumable_job_is_in_the_list_of_jobs(data: Path) -> None:
    async with Engine(store=ResumeStore(data)) as engine:
        (job,) = (engine.jobs.snapshot(number) for number in engine.jobs.ids())
        assert job is not None
        assert job.state is JobState.RESUMABLE
        assert (job.progress, job.total) == (5, 20)


def test_a_recording_is_exported(data: Path) -> None:
    (recording,) = (data / "recordings").glob("*.mcprec")
    done = run("export", str(recording), "--to", "csv")
    assert done.code == 0, done.err
    assert "Chunk 5 of 20" in done.out


async def test_what_was_set_for_a_server_holds(data: Path) -> None:
    async with Engine(settings=data / SERVER_SETTINGS) as engine:
        definition = StdioDefinition(name="search", command="search-server", args=("--stdio",))
        name = engine.servers.add(definition)
        assert engine.servers.snapshot(name).settings.log_level == "warning"


def test_machines_that_were_watched_are_offered(data: Path) -> None:
    (machine,) = read_machines(data / machines.FILE_NAME)
    assert (machine.name, machine.command[0], machine.command[-1]) == ("build", "ssh", "stream")


def test_sign_ins_hold(data: Path) -> None:
    assert TokenStore(data, {}).get("https://example.com/mcp") == {"access_token": "not-a-secret"}


def test_what_agents_read_is_listed_and_stays_turned_off(data: Path) -> None:
    (agent,) = AuditReader(data).read()
    assert agent.name is not None
    assert (agent.name.name, agent.beginning.servers) == ("claude-code", ("files",))
    assert [reading.what for reading in agent.readings] == ["list_jobs"]
    assert (agent.ended_when is not None, agent.damaged) == (True, 0)
    assert load_access(data).names_off == ("search",)
    assert not asks_before_actions(data)


def test_recently_opened_recordings_are_listed(data: Path) -> None:
    assert recent_recordings(data) == [Path("/data/night.mcprec")]


def test_a_server_is_opened_in_the_era_that_it_spoke(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = data / negotiation.FILE_NAME
    (kept,) = json.loads(memory.read_bytes())["eras"].values()
    monkeypatch.setattr(Clock, "wall", lambda _: kept["when"] + 60)
    definition = StdioDefinition(name="search", command="search-server", args=("--stdio",))
    assert EraMemory(memory, Clock()).of(definition) is Era.HANDSHAKE


def test_the_window_finds_its_layout(data: Path) -> None:
    preferences = Preferences(data)
    assert not preferences.bytes_of("window/geometry").isEmpty()
    assert not preferences.bytes_of("window/docks").isEmpty()
