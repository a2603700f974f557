"""Wrong values from every border are refused in words that say what to change."""

import re
from pathlib import Path
from typing import Any, Final

import pytest
from pydantic import ValidationError

from mcp_progress_monitor.catalogue.catalogue import EXAMPLE, Catalogue
from mcp_progress_monitor.catalogue.reading import read_file
from mcp_progress_monitor.cli.calls.target import named_servers
from mcp_progress_monitor.cli.common import CommonOptions
from mcp_progress_monitor.cli.exits import CommandFailed
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.sessions.settings_file import SettingsFile
from mcp_progress_monitor.snapshots.definitions import (
    RestartPolicy,
    StdioDefinition,
    made_definition,
    read_definition,
)
from mcp_progress_monitor.validation import described

_PIECES: Final = re.compile(r"[^ ,]+")
_RUN: Final = {"transport": "stdio", "name": "n", "command": "c"}
_WEB: Final = {"transport": "http", "name": "n", "url": "https://a/mcp"}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (_RUN | {"name": ""}, "name: must not be empty"),
        (_RUN | {"name": "\ud800"}, "name: must be valid UTF-8"),
        (_RUN | {"command": "a\x00b"}, "command: must not contain a NUL character"),
        (_RUN | {"command": 7}, "command: must be a string"),
        (_RUN | {"args": "a b"}, "args: must be a list of strings"),
        (_RUN | {"args": ["a", 1]}, "args.1: must be a string"),
        (_RUN | {"args": ["a\x00"]}, "args.0: must not contain a NUL character"),
        (_RUN | {"env": ["A=1"]}, "env: must be an object with string values"),
        (
            _RUN | {"env": {"A=B": "1"}},
            "env.A=B: variable names must not contain an equals sign or a NUL character",
        ),
        (_RUN | {"env": {"A": 1}}, "env.A: must be a string"),
        (_RUN | {"env": {"A": "\ud800"}}, "env.A: must be valid UTF-8"),
        (_RUN | {"cwd": 7}, "cwd: must be a string"),
        (_RUN | {"era": "stone"}, "era: must be 'auto', 'handshake' or 'per-request'"),
        (_RUN | {"connect_timeout_s": 0}, "connect_timeout_s: must be greater than 0"),
        (_RUN | {"connect_timeout_s": "soon"}, "connect_timeout_s: must be a number"),
        (_RUN | {"idle_timeout_s": float("nan")}, "idle_timeout_s: must be a finite number"),
        (_RUN | {"idle_timeout_s": -1}, "idle_timeout_s: must be greater than or equal to 0"),
        (
            _RUN | {"total_timeout_s": 1e300},
            "total_timeout_s: must be less than or equal to 86400000",
        ),
        (_RUN | {"ping_interval_s": 86401}, "ping_interval_s: must be less than or equal to 86400"),
        (_RUN | {"restart": {"limit": 0}}, "restart.limit: must be greater than or equal to 1"),
        (_RUN | {"restart": {"limit": 2.5}}, "restart.limit: must be an integer"),
        (_RUN | {"restart": {"limit": "x"}}, "restart.limit: must be an integer"),
        (_RUN | {"restart": {"is_on": "maybe"}}, "restart.is_on: must be true or false"),
        (_RUN | {"restart": []}, "restart: must be an object"),
        (_RUN | {"watch": {"paths": "x"}}, "watch.paths: must be a list of strings"),
        (_WEB | {"transport": "stdio"}, "command: missing"),
        (
            _WEB | {"url": "ftp://a"},
            "url: a URL must start with http:// or https:// and contain a host",
        ),
        (_WEB | {"url": ""}, "url: must not be empty"),
        (_WEB | {"url": "http://a:0/"}, "url: port 0 is not valid"),
        (_WEB | {"url": "http://a:x/"}, "url: Port could not be cast to integer value as 'x'"),
        (
            _WEB | {"headers": {"a b": "1"}},
            "headers.a b: header names must not contain spaces or colons",
        ),
        (
            _WEB | {"headers": {"A": "1\n2"}},
            "headers.A: header values must be on one line, without NUL characters",
        ),
        (_WEB | {"auth": "basic"}, "auth: must be 'headers' or 'oauth'"),
        (_WEB | {"oauth": {"client_id": 7}}, "oauth.client_id: must be a string"),
        (_WEB | {"transport": "pigeon"}, "transport: must be 'stdio', 'http' or 'sse'"),
        ([], "must be an object"),
        (
            _RUN | {"name": "", "env": {"": "1"}, "restart": {"limit": 0}},
            (
                "name: must not be empty\n"
                "restart.limit: must be greater than or equal to 1\n"
                "env.: variable names must not contain an equals sign or a NUL character"
            ),
        ),
    ],
)
def test_a_wrong_definition_names_each_wrong_field(fields: object, message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        made_definition(fields)
    assert described(caught.value) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not valid JSON: EOF while parsing an object at line 1 column 1"),
        (b"\xff", "not valid JSON: expected value at line 1 column 1"),
        ("[" * 100_000, "not valid JSON: recursion limit exceeded at line 1 column 202"),
        ("null", "must be an object"),
    ],
    ids=["cut", "not UTF-8", "deep", "null"],
)
def test_a_saved_definition_that_is_none_is_refused(text: str | bytes, message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        read_definition(text)
    assert described(caught.value) == message


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("1", "The server's entry is not an object"),
        ("{}", "command: missing"),
        ('{"type": "pigeon"}', "type: unknown transport 'pigeon' (expected stdio, http or sse)"),
        ('{"command": ""}', "command: must not be empty"),
        ('{"command": "c", "mcpProgressMonitor": 3}', "mcpProgressMonitor: must be an object"),
        ('{"command": "c", "mcpProgressMonitor": {"restart": 1}}', "restart: must be an object"),
        (
            '{"command": "c", "mcpProgressMonitor": {"restart": {"longestDelay": "long"}}}',
            "restart.longest_delay_s: must be a number",
        ),
        ('{"command": "c", "mcpProgressMonitor": {"watch": 1}}', "watch: must be an object"),
        (
            '{"command": "c", "mcpProgressMonitor": {"pingInterval": "x"}}',
            "ping_interval_s: must be a number",
        ),
        (
            '{"url": "http://a/", "mcpProgressMonitor": {"auth": "basic"}}',
            "auth: must be 'headers' or 'oauth'",
        ),
        (
            '{"url": "http://a/", "mcpProgressMonitor": {"oauth": {"clientId": 7}}}',
            "oauth.client_id: must be a string",
        ),
        ('{"url": "http://a/", "mcpProgressMonitor": {"oauth": []}}', "oauth: must be an object"),
        (
            '{"command": "c", "mcpProgressMonitor": {"restart": {"firstDelay": -1}}}',
            "restart.first_delay_s: must be greater than or equal to 0",
        ),
        (
            '{"command": "c", "mcpProgressMonitor": {"connectTimeout": 0}}',
            "connect_timeout_s: must be greater than 0",
        ),
        (
            '{"command": "c", "mcpProgressMonitor": {"watch": {"patterns": "*.py"}}}',
            "watch.patterns: must be a list of strings",
        ),
        (
            '{"command": "c", "idle_timeout_s": -1}',
            "idle_timeout_s: must be greater than or equal to 0",
        ),
        (
            '{"url": "https://a", "mcpProgressMonitor": {"auth": "basic"}}',
            "auth: must be 'headers' or 'oauth'",
        ),
        (
            '{"url": "https://a", "mcpProgressMonitor": {"oauth": {"clientId": 1}}}',
            "oauth.client_id: must be a string",
        ),
        ('{"url": "a"}', "url: a URL must start with http:// or https:// and contain a host"),
    ],
)
def test_a_wrong_entry_of_the_catalogue_names_its_first_wrong_member(
    tmp_path: Path, entry: str, message: str
) -> None:
    file = tmp_path / "servers.json"
    file.write_text(f'{{"mcpServers": {{"a": {entry}}}}}')
    [error] = Catalogue(file).errors
    assert error == (message, f"{file}, server 'a'", EXAMPLE, "")


