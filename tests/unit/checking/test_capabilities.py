"""Capabilities that were used but not declared, in both directions."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcp_progress_monitor.findings.finding import Level
from mcp_progress_monitor.protocol.facts import Side
from tests.golden_sessions import Golden, Step, client, recording, result, server
from tests.unit.checking.sessions import check_file

A, B, C, D, E = "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"
ALL: dict[str, Any] = {
    "tools": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": True},
    "prompts": {"listChanged": True},
    "logging": {},
    "completions": {},
    "tasks": {"list": {}, "cancel": {}},
}
OF_CLIENT: dict[str, Any] = {
    "roots": {"listChanged": True},
    "sampling": {"tools": {}},
    "elicitation": {"form": {}, "url": {}},
    "tasks": {"list": {}, "cancel": {}},
}


@pytest.fixture
def found(tmp_path: Path) -> Callable[..., list[tuple[Side, Level, str]]]:
    """What CAP-1 finds in a session: who broke it, the level, the text."""

    def check(step: Step, revision: str = D, **more: Any) -> list[tuple[Side, Level, str]]:
        path = tmp_path / "session.mcprec"
        golden = Golden("", revision, [step], [], **more)
        path.write_bytes(recording(golden, [step]))
        results = [each for each in check_file(path) if each.rule == "CAP-1"]
        return [(each.by, each.level, each.finding.text) for each in results]

    return check


@pytest.mark.parametrize(
    ("method", "capability"),
    [
        ("tools/list", "tools"),
        ("resources/list", "resources"),
        ("resources/subscribe", "resources.subscribe"),
        ("prompts/get", "prompts"),
        ("completion/complete", "completions"),
        ("logging/setLevel", "logging"),
        ("tasks/list", "tasks.list"),
        ("tasks/cancel", "tasks.cancel"),
    ],
)
def test_a_client_uses_what_the_server_declared(found: Any, method: str, capability: str) -> None:
    text = f"{method} was sent, but the server did not declare {capability}"
    step = client(method, 2, taskId="T", uri="file:///x")
    assert found(step, server={}) == [(Side.CLIENT, Level.WARNING, text)]
    assert found(step, server=ALL) == []


@pytest.mark.parametrize(
    ("method", "capability"),
    [
        ("notifications/message", "logging"),
        ("notifications/tools/list_changed", "tools.listChanged"),
        ("notifications/prompts/list_changed", "prompts.listChanged"),
        ("notifications/resources/list_changed", "resources.listChanged"),
        ("notifications/resources/updated", "resources.subscribe"),
    ],
)
def test_a_server_notifies_of_what_it_declared(found: Any, method: str, capability: str) -> None:
    text = f"{method} was sent, but the server did not declare {capability}"
    step = server(method, level="info", data="x", uri="file:///x")
    bare = {"tools": {}, "resources": {"subscribe": False}, "prompts": {"listChanged": False}}
    assert found(step, server=bare) == [(Side.SERVER, Level.WARNING, text)]
    assert found(step, server=ALL) == []


@pytest.mark.parametrize(
    ("method", "capability"),
    [
        ("roots/list", "roots"),
        ("sampling/createMessage", "sampling"),
        ("elicitation/create", "elicitation"),
        ("tasks/list", "tasks.list"),
    ],
)
@pytest.mark.parametrize(
    ("revision", "level"),
    [(A, Level.WARNING), (B, Level.WARNING), (C, Level.ERROR), (D, Level.ERROR)],
)
def test_a_server_asks_what_the_client_declared(
    found: Any, method: str, capability: str, revision: str, level: Level
) -> None:
    text = f"{method} was sent, but the client did not declare {capability}"
    step = server(method, 9)
    assert found(step, revision) == [(Side.SERVER, level, text)]
    assert found(step, revision, client=OF_CLIENT) == []


@pytest.mark.parametrize(
    ("step", "capability"),
    [
        (server("elicitation/create", 9, mode="url", url="https://x/"), "elicitation.url"),
        (server("sampling/createMessage", 9, tools=[{"name": "t"}]), "sampling.tools"),
    ],
)
def test_a_question_needs_the_part_of_the_capability_that_it_uses(
    found: Any, step: Step, capability: str
) -> None:
    declared: dict[str, Any] = {"elicitation": {}, "sampling": {}}
    ((by, level, text),) = found(step, client=declared)
    assert (by, level) == (Side.SERVER, Level.ERROR)
    assert text.endswith(f"the client did not declare {capability}")
    assert found(step, client=OF_CLIENT) == []
    assert found(step, C, client=declared) == [], "the revision before has no such parts"


def test_a_client_that_declared_no_mode_takes_forms_alone(found: Any) -> None:
    step = server("elicitation/create", 9, message="Name?")
    assert found(step, client={"elicitation": {}}) == []
    assert found(step, client={"elicitation": {"form": {}}}) == []
    assert found(step, client={"elicitation": {"applyDefaults": True}}) == []
    ((_, level, text),) = found(step, client={"elicitation": {"url": {}}})
    assert level is Level.ERROR
    assert text.endswith("the client did not declare elicitation.form")
    odd = server("elicitation/create", 9, mode=["form"])
    assert found(odd, client={"elicitation": {"url": {}}}) == []


def test_a_client_tells_of_new_roots_if_it_declared_that(found: Any) -> None:
    step = client("notifications/roots/list_changed")
    ((by, level, text),) = found(step, client={"roots": {}})
    assert (by, level) == (Side.CLIENT, Level.WARNING)
    assert text.endswith("the client did not declare roots.listChanged")
    assert found(step, client=OF_CLIENT) == []


def test_completions_of_the_first_revision_have_no_capability(found: Any) -> None:
    assert found(client("completion/complete", 2), A, server={}) == []
    assert len(found(client("completion/complete", 2), B, server={})) == 1


def test_a_session_without_its_beginning_is_not_judged_by_capabilities(found: Any) -> None:
    assert found(server("roots/list", 9), opening=False) == []
    assert found(result(9), opening=False) == []


@pytest.mark.parametrize(
    ("step", "capability"),
    [
        (client("resources/list", 2), "resources"),
        (server("notifications/message", level="info", data="x"), "logging"),
        (server("notifications/tools/list_changed"), "tools.listChanged"),
    ],
)
def test_a_server_that_was_asked_what_it_has_is_used_so_in_the_latest_revision(
    found: Any, step: Step, capability: str
) -> None:
    ((_, level, text),) = found(step, E, server={"tools": {}})
    assert level is Level.WARNING
    assert text.endswith(f"the server did not declare {capability}")
    assert found(step, E, server=ALL) == []
    assert found(step, E, server={}, opening=False) == [], "the client need not ask"
    assert found(client("tasks/cancel", 2, taskId="T"), E, server={}) == [], "an extension"
