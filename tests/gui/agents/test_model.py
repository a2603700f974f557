"""The rows of agents and of what they read."""

from pathlib import Path
from typing import Any

from PySide6.QtTest import QAbstractItemModelTester

from mcp_progress_monitor.audit.access import AgentAccess
from mcp_progress_monitor.audit.log import AgentName, AuditedAgent, Beginning, Reading
from mcp_progress_monitor.gui.agents.model import AgentsModel, ReadingsModel

ON = AgentAccess()


def agent(name: str = "cursor", *readings: Reading, **more: Any) -> AuditedAgent:
    given = AgentName(when=1.0, name=name, title=name.title(), version="3")
    servers = more.pop("servers", ())
    acts, removed = more.pop("acts", False), more.pop("removed", 0)
    beginning = Beginning(when=1.7e9, pid=7, servers=servers, acts=acts, removed=removed)
    path = Path(more.pop("path", f"{name}.jsonl"))
    return AuditedAgent(path, more.pop("is_live", True), beginning, given, readings, **more)


def reading(when: float = 1.7e9, **more: Any) -> Reading:
    return Reading(when=when, what="jobs", servers=("a", "b"), jobs=("r1-1",), size=1234, **more)


def texts(model: AgentsModel | ReadingsModel) -> list[list[str]]:
    columns = range(model.columnCount())
    return [[model.index(row, c).data() for c in columns] for row in range(model.rowCount())]


def test_an_agent_has_its_state_its_limits_and_its_answers() -> None:
    model = AgentsModel()
    QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal, model)
    off = AgentAccess(names_off=("zed",))
    refused = reading(outcome="refused")
    shown = [
        agent("cursor", reading(), refused, servers=("a", "b")),
        agent("zed", removed=3, acts=True),
        agent("code", is_live=False),
    ]
    model.show_agents(shown, off)
    first, second, third = texts(model)
    assert first[:4] == ["Cursor 3", "connected", "a, b", "1"]
    assert second[:4] == ["Zed 3", "connected, turned off", "all servers, and act", "0+"]
    assert third[1] == "ended"
    assert first[4].startswith("7, since 2023-11-1")


def test_nobody_reads_while_the_switch_is_unreadable_or_off_for_all() -> None:
    model = AgentsModel()
    for access in (None, AgentAccess(is_off=True)):
        model.show_agents([agent()], access)
        assert texts(model)[0][1] == "connected, turned off"


def test_an_agent_without_a_name_is_called_unnamed() -> None:
    model = AgentsModel()
    model.show_agents([agent()._replace(name=None)], ON)
    assert texts(model)[0][0] == "Unnamed agent"


def test_rows_stay_while_only_their_texts_change() -> None:
    model = AgentsModel()
    assert model.show_agents([agent()], ON)
    assert not model.show_agents([agent("cursor", reading())], ON)
    assert texts(model)[0][3] == "1"
    assert model.show_agents([], ON)
    assert not model.show_agents([], ON)


def test_the_newest_reading_of_all_agents_is_first() -> None:
    model = ReadingsModel()
    QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal, model)
    first, last = reading(1.7e9), reading(1.7e9 + 2, arguments='{"limit": 3}', outcome="failed")
    model.show_agents([agent("a", first), agent("b", last)])
    newest, oldest = texts(model)
    assert newest[1:] == ["B 3", "jobs", "a, b", "r1-1", '{"limit": 3}', "1.2 kB", "failed"]
    assert oldest[1] == "A 3"


def test_a_new_reading_is_put_above_the_others() -> None:
    model = ReadingsModel()
    QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal, model)
    first, second = reading(1.0), reading(2.0)
    model.show_agents([agent("a", first)])
    inserted: list[int] = []
    model.rowsInserted.connect(lambda *_: inserted.append(1))
    model.show_agents([agent("a", first, second)])
    model.show_agents([agent("a", first, second)])
    assert inserted == [1]
    assert model.rowCount() == 2


def test_hostile_names_are_visible_and_bounded() -> None:
    model = ReadingsModel()
    model.show_agents([agent("a\u202eb" * 100, reading(arguments="\u202e" * 500))])
    (row,) = texts(model)
    assert "\u202e" not in "".join(row)
    assert max(map(len, row)) <= 300