@pytest.mark.parametrize(
    ("entry", "what", "hint"),
    [
        (
            '{"a": {"command": "c", "mcpProgressMonitor": {"disabled": "no"}}}',
            "disabled: must be true or false",
            "",
        ),
        (
            '{"a": {"command": "c", "mcpProgressMonitor": {"connectAtStart": 1}}}',
            "connectAtStart: must be true or false",
            "",
        ),
        (
            '{"a": {"command": "' + "x" * 100_001 + '"}}',
            "The definition is longer than 100,000 characters",
            "Pass long values to the server in a file instead.",
        ),
        (
            '{"a": {"command": "c"}, "a": {"command": "d"}}',
            "Duplicate name 'a'; the first entry is used",
            "Rename or remove one of them.",
        ),
    ],
    ids=["disabled", "connectAtStart", "long", "duplicate"],
)
def test_an_entry_that_needs_no_example_has_none(
    tmp_path: Path, entry: str, what: str, hint: str
) -> None:
    file = tmp_path / "servers.json"
    file.write_text(f'{{"mcpServers": {entry}}}')
    [error] = Catalogue(file).errors
    assert (error.what, error.hint) == (what, hint)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "mcp.json",
            '{"servers": {"a": {"command": "c", "env": {"A": true}}}}',
            "env.A: must be a string",
        ),
        (
            "mcp.json",
            '{"mcpServers": {"a": {"command": "c", "args": {}}}}',
            "args: must be a list of strings",
        ),
        ("mcp.json", '{"mcpServers": {}}', "The file contains no servers"),
        ("mcp.json", '{"a": 1}', '"mcpServers" is missing in the configuration'),
        (
            "config.toml",
            '[mcp_servers.a]\ncommand="c"\nstartup_timeout_sec="x"\n',
            "connect_timeout_s: must be a number",
        ),
        (
            "config.toml",
            '[mcp_servers.a]\nurl="https://a"\nhttp_headers=1\n',
            "http_headers: not a table",
        ),
        ("mcp.json", '{"mcpServers": {"a": {"type": "http"}}}', "url: missing"),
        ("mcp.json", '{"mcpServers": {"a": 5}}', "The server's entry is not an object"),
        (
            "mcp.json",
            '{"mcpServers": {"a": {"url": "https://a", "headers": {"X Y": "1"}}}}',
            "headers.X Y: header names must not contain spaces or colons",
        ),
        (
            "mcp.json",
            '{"mcpServers": {"a": {"command": "c", "mcpProgressMonitor": {"era": "old"}}}}',
            "era: must be 'auto', 'handshake' or 'per-request'",
        ),
    ],
)
def test_a_wrong_file_of_a_client_names_the_first_wrong_member(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    file = tmp_path / name
    file.write_text(text)
    assert _of_file(file).what == message


def _of_file(file: Path) -> ErrorDetails:
    try:
        return read_file(file).errors[0]
    except UserError as error:
        return error.details


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not valid JSON: EOF while parsing an object at line 1 column 1"),
        ("[]", "must be an object"),
        ('{"version": 2}', "version: must be 1"),
        ('{"servers": []}', "servers: must be an object"),
        ('{"servers": {"k": 1}}', "servers.k: must be an object"),
        (
            '{"servers": {"k": {"rules": {"form": {"mode": "guess"}}}}}',
            "servers.k.rules.form.mode: must be 'ask', 'decline', 'answer' or 'undeclared'",
        ),
        (
            '{"servers": {"k": {"rules": {"form": {"mode": "answer"}}}}}',
            "servers.k.rules.form: a fixed answer is required",
        ),
        ('{"servers": {"k": {"rules": {"forms": {}}}}}', "servers.k.rules.forms: unknown"),
        (
            '{"servers": {"k": {"rules": {"form": {"delay_s": -1}}}}}',
            "servers.k.rules.form.delay_s: must be greater than or equal to 0",
        ),
        (
            '{"servers": {"k": {"rules": {"form": {"delay_s": 90000}}}}}',
            "servers.k.rules.form.delay_s: must be less than or equal to 86400",
        ),
        (
            '{"servers": {"k": {"rules": {"form": {"answer": []}}}}}',
            "servers.k.rules.form.answer: must be an object",
        ),
        ('{"servers": {"k": {"roots": {}}}}', "servers.k.roots: must be a list of roots"),
        ('{"servers": {"k": {"roots": [{}]}}}', "servers.k.roots.0.uri: missing"),
        (
            '{"servers": {"k": {"roots": [{"uri": "/a"}]}}}',
            "servers.k.roots.0.uri: must start with file://",
        ),
        (
            '{"servers": {"k": {"roots": [{"uri": "file:///a", "more": 1}]}}}',
            "servers.k.roots.0.more: unknown",
        ),
        (
            '{"servers": {"k": {"log_level": "loud"}}}',
            (
                "servers.k.log_level: must be 'debug', 'info', 'notice', 'warning', 'error',"
                " 'critical', 'alert' or 'emergency'"
            ),
        ),
    ],
)
def test_wrong_settings_are_left_unchanged_with_the_reason(
    tmp_path: Path, text: str, message: str
) -> None:
    file = tmp_path / "settings.json"
    file.write_text(text)
    error = SettingsFile(file).error
    assert error is not None
    assert error[:3] == (
        "Cannot read the server settings; they are left unchanged",
        str(file),
        "Fix the file, or move it away to start over.",
    )
    # Python keeps one union of the same literals, in the order of whoever made it first.
    assert sorted(_PIECES.findall(error.detail)) == sorted(_PIECES.findall(message))


