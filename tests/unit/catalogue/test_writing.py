"""Saved servers in each client's form: they come back through our own reader, without secrets."""

import json
import threading
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mcp_progress_monitor.catalogue.catalogue import CatalogueEntry
from mcp_progress_monitor.catalogue.clients import (
    CODEX,
    FORMS,
    OURS,
    VS_CODE,
    ZED,
    McpClient,
    client_of,
)
from mcp_progress_monitor.catalogue.reading import read_file
from mcp_progress_monitor.catalogue.variables import Variables
from mcp_progress_monitor.catalogue.writing import write_file
from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.snapshots.definitions import HttpDefinition, OAuthClient, StdioDefinition

PROCESS = CatalogueEntry(
    StdioDefinition(
        name="a b.c",
        command="npx",
        args=("-y", "--api-key", "s-arg", "--level=${env:LEVEL}"),
        env={"PLAIN": "s-env", "OTHER": "${env:NAME}"},
        cwd="/srv",
    )
)
WEB = CatalogueEntry(
    HttpDefinition(
        name="web",
        url="https://me:s-pass@example.com/y?token=s-query&z=1",
        headers={"Authorization": "Bearer s-bearer", "X-Y": "${env:Q}"},
    )
)
OLDER = CatalogueEntry(HttpDefinition(name="old", transport="sse", url="https://x.example/y"))
SIGNED = CatalogueEntry(
    HttpDefinition(
        name="signed",
        url="https://signed.example/mcp",
        auth="oauth",
        oauth=OAuthClient(client_id="id", client_secret="s-oauth", scope="a b"),
    )
)
OFF = CatalogueEntry(StdioDefinition(name="off", command="z"), is_disabled=True)
ALL = (PROCESS, WEB, OLDER, SIGNED, OFF)
WITHOUT_URLS = {"claude-desktop"}
WITHOUT_SSE = {"codex"}
WITH_OAUTH = {"claude-code", "vscode", "cursor", "gemini", "inspector", "mcp-progress-monitor"}
WITH_DISABLED = {"windsurf", "cline", "gemini", "codex", "zed", "mcp-progress-monitor"}
VARIABLES = Variables(environment={"NAME": "n", "LEVEL": "l", "Q": "q"})


def file_of(folder: Path, client: McpClient) -> Path:
    return folder / ("f.toml" if client is CODEX else "f.json")


@pytest.mark.parametrize("client", FORMS, ids=[client.key for client in FORMS])
def test_what_a_form_can_hold_comes_back_through_our_reader(
    tmp_path: Path, client: McpClient
) -> None:
    file = file_of(tmp_path, client)
    write_file(ALL, client, file, with_secrets=True)
    found = {one.definition.name: one for one in read_file(file, VARIABLES, client).found}
    wanted = [PROCESS]
    if client.key not in WITHOUT_URLS:
        wanted.append(WEB)
        wanted += [] if client.key in WITHOUT_SSE else [OLDER]
        wanted += [SIGNED] if client.key in WITH_OAUTH else []
    wanted += [OFF] if client.key in WITH_DISABLED else []
    for entry in wanted:
        assert found[entry.name].definition == entry.definition
        assert found[entry.name].is_disabled == entry.is_disabled
    assert ("off" in found) == (client.key in WITH_DISABLED)


@pytest.mark.parametrize("client", FORMS, ids=[client.key for client in FORMS])
def test_without_asking_for_them_no_secret_is_written_and_each_is_reported(
    client: McpClient,
) -> None:
    written = write_file(ALL, client)
    assert "s-" not in written.text.replace("mcp-progress-monitor", "")
    reported = " ".join(written.left_out)
    assert "PLAIN" in reported
    assert "api-key" in reported
    assert ("Authorization" in reported) == (client.key not in WITHOUT_URLS)


def test_references_stand_in_the_clients_own_syntax() -> None:
    written = json.loads(write_file([PROCESS, WEB], client_of("claude-code")).text)["mcpServers"]
    assert written["a b.c"]["env"] == {"PLAIN": "${PLAIN}", "OTHER": "${NAME}"}
    assert written["web"]["headers"]["Authorization"] == "Bearer ${WEB_AUTHORIZATION}"
    table = tomllib.loads(write_file([WEB], CODEX).text)["mcp_servers"]["web"]
    assert table["bearer_token_env_var"] == "WEB_AUTHORIZATION"
    assert table["env_http_headers"] == {"X-Y": "Q"}


