"""The options name one server, or the refusal says how to."""

import json
from pathlib import Path

import click
import pytest

from mcp_progress_monitor import paths
from mcp_progress_monitor.catalogue.catalogue import FILE_NAME, Catalogue, CatalogueEntry
from mcp_progress_monitor.catalogue.trust import FILE_NAME as TRUST
from mcp_progress_monitor.catalogue.trust import Trust
from mcp_progress_monitor.cli.calls.target import named_servers, one_server, url_definition
from mcp_progress_monitor.cli.common import CommonOptions
from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode
from mcp_progress_monitor.snapshots.definitions import HttpDefinition, StdioDefinition


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "mcp.json"
    servers = {
        "a": {"command": "one", "env": {"KEPT": "1", "CHANGED": "1"}, "cwd": "/a"},
        "b": {"command": "two", "args": ["x"]},
        "web": {"url": "ftp://localhost"},
    }
    file.write_text(json.dumps({"mcpServers": servers}))
    return file


def test_a_command_is_a_server_named_after_what_it_runs() -> None:
    found = one_server(CommonOptions(command=("/usr/bin/python", "server.py", "--fast")))
    assert found == StdioDefinition(
        name="server", command="/usr/bin/python", args=("server.py", "--fast")
    )


@pytest.mark.parametrize(
    ("command", "name"),
    [("npx", "npx"), (r"C:\tools\node.EXE", "node"), ("./server/", "server"), ("/", "/")],
)
def test_any_command_has_a_name(command: str, name: str) -> None:
    assert one_server(CommonOptions(command=(command,))).name == name


@pytest.mark.announces_log("skipped: .*'web'")
def test_a_configuration_names_all_its_servers_or_one(config: Path) -> None:
    assert [found.name for found in named_servers(CommonOptions(config=config))] == ["a", "b"]
    assert named_servers(CommonOptions(config=config, server="b"))[0].address == "two x"


def test_starting_options_come_on_top_of_the_configuration(config: Path, tmp_path: Path) -> None:
    common = CommonOptions(
        config=config,
        server="a",
        cwd=tmp_path,
        env=(("CHANGED", "2"), ("NEW", "=")),
        era="handshake",
        connect_timeout=3.0,
    )
    (found,) = named_servers(common)
    assert isinstance(found, StdioDefinition)
    assert found.env == {"KEPT": "1", "CHANGED": "2", "NEW": "="}
    assert (found.cwd, found.era, found.connect_timeout_s) == (str(tmp_path), "handshake", 3.0)


def test_the_demo_is_a_server() -> None:
    demo = one_server(CommonOptions(demo=True))
    assert isinstance(demo, StdioDefinition)
    assert [demo.command, *demo.args] == paths.internal_command(paths.DEMO)


def test_nothing_named_is_no_server() -> None:
    assert named_servers(CommonOptions()) == ()


@pytest.mark.parametrize(
    ("common", "advice"),
    [
        (CommonOptions(), "No server given"),
        (CommonOptions(demo=True, command=("x",)), "Several servers given"),
        (CommonOptions(server="a", demo=True), "Several servers given"),
        (CommonOptions(url="http://a", command=("x",)), "Several servers given"),
        (CommonOptions(oauth=True, demo=True), "--url URL"),
        (CommonOptions(oauth_client_id="mine", demo=True), "--url URL"),
        (CommonOptions(transport="sse"), "--url URL"),
        (CommonOptions(header=(("A", "1"),)), "--url URL"),
        (CommonOptions(header=(("A", "1"),), demo=True), "--url URL"),
        (CommonOptions(url="http://a", env=(("A", "1"),)), "cannot be used with --url"),
        (CommonOptions(env=(("A", "1"),)), "need a server"),
    ],
)
def test_a_wrong_choice_is_a_usage_error(common: CommonOptions, advice: str) -> None:
    with pytest.raises(click.UsageError) as caught:
        one_server(common)
    assert advice in caught.value.message


@pytest.mark.announces_log("skipped: .*'web'")
def test_several_servers_have_to_be_chosen_from(config: Path) -> None:
    with pytest.raises(click.UsageError) as caught:
        one_server(CommonOptions(config=config))
    assert "a, b" in caught.value.message


