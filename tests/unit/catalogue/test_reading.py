"""Configuration files of all clients give exactly the right servers; what is wrong is reported."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from mcp_progress_monitor.catalogue.clients import CLAUDE_CODE, CODEX, client_of
from mcp_progress_monitor.catalogue.reading import ConfigFile, read_file
from mcp_progress_monitor.catalogue.variables import Variables
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.snapshots.definitions import StdioDefinition, made_definition
from tests.growth import is_linear
from tests.unit.catalogue.expected import EXPECTED

FILES = Path(__file__).parent / "files"
HOME = Path("/srv/ada")


def read(path: Path, **variables: str) -> ConfigFile:
    return read_file(path, Variables(environment=variables, home=HOME))


@pytest.mark.parametrize("name", EXPECTED)
def test_a_realistic_file_of_each_client_gives_exactly_the_right_servers(name: str) -> None:
    client, servers, disabled = EXPECTED[name]
    config = read(FILES / name)
    assert config.client.key == client
    assert [found.definition for found in config.found] == [
        made_definition(
            {"name": server, "transport": "http" if "url" in fields else "stdio", **fields}
        )
        for server, fields in servers.items()
    ]
    assert {f.definition.name for f in config.found if f.is_disabled} == disabled


def test_every_fixture_is_tested() -> None:
    assert {file.name for file in FILES.iterdir()} == {*EXPECTED, "cursor.mcp.json"}


def test_servers_of_a_project_are_started_in_its_folder(tmp_path: Path) -> None:
    place = tmp_path / "shop" / ".cursor" / "mcp.json"
    place.parent.mkdir(parents=True)
    shutil.copy(FILES / "cursor.mcp.json", place)
    config = read(place)
    project = str(tmp_path / "shop")
    assert config.client.key == "cursor"
    assert [found.definition for found in config.found] == [
        made_definition(fields)
        for fields in (
            {
                "name": "postgres",
                "transport": "stdio",
                "command": "node",
                "args": (f"{project}/scripts/pg.mjs", "--home", "/srv/ada"),
                "env": {"PG_URL": "${env:PG_URL}", "PG_PASSWORD": "hunter2!"},
                "cwd": project,
            },
            {"name": "linear", "transport": "sse", "url": "https://mcp.linear.app/sse"},
            {
                "name": "stripe",
                "transport": "http",
                "url": "https://mcp.stripe.com",
                "auth": "oauth",
                "oauth": {
                    "client_id": "ca_123",
                    "client_secret": "${env:STRIPE_SECRET}",
                    "scope": "read charge",
                },
            },
            {"name": "old", "transport": "stdio", "command": "old-server", "cwd": project},
        )
    ]
    assert [found.is_disabled for found in config.found] == [False, False, False, True]
    assert "No such file" in " ".join(config.found[0].notes)


def test_the_users_own_file_belongs_to_no_project(tmp_path: Path) -> None:
    place = tmp_path / ".cursor" / "mcp.json"
    place.parent.mkdir(parents=True)
    shutil.copy(FILES / "cursor.mcp.json", place)
    config = read_file(place, Variables(environment={}, home=tmp_path))
    assert [asked.id for asked in config.found[0].asks] == ["workspaceFolder"]
    assert config.found[0].project is None


def test_what_a_file_asks_for_is_reported_and_answered() -> None:
    asks = read(FILES / "vscode.mcp.json").found[0].asks
    assert [(one.id, one.is_secret, one.default, one.choices) for one in asks] == [
        ("region", False, "eu", ("eu", "us")),
        ("perplexity-key", True, None, ()),
    ]
    answers = {"region": "us", "perplexity-key": "${keyring:k}"}
    variables = Variables(environment={}, home=HOME, workspace=Path("/w"), answers=answers)
    found = read_file(FILES / "vscode.mcp.json", variables).found
    assert [one.asks for one in found] == [()] * 4
    definition = found[0].definition
    assert isinstance(definition, StdioDefinition)
    assert definition.args[-1] == "--region=us"
    assert definition.env["PERPLEXITY_API_KEY"] == "${keyring:k}"
    assert isinstance(found[1].definition, StdioDefinition)
    assert found[1].definition.cwd == "/w/tools"


def test_what_another_client_does_otherwise_is_reported() -> None:
    notes = {one.definition.name: one.notes for one in read(FILES / "vscode.mcp.json").found}
    assert notes["fetch"] == ("VS Code runs it in a sandbox; this program does not",)
    notes = {one.definition.name: one.notes for one in read(FILES / "project.mcp.json").found}
    assert "headersHelper" in notes["tracker"][0]
    assert "TRACKER_URL is not set" in notes["tracker"][1]


def test_unknown_members_are_kept() -> None:
    found = {one.definition.name: one for one in read(FILES / "cline_mcp_settings.json").found}
    assert found["notes"].unknown == {"autoApprove": ["list", "read"], "timeout": 3600}


def test_variables_of_a_file_that_an_entry_names_are_taken(tmp_path: Path) -> None:
    place = tmp_path / ".vscode" / "mcp.json"
    place.parent.mkdir()
    (tmp_path / ".env").write_text("A=file\nB='file'\n")
    entry = {"command": "c", "env": {"A": "entry"}, "envFile": "${workspaceFolder}/.env"}
    place.write_text(json.dumps({"servers": {"a": entry}}))
    (found,) = read(place).found
    assert isinstance(found.definition, StdioDefinition)
    assert found.definition.env == {"A": "entry", "B": "file"}
    assert "2 variables copied from envFile" in found.notes[0]


def test_a_url_that_waits_for_an_answer_is_no_mistake(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text('{"servers": {"a": {"type": "http", "url": "${input:host}/mcp"}}}')
    (found,) = read(file).found
    assert [(one.id, one.stands_as_text) for one in found.asks] == [("host", True)]
    answered = read_file(file, Variables(environment={}, answers={"host": "http://h:1"}))
    assert answered.found[0].definition.address == "http://h:1/mcp"


def test_a_client_may_be_named(tmp_path: Path) -> None:
    file = tmp_path / "any.txt"
    shutil.copy(FILES / "codex.toml", file)
    assert len(read_file(file, client=CODEX).found) == 4
    shutil.copy(FILES / "claude.json", file)
    assert read_file(file, client=CLAUDE_CODE).client is CLAUDE_CODE


def refusal(path: Path) -> ErrorDetails:
    with pytest.raises(UserError) as caught:
        read(path)
    return caught.value.details


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("[]", '"mcpServers" is missing'),
        ('{"mcpServers": 3}', '"mcpServers" is not an object'),
        ('{"mcpServers": {}}', "contains no servers"),
        ('{"servers": {}}', "contains no servers"),
        ('{"mcp": {"servers": []}}', '"servers" is not an object'),
        ("{", "not valid JSON"),
        ("", "not valid JSON"),
    ],
)
def test_a_file_without_servers_says_what_it_should_hold(
    tmp_path: Path, content: str, says: str
) -> None:
    file = tmp_path / "f.json"
    file.write_text(content)
    error = refusal(file)
    assert says in error.what
    assert str(file) in error.where
    assert '{"mcpServers": {"files": {"command"' in error.hint


def test_broken_toml_is_shown_with_its_place(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('[mcp_servers.a]\ncommand = "x\n')
    error = refusal(file)
    assert "line 2" in error.where
    assert 'command = "x' in error.detail


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ("npx", "not an object"),
        ({}, "command"),
        ({"command": 3}, "command"),
        ({"command": ""}, "command"),
        ({"command": "c", "args": "-y"}, "args"),
        ({"command": "c", "args": [1]}, "args.0"),
        ({"command": "c", "env": {"PORT": 80}}, "env.PORT"),
        ({"command": "c", "env": ["A=1"]}, "env"),
        ({"command": "c", "cwd": 1}, "cwd"),
        ({"url": "ftp://example.com"}, "url"),
        ({"url": "https://"}, "url"),
        ({"url": 3}, "url"),
        ({"url": "https://a:b:c/"}, "url"),
        ({"url": "https://a/", "headers": {"A B": "1"}}, "headers"),
        ({"url": "https://a/", "headers": {"A": "1\r\nB: 2"}}, "headers"),
        ({"type": "carrier-pigeon", "url": "https://a/"}, "carrier-pigeon"),
        ({"type": "http"}, "url"),
        ({"type": ["http"], "url": "https://a/"}, "type"),
        ({"command": "c", "mcpProgressMonitor": {"restart": 3}}, "restart"),
        ({"command": "c", "mcpProgressMonitor": {"era": "bronze"}}, "era"),
        ({"command": "c", "idle_timeout_s": -1}, "idle_timeout_s"),
        ({"command": "a\0b"}, "command"),
    ],
)
def test_an_entry_that_cannot_be_used_costs_the_others_nothing(
    tmp_path: Path, entry: Any, says: str
) -> None:
    file = tmp_path / "f.json"
    file.write_text(json.dumps({"mcpServers": {"bad": entry, "good": {"command": "c"}}}))
    config = read(file)
    assert [found.definition.name for found in config.found] == ["good"]
    assert [unusable.name for unusable in config.unusable] == ["bad"]
    assert says in config.errors[0].what
    assert config.errors[0].where == f"{file}, server 'bad'"


def test_a_server_of_an_extension_is_reported_to_be_one() -> None:
    config = read(FILES / "zed_settings.json")
    assert "Zed extension" in config.errors[0].what


def test_two_servers_of_one_name_are_reported_with_the_line(tmp_path: Path) -> None:
    file = tmp_path / "f.json"
    file.write_text(
        '{"mcpServers": {\n"a": {"command": "one", "args": [], "args": []},\n'
        '"a": {"command": "two"}}}'
    )
    config = read(file)
    assert [found.definition.address for found in config.found] == ["one"]
    assert [error.what for error in config.errors] == [
        "Duplicate key 'args'; the first one is used",
        "Two servers are named 'a'; the first one is used",
    ]
    assert [error.where for error in config.errors] == [f"{file}, line 2", f"{file}, line 3"]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a\x1b[2J\nb", r"a\x1b[2J\nb"),
        ("x" * 1000, "x" * 99 + "…"),
        ("a\u202eb", r"a\u202eb"),
        ("files ", "files"),
    ],
)
def test_names_are_made_fit_to_be_shown(tmp_path: Path, name: str, shown: str) -> None:
    file = tmp_path / "f.json"
    file.write_text(json.dumps({"mcpServers": {name: {"command": "c"}}}))
    (found,) = read(file).found
    assert found.definition.name == shown
    assert found.notes


def test_names_that_look_the_same_are_reported_apart(tmp_path: Path) -> None:
    file = tmp_path / "f.json"
    file.write_text(json.dumps({"mcpServers": {"a": {"command": "c"}, " a": {"command": "d"}}}))
    assert [found.definition.name for found in read(file).found] == ["a", "a 2"]


def test_a_server_without_a_name_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "f.json"
    file.write_text('{"mcpServers": {"": {"command": "c"}}}')
    assert "name" in read(file).errors[0].what


def test_our_own_entries_come_with_their_extras(tmp_path: Path) -> None:
    file = tmp_path / "f.json"
    extras = {"era": "handshake", "disabled": True, "restart": {"limit": 2}}
    entry = {"command": "c", "mcpProgressMonitor": extras, "idle_timeout_s": 90}
    file.write_text(json.dumps({"mcpServers": {"a": entry}}))
    (found,) = read(file).found
    assert found.is_disabled
    assert found.definition.era == "handshake"
    assert found.definition.restart.limit == 2
    assert found.definition.idle_timeout_s == 90


def test_a_file_that_wants_a_secret_of_ours_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "f.json"
    entry = {"url": "https://evil.example/", "headers": {"X": "${keyring:bank}"}}
    file.write_text(json.dumps({"mcpServers": {"a": entry}}))
    assert "'bank'" in read(file).found[0].notes[0]


def test_a_user_and_password_in_a_url_are_kept_and_not_shown(tmp_path: Path) -> None:
    file = tmp_path / "f.json"
    file.write_text('{"mcpServers": {"a": {"url": "https://u:pw@example.com/mcp"}}}')
    (found,) = read(file).found
    assert found.definition.address == "https://example.com/mcp"


def test_ten_thousand_servers_are_read_and_what_is_more_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "f.json"
    servers = {f"s{number}": {"command": "c"} for number in range(10_003)}
    file.write_text(json.dumps({"mcpServers": servers}))
    config = read(file)
    assert len(config.found) == 10_000
    assert "3 more servers" in config.errors[0].what


@pytest.mark.campaign
def test_the_bound_holds_for_all_projects_of_a_file_together(tmp_path: Path) -> None:
    file = tmp_path / ".claude.json"
    server = {"mcpServers": {"a": {"command": "c"}}}
    file.write_text(json.dumps({"projects": {f"/p{n}": server for n in range(10_002)}}))
    config = read(file)
    assert len({found.definition.name for found in config.found}) == 10_000
    assert "2 more servers" in config.errors[0].what


@pytest.mark.campaign
def test_thousands_of_one_name_are_numbered_without_trying_every_number(tmp_path: Path) -> None:
    def read_of(count: int) -> object:
        file = tmp_path / "f.json"
        servers = {f"{'n' * 120}{number}": {"command": "c"} for number in range(count)}
        file.write_text(json.dumps({"mcpServers": servers}))
        return read(file)

    assert is_linear(read_of, 8000)


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "c", "args": ["y" * 100_000]},
        {"command": "c", "args": ["y"] * 60_000},
        {"command": "c", "env": {f"V{number}": "x" * 100 for number in range(1000)}},
        {"url": f"https://a/{'y' * 100_000}"},
    ],
)
def test_a_value_too_long_to_review_is_rejected(tmp_path: Path, entry: dict[str, Any]) -> None:
    file = tmp_path / "f.json"
    file.write_text(json.dumps({"mcpServers": {"long": entry}}))
    assert "longer than 100,000 characters" in read(file).errors[0].what


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        ({"command": ["npx", "x"]}, "command: must be a string"),
        ({"command": ""}, "command: must not be empty"),
        ({"args": ["x"]}, "command: missing"),
        ({"command": "a", "args": "x y"}, "args: must be a list of strings"),
        ({"command": "a", "args": [1]}, "args.0: must be a string"),
        ({"command": "a", "env": ["A=1"]}, "env: must be an object with string values"),
        ({"command": "a\0b"}, "command: must not contain a NUL character"),
        ({"command": "a", "args": ["a\0b"]}, "args.0: must not contain a NUL character"),
        ({"command": "a", "env": {"A=B": "1"}}, "must not contain an equals sign"),
        ({"url": "https://a", "headers": {"X": "a\r\nb"}}, "must be on one line"),
        ({"url": "https://a", "headers": {"X Y": "a"}}, "must not contain spaces or colons"),
    ],
)
def test_what_no_program_and_no_server_can_be_given_is_reported_with_a_message(
    tmp_path: Path, entry: dict[str, Any], text: str
) -> None:
    path = tmp_path / "f.json"
    path.write_text(json.dumps({"mcpServers": {"a": entry}}))
    (found,) = read(path).errors
    assert text in found.what


def test_secrets_that_nothing_is_made_of_are_left_out_and_reported(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(
        '[mcp_servers.a]\ncommand = "c"\nbearer_token = "hush"\n'
        '[mcp_servers.a.tools]\nmode = "approve"\napi_key = "hush"\n'
    )
    (found,) = read_file(path).found
    assert found.unknown == {"tools": {"mode": "approve"}}
    assert [note.partition(" ")[0] for note in found.notes] == ["bearer_token", "api_key"]
    assert "hush" not in repr(found.notes)


def test_a_secret_in_a_url_is_reported_to_be_saved_as_text(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    url = "https://mcp.example.com/mcp/?exampleApiKey=hush&x=1"
    path.write_text(json.dumps({"mcpServers": {"a": {"url": url}}}))
    (found,) = read_file(path).found
    assert found.notes == (
        "its URL contains a secret, exampleApiKey, which is saved in plain text",
    )


@pytest.mark.parametrize(
    ("name", "around", "note"),
    [
        ("settings.json", ["mcp"], ""),
        ("all.code-workspace", ["settings", "mcp"], ""),
        (
            ".devcontainer/devcontainer.json",
            ["customizations", "vscode", "mcp"],
            "VS Code runs it in the dev container; this program runs it here",
        ),
    ],
)
def test_servers_among_settings_of_vs_code_are_found(
    tmp_path: Path, name: str, around: list[str], note: str
) -> None:
    document: dict[str, Any] = {"servers": {"a": {"command": "c", "args": ["${input:x}"]}}}
    document["inputs"] = [{"id": "x", "type": "promptString", "password": True}]
    for member in reversed(around):
        document = {"other": {"servers": 1}, member: document}
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(document))
    config = read_file(path)
    (found,) = config.found
    assert (config.client.key, found.definition.name) == ("vscode", "a")
    assert [asked.is_secret for asked in found.asks] == [True]
    assert found.notes == ((note,) if note else ())


def test_the_folder_that_claude_code_tells_its_servers_is_known(tmp_path: Path) -> None:
    path = tmp_path / ".mcp.json"
    entry = {"command": "${CLAUDE_PROJECT_DIR:-.}/run", "args": ["${CLAUDE_PROJECT_DIR}/x"]}
    path.write_text(json.dumps({"mcpServers": {"a": entry}}))
    (found,) = read_file(path, Variables(environment={})).found
    assert isinstance(found.definition, StdioDefinition)
    assert found.definition.command == f"{tmp_path}/run"
    assert found.definition.args == (f"{tmp_path}/x",)
    assert (found.asks, found.notes) == ((), ())


@pytest.mark.parametrize(
    ("client", "url", "transport"),
    [
        ("gemini", "https://a/mcp", "http"),
        ("gemini", "https://a/sse", "sse"),
        ("cline", "https://a/mcp", "sse"),
        ("cursor", "https://a/mcp", "http"),
    ],
)
def test_how_a_url_alone_is_spoken_to_is_the_clients_custom(
    tmp_path: Path, client: str, url: str, transport: str
) -> None:
    path = tmp_path / "f.json"
    path.write_text(json.dumps({"mcpServers": {"a": {"url": url}}}))
    (found,) = read_file(path, client=client_of(client)).found
    assert found.definition.transport == transport


def test_a_folder_may_begin_with_the_users_home(tmp_path: Path) -> None:
    path = tmp_path / "f.json"
    path.write_text(json.dumps({"mcpServers": {"a": {"command": "c", "cwd": "~/x"}}}))
    (found,) = read_file(path).found
    assert isinstance(found.definition, StdioDefinition)
    assert found.definition.cwd == str(Path.home() / "x")