def test_what_a_client_cannot_have_is_reported() -> None:
    left_out = write_file(ALL, client_of("claude-desktop"), with_secrets=True).left_out
    servers = [text.partition(":")[0] for text in left_out if "does not expand" not in text]
    assert servers == ["web", "old", "signed", "off"]


@pytest.mark.parametrize(
    ("key", "reported"),
    [
        ("claude-desktop", ["A", "B", "C"]),
        ("zed", ["A", "B", "C"]),
        ("codex", ["B", "C"]),
        ("cursor", []),
    ],
)
def test_references_that_a_client_does_not_look_up_are_reported(
    key: str, reported: list[str]
) -> None:
    env = {"A": "${env:A}", "X": "${env:B}"}
    server = StdioDefinition(name="a", command="c", args=("--key=${env:C}",), env=env)
    written = write_file([CatalogueEntry(server)], client_of(key), with_secrets=True)
    places = [text.rpartition("${env:")[2].partition("}")[0] for text in written.left_out]
    assert places == reported
    hidden = write_file([CatalogueEntry(server.model_copy(update={"env": {"P": "s"}}))], ZED)
    assert not any("in the environment" in text for text in hidden.left_out)


def test_a_secret_in_our_keyring_is_a_variable_for_others() -> None:
    entry = CatalogueEntry(
        StdioDefinition(
            name="a", command="c", args=("${keyring:a/x}", "${ask:pin}"), env={"T": "${keyring:t}"}
        )
    )
    for with_secrets in (False, True):
        written = write_file([entry], VS_CODE, with_secrets=with_secrets)
        assert "keyring:" not in written.text
        assert "ask:" not in written.text
        assert any("pin asked for" in message for message in written.left_out)
        assert json.loads(written.text)["servers"]["a"]["env"] == {"T": "${env:T}"}
        assert any("keyring" in message for message in written.left_out)
    assert "${keyring:t}" in write_file([entry], OURS).text


def test_what_the_client_itself_wrote_beside_goes_back_to_it() -> None:
    entry = CatalogueEntry(
        StdioDefinition(name="a", command="c"),
        origin="Cline, /f",
        unknown={"autoApprove": ["x"], "apiKey": "s"},
    )
    written = json.loads(write_file([entry], client_of("cline")).text)["mcpServers"]["a"]
    assert written["autoApprove"] == ["x"]
    assert "apiKey" not in written
    other = json.loads(write_file([entry], client_of("cursor")).text)["mcpServers"]["a"]
    assert "autoApprove" not in other


