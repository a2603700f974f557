"""The official MCP conformance suite, as a campaign; stand-ins for some of it in every run."""

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess

import anyio
import pytest
from mcp import Client

from tests.integration import conformance_client
from tests.integration.conformance_doubles import DOUBLES, Double, InvalidToolHeaders, served
from tests.integration.conformance_suite import REVISIONS, UnavailableError, Verdict, installed
from tests.patience import PATIENCE_S
from tests.strangers.test_tapped_conformance import free_port, running
from tests.unit.agents.recorded import finished

pytestmark = pytest.mark.anyio

REQUIRED = {"2025-11-25": 18, "2026-07-28": 32}
"""How many scenarios each revision requires of clients."""
_ALL_S = 50 * 60


def _assert_all_pass(verdicts: dict[str, Verdict]) -> None:
    """Fail with what the suite and our client said of each scenario that does not pass."""
    bad = {name: verdict for name, verdict in verdicts.items() if not verdict.is_good}
    said = [f"{name}: {each.passed} of {each.checks}\n{each.output}" for name, each in bad.items()]
    assert not bad, f"{sorted(bad)} of {len(verdicts)} scenarios fail\n" + "\n\n".join(said)


async def _call(url: str, tool: str, *options: str) -> CompletedProcess[bytes]:
    """What the command line makes of a call."""
    program = [sys.executable, "-m", "mcp_progress_monitor", "call", tool, "--url", url, *options]
    return await anyio.run_process(program, check=False)


@pytest.mark.parametrize("kind", DOUBLES, ids=lambda kind: kind.scenario)
async def test_our_client_passes_what_stands_in_for_a_scenario(kind: type[Double]) -> None:
    double = kind()
    async with served(double) as url:
        with anyio.fail_after(PATIENCE_S):
            assert await conformance_client.run(url, double.scenario, {}) == 0
    _assert_all_pass({double.scenario: double.verdict})


async def test_a_tool_that_clients_must_not_call_is_called_only_when_the_user_insists() -> None:
    double = InvalidToolHeaders()
    async with served(double) as url:
        refused = await _call(url, "space")
        assert refused.returncode == 2
        assert b"--unlisted" in refused.stderr
        assert b"My Region" in refused.stderr
        assert dict(double.checks)["space"]
        assert (await _call(url, "space", "--unlisted")).returncode == 0
        assert not dict(double.checks)["space"]
        assert (await _call(url, "valid_tool")).returncode == 0


@pytest.mark.campaign
@pytest.mark.timeout(_ALL_S)
@pytest.mark.parametrize("revision", REVISIONS)
def test_our_client_passes_every_required_scenario(revision: str, tmp_path: Path) -> None:
    try:
        suite = installed()
    except UnavailableError as error:
        pytest.skip(str(error))
    scenarios = suite.scenarios(revision)
    assert len(scenarios) == REQUIRED[revision]
    _assert_all_pass(
        {
            name: suite.verdict(name, revision, tmp_path / name.replace("/", "-"))
            for name in scenarios
        }
    )


APPLICABLE = {
    "2025-11-25": (
        *(
            "dns-rebinding-protection",
            "ping",
            "prompts-list",
            "resources-list",
            "server-initialize",
        ),
        *("server-session-lifecycle", "server-sse-multiple-streams", "tools-call-error"),
        *("tools-call-simple-text", "tools-list"),
    ),
    "2026-07-28": (
        *("caching", "dns-rebinding-protection", "http-header-validation", "prompts-list"),
        *("input-required-result-ignore-extra-params", "resources-list"),
        *("input-required-result-unsupported-methods", "sep-2164-resource-not-found"),
        *("tools-call-error", "tools-call-simple-text", "tools-list"),
    ),
}
"""The server's scenarios that need no tool, prompt or resource of the suite's own."""


@contextlib.contextmanager
def _agents_over_http(data_dir: Path, *options: str) -> Iterator[str]:
    """Serve an agent, with a recording; the URL."""
    finished(data_dir)
    port = free_port()
    program = [sys.executable, "-m", "tests.integration.agents_over_http", str(port)]
    with running([*program, str(data_dir), *options], port):
        yield f"http://127.0.0.1:{port}/mcp"


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_our_server_for_agents_answers_over_http(mode: str, tmp_path: Path) -> None:
    with _agents_over_http(tmp_path, "--act") as url:
        async with Client(url, mode=mode) as client:
            tools = (await client.list_tools()).tools
            answer = await client.call_tool("check", {})
    assert {"call", "resume", "cancel", "check"} < {tool.name for tool in tools}
    assert (answer.structured_content or {})["verdict"] == "failed"


@pytest.mark.campaign
@pytest.mark.timeout(_ALL_S)
@pytest.mark.parametrize("options", [(), ("--act",)], ids=["reads", "acts"])
@pytest.mark.parametrize("revision", REVISIONS)
def test_our_server_for_agents_passes_what_applies_to_it(
    revision: str, options: tuple[str, ...], tmp_path: Path
) -> None:
    try:
        suite = installed()
    except UnavailableError as error:
        pytest.skip(str(error))
    with _agents_over_http(tmp_path / "data", *options) as url:
        checks = suite.checks_of_server(url, revision, tmp_path / "checks")
    bad = {name: checks.get(name) for name in APPLICABLE[revision] if not _is_good(checks, name)}
    assert not bad


def _is_good(checks: dict[str, list[str]], scenario: str) -> bool:
    found = checks.get(scenario, [])
    return bool(found) and all(check.endswith(("SUCCESS", "INFO")) for check in found)
