"""Another client's server is found among saved ones, in the client's own file, or as recorded."""

import json
from pathlib import Path

import pytest

from mcp_progress_monitor.catalogue.catalogue import CatalogueEntry
from mcp_progress_monitor.engine.servers_here import RECORDED, SAVED, ServerHere, find_server_here
from mcp_progress_monitor.snapshots.definitions import (
    HttpDefinition,
    ServerDefinition,
    StdioDefinition,
)
from mcp_progress_monitor.store.chains import Origin
from mcp_progress_monitor.store.watched import watched_key
from mcp_progress_monitor.tap_http.addresses import TapAddresses


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("PATH_LIKE", "x")
    found = tmp_path / "project"
    found.mkdir()
    return found


def recorded(project: Path, *args: str, env: tuple[str, ...] = ()) -> StdioDefinition:
    """What a tap records of a server: names of variables only."""
    return StdioDefinition(
        name="db@7",
        command="/opt/db",
        args=args or ("--token", "***"),
        cwd=str(project),
        env=dict.fromkeys(env, ""),
    )


def origin(definition: ServerDefinition, client: str = "Cursor") -> Origin:
    key = watched_key(client, definition.job_key)
    return Origin("db@7", key, definition.model_dump_json(), "", "tools/call", {"name": "x"})


def test_a_saved_server_with_the_same_command_is_taken_first(project: Path) -> None:
    own = StdioDefinition(name="mine", command="/opt/db", args=("--token", "s3cret"))
    other = own.model_copy(update={"name": "other", "args": ("--fast",)})
    disabled = CatalogueEntry(own.model_copy(update={"name": "off"}), is_disabled=True)
    entries = (CatalogueEntry(other), disabled, CatalogueEntry(own))
    found = find_server_here(origin(recorded(project)), entries)
    assert (found.definition, found.source, found.missing) == (own, SAVED, ())


def test_the_clients_own_entry_is_taken_without_its_tap(project: Path) -> None:
    script = 't=$0; [ -x "$t" ] && exec "$t" tap --name db --client Cursor -- "$@"; exec "$@"'
    args = ["-c", script, "/usr/bin/monitor", "/opt/db", "--token", "s3cret"]
    entry = {"command": "/bin/sh", "args": args, "env": {"LEVEL": "3"}}
    folder = project / ".cursor"
    folder.mkdir()
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": {"db": entry}}))
    found = find_server_here(origin(recorded(project, env=("LEVEL",))), ())
    definition = found.definition
    assert isinstance(definition, StdioDefinition)
    assert (definition.name, definition.command) == ("db", "/opt/db")
    assert (definition.args, definition.env) == (("--token", "s3cret"), {"LEVEL": "3"})
    assert definition.cwd == str(project)
    assert (found.missing, found.hidden_count) == ((), 0)
    assert found.source == f"Cursor, {folder / 'mcp.json'}"