def test_a_file_that_is_there_keeps_the_rest_of_it(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text('{"theme": 1, "mcpServers": {"mine": {"command": "m"}, "off": {"x": 1}}}')
    write_file([OFF], client_of("cline"), file)
    content = json.loads(file.read_text())
    assert content["theme"] == 1
    assert content["mcpServers"]["mine"] == {"command": "m"}
    assert content["mcpServers"]["off"]["command"] == "z"


def test_a_file_of_codex_keeps_its_comments_and_order(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    head = '# mine\nmodel = "o3"  # why\n\n'
    mine = '[mcp_servers.mine]\ncommand = "m"  # keep\n\n'
    off = '# about off\n[mcp_servers.off]\ncommand = "old"  # its command\n\n'
    tail = "[profiles.x]\ndepth = 1\n"
    file.write_text(head + mine + off + tail)
    kept = write_file([OFF, WEB], CODEX, file, with_secrets=True).kept
    assert kept is not None
    assert kept.read_text() == head + mine + off + tail
    text = file.read_text()
    assert text.startswith(head + mine + '# about off\n[mcp_servers.off]\ncommand = "z"  # its')
    assert text.endswith(f"\n\n{tail}")
    servers = tomllib.loads(text)["mcp_servers"]
    assert list(servers) == ["mine", "off", "web"]
    assert servers["off"] == {"command": "z", "args": [], "enabled": False}
    assert write_file([OFF, WEB], CODEX, file, with_secrets=True).kept is None
    assert file.read_text() == text


def test_a_file_that_the_toml_library_would_spoil_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "config.toml"
    file.write_text("depth = 1\n")
    spoilt = "[mcp_servers.off]\ncommand = 'z'\nargs = []\nenabled = false\ndepth = 1\n"
    monkeypatch.setattr(
        "mcp_progress_monitor.catalogue.toml_editing.with_entries", lambda *_: spoilt
    )
    with pytest.raises(UserError, match="not overwritten"):
        write_file([OFF], CODEX, file)
    assert file.read_text() == "depth = 1\n"


def test_settings_of_gemini_name_just_those_servers_that_are_disabled(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    rules = {"allowed": ["x"], "excluded": ["theirs", "old"]}
    file.write_text(json.dumps({"mcp": rules, "mcpServers": {}}))
    write_file([OFF, OLDER], client_of("gemini"), file)
    content = json.loads(file.read_text())
    assert content["mcp"] == {"allowed": ["x"], "excluded": ["theirs", "off"]}
    file.write_text('{"theme": 1}')
    write_file([OLDER], client_of("gemini"), file)
    assert "mcp" not in json.loads(file.read_text())


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("f.json", '{"a": 1} // why'),
        ("f.json", '{"a": 1, "a": 2}'),
        ("f.json", "oops"),
        ("f.json", "[]"),
        ("f.toml", "a = "),
        ("f.toml", 'mcp_servers = "none"'),
        ("f.toml", 'mcp_servers."a b.c".command = "m"\nlast = 1\n'),
    ],
)
def test_a_file_that_would_lose_something_is_left_alone(
    tmp_path: Path, name: str, content: str
) -> None:
    file = tmp_path / name
    file.write_text(content)
    with pytest.raises(UserError):
        write_file([PROCESS], CODEX if name.endswith("toml") else VS_CODE, file)
    assert file.read_text() == content


def test_any_text_can_be_written() -> None:
    entry = CatalogueEntry(
        StdioDefinition(name='q"\x7f\n', command="é", args=("\\",)),
        origin="VS Code, /f",
        unknown={"half": "\ud800"},
    )
    table = tomllib.loads(write_file([entry], CODEX).text)["mcp_servers"]
    assert list(table) == ['q"\x7f\n']
    server = json.loads(write_file([entry], VS_CODE).text)["servers"]['q"\x7f\n']
    assert server["args"] == ["\\"]
    assert server["half"] == "\ud800"


def test_a_file_whose_servers_are_replaced_is_kept_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    before = tmp_path / "mcp.json.before"
    server = CatalogueEntry(StdioDefinition(name="a", command="c", env={"TOKEN": "${env:TOKEN}"}))
    mine = '{"mcpServers": {"a": {"command": "c", "env": {"TOKEN": "only here"}}}}'
    file.write_text(mine)
    assert write_file([server], client_of("cursor"), file).kept == before
    assert before.read_text() == mine
    assert "only here" not in file.read_text()
    assert write_file([server], client_of("cursor"), file).kept is None
    other = CatalogueEntry(StdioDefinition(name="a", command="other"))
    assert write_file([other], client_of("cursor"), file).kept == tmp_path / "mcp.json.before-2"
    assert before.read_text() == mine


def test_exports_to_one_file_at_the_same_time_all_take_effect(tmp_path: Path) -> None:
    entries = [CatalogueEntry(StdioDefinition(name=f"s{n}", command="x")) for n in range(8)]
    file = tmp_path / "mcp.json"
    for _ in range(5):
        file.write_text("{}")
        gate = threading.Barrier(len(entries))

        def export(entry: CatalogueEntry, gate: threading.Barrier = gate) -> None:
            gate.wait()
            write_file([entry], VS_CODE, file)

        with ThreadPoolExecutor(len(entries)) as pool:
            list(pool.map(export, entries))
        assert json.loads(file.read_text())["servers"].keys() == {f"s{n}" for n in range(8)}
    assert [path.name for path in tmp_path.iterdir()] == [file.name]