@pytest.mark.parametrize(("name", "advice"), [("c", "a, b"), ("web", "http://")])
def test_a_server_that_cannot_be_had_says_why(config: Path, name: str, advice: str) -> None:
    with pytest.raises(CommandFailed) as caught:
        one_server(CommonOptions(config=config, server=name))
    assert caught.value.code is ExitCode.USAGE
    assert advice in caught.value.as_text()


@pytest.mark.parametrize("content", [None, "{", "[]", '{"mcpServers": 3}'])
def test_an_unreadable_configuration_is_reported_with_its_place(
    tmp_path: Path, content: str | None
) -> None:
    file = tmp_path / "mcp.json"
    if content is not None:
        file.write_text(content)
    with pytest.raises(CommandFailed) as caught:
        named_servers(CommonOptions(config=file))
    assert caught.value.code is ExitCode.USAGE
    assert str(file) in caught.value.as_text()


@pytest.mark.parametrize("server", [None, "a"])
@pytest.mark.parametrize("content", ['{"mcpServers": {}}', '{"servers": {}}'])
def test_a_configuration_without_servers_says_so_and_what_it_should_look_like(
    tmp_path: Path, content: str, server: str | None
) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(content)
    with pytest.raises(CommandFailed) as caught:
        one_server(CommonOptions(config=file, server=server))
    assert caught.value.code is ExitCode.USAGE
    assert caught.value.details[:2] == ("The file contains no servers", str(file))
    assert '{"mcpServers": {"files": {"command"' in caught.value.details.hint


def test_what_no_system_can_start_is_refused() -> None:
    with pytest.raises(CommandFailed) as caught:
        one_server(CommonOptions(command=("a\0b",)))
    assert caught.value.code is ExitCode.USAGE


def test_a_url_is_a_server_named_after_its_host() -> None:
    common = CommonOptions(
        url="https://me:pw@example.com:8443/mcp",
        header=(("A", "1"), ("B", "${env:B}")),
        oauth=True,
        transport="sse",
        era="handshake",
    )
    assert one_server(common) == HttpDefinition(
        name="example.com:8443",
        url="https://me:pw@example.com:8443/mcp",
        headers={"A": "1", "B": "${env:B}"},
        auth="oauth",
        transport="sse",
        era="handshake",
    )


@pytest.mark.parametrize("url", ["example.com", "ftp://a", "http://", "http://[", "http://a:b"])
def test_what_is_no_url_is_refused_with_a_message(url: str) -> None:
    with pytest.raises(CommandFailed) as caught:
        one_server(CommonOptions(url=url))
    assert caught.value.code is ExitCode.USAGE
    assert caught.value.details.where == "url"


def test_a_header_that_none_can_be_is_refused() -> None:
    with pytest.raises(CommandFailed):
        one_server(CommonOptions(url="http://a", header=(("A B", "1"),)))


def test_a_server_of_a_file_needs_consent_and_nothing_else_of_it(
    config: Path, data_dir: Path
) -> None:
    common = CommonOptions(config=config, server="b", data_dir=data_dir, era="handshake")
    with pytest.raises(CommandFailed) as caught:
        one_server(common)
    assert caught.value.code is ExitCode.USAGE
    said = caught.value.as_text()
    assert f"servers trust b --config {config} --data-dir {data_dir}" in said
    assert "Command:   two x" in said
    folder = str(Path.cwd())
    assert f"Folder:    {folder}" in said
    agreed = StdioDefinition(name="b", command="two", args=("x",), cwd=folder)
    Trust(data_dir / TRUST).approve(agreed)
    assert one_server(common) == agreed.model_copy(update={"era": "handshake"})


def test_consent_is_for_one_folder(
    config: Path, data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    common = CommonOptions(config=config, server="b", data_dir=data_dir)
    here = StdioDefinition(name="b", command="two", args=("x",), cwd=str(Path.cwd()))
    Trust(data_dir / TRUST).approve(here)
    one_server(common)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CommandFailed):
        one_server(common)