_CHOOSE: Final = (
    "Choose one with -- COMMAND [ARG]..., --url URL, --server NAME, --config FILE [--server NAME]"
    " or --demo."
)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"url": ""}, f"The server's URL is empty\n{_CHOOSE}"),
        ({"command": ("",)}, f"The server's command is empty\n{_CHOOSE}"),
        (
            {"url": "ftp://a"},
            (
                "Invalid server settings (url)\n"
                "a URL must start with http:// or https:// and contain a host"
            ),
        ),
        (
            {"url": "http://a", "header": (("a b", "1"),)},
            "Invalid server settings (a b)\nheader names must not contain spaces or colons",
        ),
        (
            {"command": ("a\x00",)},
            "Invalid server settings (command)\nmust not contain a NUL character",
        ),
        (
            {"command": ("c",), "env": (("A=B", "1"),)},
            (
                "Invalid server settings (A=B)\n"
                "variable names must not contain an equals sign or a NUL character"
            ),
        ),
        (
            {"command": ("c",), "connect_timeout": -1.0},
            "Invalid server settings (connect_timeout_s)\nmust be greater than 0",
        ),
        (
            {"command": ("c",), "connect_timeout": float("inf")},
            "Invalid server settings (connect_timeout_s)\nmust be a finite number",
        ),
        ({"command": ("a", "\ud800")}, "The server's command or URL is not valid UTF-8"),
    ],
)
def test_a_wrong_option_is_refused_as_the_server_it_would_make(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(CommandFailed) as caught:
        named_servers(CommonOptions(**options))
    assert caught.value.details.as_text() == message


@pytest.mark.parametrize(
    ("given", "held"),
    [
        ({"connect_timeout_s": "2.5"}, {"connect_timeout_s": 2.5}),
        ({"restart": {"limit": "4", "is_on": "Yes"}}, {"restart": RestartPolicy(limit=4)}),
        ({"args": ["a"], "newer": 1}, {"args": ("a",)}),
    ],
)
def test_values_are_converted_and_fields_of_a_newer_version_ignored(
    given: dict[str, Any], held: dict[str, Any]
) -> None:
    assert made_definition(_RUN | given) == StdioDefinition.model_validate(_RUN | held)


def test_what_was_written_is_read_again() -> None:
    full = StdioDefinition(name="é", command="c", env={"A": "1"}, restart=RestartPolicy(limit=2))
    written = full.model_dump_json()
    assert read_definition(written) == full
    assert written.startswith('{"name":"é","era":"auto"')
    assert full.model_dump(exclude_defaults=True) == {
        "name": "é",
        "command": "c",
        "env": {"A": "1"},
        "restart": {"limit": 2},
    }


def test_an_error_shows_no_value_because_it_may_be_a_secret() -> None:
    with pytest.raises(ValidationError) as caught:
        made_definition(_WEB | {"headers": {"Authorization": "Bearer\nsecret"}})
    assert "secret" not in str(caught.value)