def entries(
    project: Path, cursor: dict[str, str], claude: dict[str, str], *, args: tuple[str, ...] = ()
) -> None:
    """The same server in the files of Cursor, behind a tap, and of Claude Code."""
    script = 't=$0; [ -x "$t" ] && exec "$t" tap --name db --client Cursor -- "$@"; exec "$@"'
    command = ["/opt/db", "--token", "s3cret", *args]
    tapped = {"command": "/bin/sh", "args": ["-c", script, "/usr/bin/monitor", *command]}
    own = project.parent / "home"
    (own / ".cursor").mkdir(parents=True, exist_ok=True)
    servers = {"db": {**tapped, "env": cursor}}
    (own / ".cursor" / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    servers = {"db": {"command": command[0], "args": command[1:], "env": claude}}
    (own / ".claude.json").write_text(json.dumps({"mcpServers": servers}))


def variables(here: ServerHere) -> dict[str, str]:
    assert isinstance(here.definition, StdioDefinition)
    return dict(here.definition.env)


@pytest.mark.parametrize("client", ["Cursor", "cursor-vscode"])
def test_the_entry_of_the_client_itself_is_taken_by_any_of_its_names(
    project: Path, client: str
) -> None:
    entries(project, {"PATH_LIKE": "3"}, {})
    found = find_server_here(origin(recorded(project, env=("PATH_LIKE",)), client), ())
    assert (variables(found), found.others) == ({"PATH_LIKE": "3"}, ())
    assert found.source.startswith("Cursor, ")


def test_of_an_unknown_client_the_entry_with_the_recorded_variables_is_taken(project: Path) -> None:
    entries(project, {"LEVEL": "3"}, {"OTHER": "1"})
    found = find_server_here(origin(recorded(project, env=("LEVEL",)), "mcp"), ())
    assert (variables(found), found.others) == ({"LEVEL": "3"}, ())
    found = find_server_here(origin(recorded(project, env=("PATH_LIKE", "OTHER")), "mcp"), ())
    assert (variables(found), found.others) == ({"OTHER": "1"}, ())


def test_the_user_is_asked_when_several_entries_fit_as_well(project: Path) -> None:
    entries(project, {"PATH_LIKE": "3"}, {})  # set in our environment as well: no evidence
    found = find_server_here(origin(recorded(project, env=("PATH_LIKE",)), "mcp"), ())
    sources = [each.source.partition(",")[0] for each in (found, *found.others)]
    assert sorted(sources) == ["Claude Code", "Cursor"]
    entries(project, {}, {})
    assert find_server_here(origin(recorded(project), "mcp"), ()).others == ()


def test_a_client_whose_entry_asks_for_values_gets_no_entry_of_another_client(
    project: Path,
) -> None:
    folder = project / ".vscode"
    folder.mkdir()
    entry = {"command": "/opt/db", "args": ["--token", "s"], "env": {"LEVEL": "${input:level}"}}
    servers = {"servers": {"db": entry}, "inputs": [{"id": "level", "type": "promptString"}]}
    (folder / "mcp.json").write_text(json.dumps(servers))
    entries(project, {}, {})
    known = recorded(project, env=("LEVEL",))
    found = find_server_here(origin(known, "Visual Studio Code"), ())
    assert (found.source, found.missing) == (RECORDED, ("LEVEL",))


def test_what_was_recorded_lacks_values_and_says_so(project: Path) -> None:
    known = recorded(project, env=("PATH_LIKE", "LEVEL", "DB_TOKEN"))
    found = find_server_here(origin(known), ())
    assert (found.source, found.missing, found.hidden_count) == (RECORDED, ("DB_TOKEN", "LEVEL"), 1)
    assert isinstance(found.definition, StdioDefinition)
    assert (found.definition.name, found.definition.env) == ("db", {})
    assert found.definition.cwd == str(project)


def test_a_server_with_a_url_is_found_by_its_address(project: Path) -> None:
    assert project.exists()
    known = HttpDefinition(
        name="db@7", url="https://x.invalid/mcp", headers={"Accept": "", "Authorization": ""}
    )
    own = HttpDefinition(name="mine", url=known.url, headers={"Authorization": "${env:T}"})
    assert find_server_here(origin(known), [CatalogueEntry(own)]).definition == own
    found = find_server_here(origin(known), ())
    assert isinstance(found.definition, HttpDefinition)
    assert (found.definition.headers, found.missing) == ({}, ("Authorization",))


def test_the_clients_entry_for_a_tap_with_a_url_leads_to_the_server(project: Path) -> None:
    known = HttpDefinition(name="api@7", url="https://x.invalid/mcp", headers={"X-Tenant": ""})
    tap = TapAddresses(known.url)
    url = f"http://localhost:{tap.usual_port}/mcp"
    servers = {
        "api": {"url": url, "headers": {"Authorization": "Bearer s3cret"}},
        "other": {"url": "http://localhost:1/mcp"},
    }
    folder = project.parent / "home" / ".cursor"
    folder.mkdir(parents=True)
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    found = find_server_here(origin(known), ())
    assert isinstance(found.definition, HttpDefinition)
    assert (found.definition.url, found.definition.headers, found.missing) == (
        known.url,
        {"Authorization": "Bearer s3cret"},
        (),
    )
    other = known.model_copy(update={"url": "http://user@x.invalid/mcp"})
    assert find_server_here(origin(other), ()).source == RECORDED