def test_a_saved_server_is_known_by_its_name(data_dir: Path) -> None:
    saved = StdioDefinition(name="s", command="c", env={"A": "1"})
    catalogue = Catalogue(data_dir / FILE_NAME)
    catalogue.add(CatalogueEntry(saved))
    catalogue.add(CatalogueEntry(HttpDefinition(name="off", url="http://a"), is_disabled=True))
    common = CommonOptions(server="s", data_dir=data_dir, env=(("B", "2"),))
    with pytest.raises(CommandFailed, match="not approved"):
        one_server(common)
    Trust(data_dir / TRUST).approve(saved)
    found = one_server(common)
    assert isinstance(found, StdioDefinition)
    assert found.env == {"A": "1", "B": "2"}
    for name, advice in (("off", "servers enable off"), ("none", "Saved servers: s, off")):
        with pytest.raises(CommandFailed) as caught:
            one_server(CommonOptions(server=name, data_dir=data_dir))
        assert advice in caught.value.as_text()


def test_a_broken_file_of_saved_servers_is_reported_with_its_place(data_dir: Path) -> None:
    (data_dir / FILE_NAME).write_text("{oops")
    with pytest.raises(CommandFailed) as caught:
        one_server(CommonOptions(server="s", data_dir=data_dir))
    assert caught.value.code is ExitCode.USAGE
    assert "line 1, column 2" in caught.value.details.where


@pytest.mark.announces_log("skipped: (disabled|needs input)")
def test_servers_that_cannot_run_now_are_left_out_of_all(tmp_path: Path) -> None:
    file = tmp_path / "f.json"
    servers = {
        "on": {"command": "c"},
        "off": {"command": "c", "disabled": True},
        "asks": {"command": "c", "args": ["${input:x}"]},
    }
    file.write_text(json.dumps({"mcpServers": servers}))
    assert [one.name for one in named_servers(CommonOptions(config=file))] == ["on"]
    with pytest.raises(CommandFailed) as caught:
        named_servers(CommonOptions(config=file, server="asks"))
    assert f"servers import {file} asks" in caught.value.as_text()


@pytest.mark.parametrize(
    ("options", "advice"),
    [
        (CommonOptions(url="http://a/", header=(("A", "b\nc: s3cret"),)), "must be on one line"),
        (
            CommonOptions(url="http://a/", header=(("A b", "s3cret"),)),
            "must not contain spaces or colons",
        ),
        (CommonOptions(command=("c",), env=(("A", "s3cret\0"),)), "a NUL character"),
        (CommonOptions(url="ftp://a/"), "http:// or https://"),
        (CommonOptions(url=""), "The server's URL is empty"),
        (CommonOptions(command=("",)), "The server's command is empty"),
        (CommonOptions(command=("\udcff",)), "not valid UTF-8"),
        (CommonOptions(command=("c", "\udcff")), "not valid UTF-8"),
    ],
)
def test_what_cannot_be_sent_is_reported_with_a_message_and_without_the_value(
    options: CommonOptions, advice: str
) -> None:
    with pytest.raises(CommandFailed) as failure:
        one_server(options)
    assert failure.value.code is ExitCode.USAGE
    assert advice in failure.value.details.as_text()
    assert "s3cret" not in failure.value.details.as_text()


def test_what_was_meant_by_a_name_is_guessed(config: Path, data_dir: Path) -> None:
    Catalogue(data_dir / FILE_NAME).add(
        CatalogueEntry(StdioDefinition(name="my files", command="c"), is_disabled=True)
    )
    config.write_text(json.dumps({"mcpServers": {"github": {"command": "c"}}}))
    for options, advice in (
        (CommonOptions(config=config, server="gitub"), "Did you mean 'github'?"),
        (CommonOptions(config=config, server="GITHUB"), "Did you mean 'github'?"),
        (CommonOptions(server="my file", data_dir=data_dir), "Did you mean 'my files'?"),
        (CommonOptions(server="My Files", data_dir=data_dir), "Did you mean 'my files'?"),
        (CommonOptions(server="my files", data_dir=data_dir), "servers enable 'my files'"),
    ):
        with pytest.raises(CommandFailed) as failure:
            one_server(options)
        assert advice in failure.value.details.hint


def test_a_client_id_signs_in_as_that_client() -> None:
    common = CommonOptions(url="https://h.example/mcp", oauth_client_id="https://u.example/c.json")
    definition = url_definition(common, "https://h.example/mcp")
    assert definition.auth == "oauth"
    assert definition.oauth.client_id == "https://u.example/c.json"
