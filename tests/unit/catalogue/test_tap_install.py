"""Taps in clients' files: the same bytes when they are out again, and nothing else touched."""

import json
import os
import stat
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mcp_progress_monitor.catalogue.catalogue import CatalogueEntry
from mcp_progress_monitor.catalogue.client_files import FoundFile, found_files
from mcp_progress_monitor.catalogue.clients import (
    CLAUDE_CODE,
    CLAUDE_DESKTOP,
    CODEX,
    CURSOR,
    GEMINI,
    KNOWN,
    VS_CODE,
    ZED,
    McpClient,
)
from mcp_progress_monitor.catalogue.documents import without_comments
from mcp_progress_monitor.catalogue.reading import read_file
from mcp_progress_monitor.catalogue.tap_install import (
    ClientServer,
    FileChange,
    save,
    servers_of,
    tapped,
    untapped,
)
from mcp_progress_monitor.catalogue.taps import TapProgram, entry_tap
from mcp_progress_monitor.catalogue.writing import write_file
from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.snapshots.definitions import StdioDefinition
from tests.unit.catalogue.test_clients import PLACES as LAYOUTS

HERE = TapProgram((sys.executable,))  # a program that is there
GONE = TapProgram(("/no/such/mcp-progress-monitor",))
WINDOWS = TapProgram(("C:\\Program Files\\mcp-progress-monitor.exe",), is_windows=True)


def put(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def servers(path: Path, client: McpClient = CURSOR) -> list[ClientServer]:
    return [each for each in servers_of(FoundFile(client, path)) if not each.why_not]


def install(path: Path, client: McpClient = CURSOR, program: TapProgram = HERE) -> FileChange:
    change = tapped(servers(path, client), program)
    save(change)
    return change


def remove(path: Path, client: McpClient = CURSOR) -> FileChange:
    change = untapped(servers(path, client))
    save(change)
    return change


JSON = """\
// my servers
{
  "other": [1, 2.50, "\\u00e4"], /* kept */
  "mcpServers": {
    "files": {
      "type": "stdio",
      "command": "npx", // the command
      "args": [
        "-y", // yes
        "@modelcontextprotocol/server-filesystem",
        "${input:folder}",
      ],
      "env": {"TOKEN": "${input:token}", "B": "2"},
      "envFile": "${workspaceFolder}/.env",
      "cwd": "/srv",
      "disabled": true,
    },
    "bare": {"command": "run"},
    "empty": {"args": [ ], "command": "c:\\\\a\\\\b.exe", "x": null},
    "web": {"url": "https://example.com/mcp"},
  },
}
"""


def test_only_the_words_of_the_command_change(tmp_path: Path) -> None:
    file = put(tmp_path / "mcp.json", JSON)
    change = install(file)
    assert [each.name for each in change.servers] == ["files", "bare", "empty"]
    message = json.dumps(sys.executable)

    def script(name: str) -> str:
        return json.dumps(
            f'[ -x "$0" ] && exec "$0" tap --name {name} --client Cursor -- "$@"; exec "$@"'
        )

    expected = (
        JSON.replace('"command": "npx"', '"command": "/bin/sh"')
        .replace(
            '        "-y"',
            f'        "-c",\n        {script("files")},\n        {message},\n        "npx",\n'
            '        "-y"',
        )
        .replace(
            '{"command": "run"}',
            f'{{"command": "/bin/sh", "args": [ "-c", {script("bare")}, {message}, "run" ]}}',
        )
        .replace('"command": "c:\\\\a\\\\b.exe"', '"command": "/bin/sh"')
        .replace("[ ]", f'["-c", {script("empty")}, {message}, "c:\\\\a\\\\b.exe" ]')
    )
    assert file.read_text() == expected
    assert remove(file).after == JSON.encode()
    assert file.read_bytes() == JSON.encode()


TOML = """\
# mine
model = "o3"  # why
[mcp_servers.files]
command = "npx"  # the command
args = [
    "-y",  # yes
    'C:\\x',
]
env = { TOKEN = "t", B = "2" }

[mcp_servers]
[mcp_servers."a b.c"]
startup_timeout_sec = 20.0
  command = 'run'   # it has no arguments
enabled = false
[mcp_servers."a b.c".env]
K = "v"

[profiles.x]
depth = 1
"""
INLINE = (
    'mcp_servers = { "a b" = { command = "x", env = { A = "1" } }, c = { command = "y", args = [] }'
    " }\n"
)
DOTTED = 'mcp_servers.a.command = "x"\nmcp_servers.a.env.K = "v"\nmcp_servers.b."command"="y"'


@pytest.mark.parametrize("text", [TOML.replace("\n[mcp_servers]\n", "\n"), INLINE, DOTTED])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("program", [HERE, GONE, WINDOWS])
def test_toml_is_edited_in_place(
    tmp_path: Path, text: str, line_end: str, program: TapProgram
) -> None:
    before = text.replace("\n", line_end)
    file = put(tmp_path / "config.toml", before)
    change = install(file, CODEX, program)
    assert len(change.servers) == 2
    found = tomllib.loads(change.after.decode())
    old = tomllib.loads(before)
    for name, entry in found["mcp_servers"].items():
        assert entry_tap(entry) is not None
        gone = {"command", "args"}
        kept = {key: value for key, value in old["mcp_servers"][name].items() if key not in gone}
        assert {key: value for key, value in entry.items() if key not in gone} == kept
    assert remove(file, CODEX).after == before.encode()


def test_a_toml_entry_without_arguments_gets_them_in_a_line_below(tmp_path: Path) -> None:
    file = put(tmp_path / "config.toml", '[mcp_servers.a]\n  command = "x" # why\nenabled = true\n')
    install(file, CODEX, TapProgram(("/opt/x",)))
    lines = file.read_text().splitlines()
    assert lines[1] == '  command = "/bin/sh" # why'
    assert lines[2].startswith('  args = [ "-c", "[ -x ')
    assert lines[2].endswith(', "/opt/x", "x" ]')
    assert lines[3] == "enabled = true"


def test_installing_twice_changes_nothing(tmp_path: Path) -> None:
    file = put(tmp_path / "mcp.json", JSON)
    once = install(file).after
    again = tapped(servers(file), HERE)
    assert again.servers == ()
    assert again.before == again.after == once
    assert again.diff() == []


def test_a_tap_whose_program_is_gone_is_replaced(tmp_path: Path) -> None:
    file = put(tmp_path / "mcp.json", JSON)
    install(file, program=GONE)
    after = install(file, program=HERE).after
    put(file, JSON)
    assert install(file, program=HERE).after == after


def test_a_tap_of_an_earlier_version_is_renewed_and_can_be_removed(tmp_path: Path) -> None:
    older = 't=$0; [ -x "$t" ] && exec "$t" tap --name a --data-dir /d -- "$@"; exec "$@"'
    entry = {"command": "/bin/sh", "args": ["-c", older, sys.executable, "npx", "-y"]}
    file = put(tmp_path / "mcp.json", json.dumps({"mcpServers": {"a": entry}}))
    install(file)
    (server,) = servers(file)
    assert server.tap is not None
    assert (server.tap.is_older, server.tap.data_dir) == (False, Path("/d"))
    assert install(file).servers == ()
    remove(file)
    assert json.loads(file.read_text())["mcpServers"]["a"] == {"command": "npx", "args": ["-y"]}


def test_taking_out_one_server_leaves_the_others(tmp_path: Path) -> None:
    file = put(tmp_path / "mcp.json", JSON)
    install(file)
    first, *others = servers(file)
    save(untapped([first]))
    assert [each.tap is None for each in servers(file)] == [True, False, False]
    save(untapped(others))
    assert file.read_text() == JSON


def test_after_an_edit_only_our_words_go(tmp_path: Path) -> None:
    file = put(tmp_path / "mcp.json", JSON)
    install(file)
    edited = file.read_text().replace('"-y", // yes', '"-yy", "more", // why').replace('"2"', '"3"')
    edited = edited.replace('"run" ]', '"run", "fast" ]')
    put(file, edited)
    remove(file)
    assert file.read_text() == (
        JSON.replace('"-y", // yes', '"-yy", "more", // why')
        .replace('"2"', '"3"')
        .replace('{"command": "run"}', '{"command": "run", "args": [ "fast" ]}')
    )
    assert (tmp_path / "mcp.json.before").read_text() == JSON  # it has what is nowhere else


def test_a_comment_between_our_words_and_the_others_stays(tmp_path: Path) -> None:
    file = put(tmp_path / "mcp.json", JSON)
    install(file)
    put(file, file.read_text().replace('"npx",\n', '"npx", // mine\n'))
    remove(file)
    assert file.read_text() == JSON.replace('        "-y"', '         // mine\n        "-y"')


def test_removing_a_tap_from_a_rewritten_file_removes_only_ours(tmp_path: Path) -> None:
    file = put(tmp_path / "mcp.json", JSON)
    install(file)
    put(file, json.dumps(json.loads(without_comments(file.read_text())), indent=1))
    remove(file)
    found = json.loads(file.read_text())["mcpServers"]
    assert found["bare"].pop("args") == []  # as good as none
    assert found == json.loads(without_comments(JSON))["mcpServers"]


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_line_ends_and_a_byte_order_mark_stay(tmp_path: Path, line_end: bytes, mark: bytes) -> None:
    before = mark + JSON.encode().replace(b"\n", line_end)
    file = put(tmp_path / "mcp.json", before)
    after = install(file).after
    assert after.startswith(mark + b"// my servers" + line_end)
    assert after.count(b"\n") == after.count(line_end)
    assert remove(file).after == before


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights, and modes mean little")
def test_a_link_is_followed_and_the_mode_stays(tmp_path: Path) -> None:
    real = put(tmp_path / "dotfiles" / "mcp.json", JSON)
    real.chmod(0o640)
    link = tmp_path / "home" / "mcp.json"
    link.parent.mkdir()
    link.symlink_to(real)
    install(link)
    assert link.is_symlink()
    assert len(servers(real)) == 3
    assert all(each.tap is not None for each in servers(real))
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    backup = link.with_name("mcp.json.before")
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600  # there are tokens in it
    assert names_in(real.parent) == ["mcp.json"]


@pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() == 0, reason="whoever is root may write everything"
)
def test_a_file_that_its_owner_made_read_only_stays(tmp_path: Path) -> None:
    file = put(tmp_path / "mcp.json", JSON)
    change = tapped(servers(file), HERE)
    file.chmod(0o444)
    with pytest.raises(UserError, match="Cannot change the file"):
        save(change)
    assert file.read_text() == JSON


def test_there_is_one_backup_and_it_never_has_our_words(tmp_path: Path) -> None:
    file = put(tmp_path / "mcp.json", JSON)
    backup = tmp_path / "mcp.json.before"
    first, *others = servers(file)
    assert save(tapped([first], HERE)) == backup
    assert save(tapped(others, HERE)) == backup
    assert backup.read_text() == JSON
    assert names_in(tmp_path) == ["mcp.json", "mcp.json.before"]
    remove(file)
    assert names_in(tmp_path) == ["mcp.json"]  # it was the same to the byte


def test_a_backup_that_something_else_made_stays(tmp_path: Path) -> None:
    file = put(tmp_path / "mcp.json", JSON)
    other = put(tmp_path / "mcp.json.before", "mine")
    change = tapped(servers(file), HERE)
    assert save(change) == tmp_path / "mcp.json.before-2"
    assert other.read_text() == "mine"
    remove(file)
    assert (file.read_text(), other.read_text()) == (JSON, "mine")


def test_a_file_that_was_changed_after_the_preview_is_not_written(tmp_path: Path) -> None:
    file = put(tmp_path / "mcp.json", JSON)
    change = tapped(servers(file), HERE)
    put(file, JSON + "\n")
    with pytest.raises(UserError, match="changed in the meantime"):
        save(change)
    assert file.read_text() == JSON + "\n"
    assert names_in(tmp_path) == ["mcp.json"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}', "another 'a'"),
        ('{"mcpServers": {"a": {"command": "x", "command": "y"}}}', "another 'command'"),
        ('{"mcpServers": {"a": {"command": "x"}}, "mcpServers": {}}', "another 'mcpServers'"),
    ],
)
def test_duplicate_names_are_refused(tmp_path: Path, text: str, said: str) -> None:
    file = put(tmp_path / "mcp.json", text)
    with pytest.raises(UserError, match=said):
        tapped(servers(file), HERE)


def test_duplicates_elsewhere_are_none_of_our_business(tmp_path: Path) -> None:
    text = '{"x": 1, "x": 2, "mcpServers": {"b": {"k": 1, "k": 1}, "a": {"command": "x"}}}'
    file = put(tmp_path / "mcp.json", text)
    install(file)
    assert remove(file).after == text.encode()


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ({"url": "https://x"}, "tap --to"),
        ({"serverUrl": "https://x"}, "tap --to"),
        ({"args": ["x"]}, "no command"),
        ({"command": ""}, "no command"),
        ({"command": "x", "args": "y"}, "not a list"),
        ({"command": "x", "args": [1]}, "not a list"),
        ({"command": "x", "dev": {"debug": {"type": "node"}}}, "debugs"),
        ([], "not an object"),
    ],
)
def test_why_a_server_cannot_be_watched(tmp_path: Path, entry: Any, why: str) -> None:
    file = put(tmp_path / "mcp.json", json.dumps({"mcpServers": {"a": entry}}))
    (found,) = servers_of(FoundFile(CURSOR, file))
    assert why in found.why_not


def test_a_file_of_a_project_is_left_alone(tmp_path: Path) -> None:
    file = put(tmp_path / ".mcp.json", JSON)
    found = servers_of(FoundFile(CLAUDE_CODE, file, is_shared=True))
    assert {each.name for each in found if "project" in each.why_not} == {"files", "bare", "empty"}


def test_a_file_of_other_settings_has_no_servers(tmp_path: Path) -> None:
    file = put(tmp_path / "settings.json", '{"editor.fontSize": 12}')
    assert servers_of(FoundFile(VS_CODE, file)) == []


PLACES: dict[str, tuple[McpClient, Any]] = {
    "vscode": (VS_CODE, lambda entry: {"inputs": [], "servers": {"a": entry}}),
    "vscode settings": (VS_CODE, lambda entry: {"x": 1, "mcp": {"servers": {"a": entry}}}),
    "claude code": (CLAUDE_CODE, lambda entry: {"n": 3, "mcpServers": {"a": entry}}),
    "claude code project": (
        CLAUDE_CODE,
        lambda entry: {"projects": {"/p": {"mcpServers": {"a": entry}, "history": []}}},
    ),
    "desktop": (CLAUDE_DESKTOP, lambda entry: {"mcpServers": {"a": entry}}),
    "gemini": (GEMINI, lambda entry: {"mcp": {"excluded": ["a"]}, "mcpServers": {"a": entry}}),
    "zed": (ZED, lambda entry: {"context_servers": {"a": {"source": "custom", **entry}}}),
    "zed before 2025": (
        ZED,
        lambda entry: {
            "context_servers": {"a": {"command": {"path": entry.pop("command"), **entry}}}
        },
    ),
}


@pytest.mark.parametrize("place", PLACES)
def test_every_place_of_a_client_can_be_tapped(tmp_path: Path, place: str) -> None:
    client, document = PLACES[place]
    before = json.dumps(document({"command": "npx", "args": ["-y", "x"], "env": {"K": "v"}}))
    file = put(tmp_path / "f.json", before)
    (found,) = [server for server in servers(file, client) if server.tap is None]
    assert found.launch == ("npx", ("-y", "x"))
    install(file, client)
    (found,) = servers(file, client)
    assert found.launch == ("npx", ("-y", "x"))
    assert found.tap is not None
    assert (found.tap.name, found.tap.client) == ("a", client.title)
    assert remove(file, client).after == before.encode()


@pytest.mark.parametrize("client", KNOWN, ids=[client.key for client in KNOWN])
def test_what_is_imported_and_exported_is_the_server_inside(
    tmp_path: Path, client: McpClient
) -> None:
    file = tmp_path / ("f.toml" if client is CODEX else "f.json")
    definition = StdioDefinition(name="a", command="npx", args=("-y", "x"), env={"K": "v"})
    entry = CatalogueEntry(definition)
    write_file([entry], client, file, with_secrets=True)
    install(file, client)
    (found,) = read_file(file, client=client).found
    assert found.definition == definition
    assert "watched by this program" in " ".join(found.notes)
    # Exporting the same server again leaves it tapped, and needs no backup.
    before = file.read_bytes()
    assert write_file([entry], client, file, with_secrets=True).kept is None
    assert servers(file, client) == servers(file, client)
    (server,) = servers(file, client)
    assert server.tap is not None
    assert client is CODEX or json.loads(before) == json.loads(file.read_bytes())


def test_the_diff_has_no_secrets(tmp_path: Path) -> None:
    text = '{"mcpServers": {"a": {\n"env": {"API_KEY": "s3cret"},\n"command": "x"}}}'
    file = put(tmp_path / "mcp.json", text)
    lines = tapped(servers(file), HERE).diff()
    assert any(line.startswith("+") and "/bin/sh" in line for line in lines)
    assert any("API_KEY" in line for line in lines)
    assert not any("s3cret" in line for line in lines)


def test_the_diff_of_a_file_without_lines_shows_the_entry(tmp_path: Path) -> None:
    noise = {f"k{number}": number for number in range(200)}
    file = put(
        tmp_path / "mcp.json", json.dumps({"x": noise, "mcpServers": {"a": {"command": "x"}}})
    )
    lines = tapped(servers(file), HERE).diff()
    assert '-  "command": "x"' in lines
    assert len(lines) < 20


_SPACES = st.text(" \t\n", max_size=3) | st.sampled_from(["\n    ", " ", ""])
_NOTES = st.sampled_from([' // note, "x": [\n', ' /* ["c"], */ ', "", ""])
_WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
_VALUES = st.one_of(st.none(), st.integers(), _WORDS, st.lists(_WORDS, max_size=2))


@st.composite
def gaps(draw: st.DrawFn) -> str:
    """Space, perhaps with a comment."""
    return draw(_SPACES) + draw(_NOTES) + draw(_SPACES)


def json_word(draw: st.DrawFn, word: str) -> str:
    return json.dumps(word, ensure_ascii=draw(st.booleans()))


@st.composite
def json_lists(draw: st.DrawFn) -> str:
    message = draw(st.lists(_WORDS, max_size=3))
    if not message:
        return f"[{draw(_SPACES)}]"
    inner = ",".join(draw(gaps()) + json_word(draw, word) + draw(gaps()) for word in message)
    return f"[{inner}{draw(st.sampled_from(['', ',']))}{draw(gaps())}]"


@st.composite
def json_entries(draw: st.DrawFn) -> str:
    members = {"command": json_word(draw, draw(_WORDS.filter(bool)))}
    if draw(st.booleans()):
        members["args"] = draw(json_lists())
    for name in draw(st.sets(st.sampled_from(["env", "cwd", "disabled", "type x"]))):
        members[name] = json.dumps(draw(_VALUES))
    names = draw(st.permutations(sorted(members)))
    inner = ",".join(
        f"{draw(gaps())}{json.dumps(name)}{draw(gaps())}:{draw(gaps())}{members[name]}{draw(gaps())}"
        for name in names
    )
    return f"{{{inner}{draw(st.sampled_from(['', ',']))}{draw(gaps())}}}"


@st.composite
def json_files(draw: st.DrawFn) -> bytes:
    names = draw(st.lists(_WORDS, min_size=1, max_size=3, unique=True))
    inner = ",".join(
        f"{draw(gaps())}{json_word(draw, name)}:{draw(json_entries())}" for name in names
    )
    before = draw(st.sampled_from(["", '"x": [{"mcpServers": 1}, "}"],']))
    text = f'{draw(gaps())}{{{before}"mcpServers":{draw(gaps())}{{{inner}}}{draw(gaps())}}}\n'
    mark = draw(st.sampled_from([b"", b"\xef\xbb\xbf"]))
    return mark + text.replace("\n", draw(st.sampled_from(["\n", "\r\n"]))).encode()


def toml_word(draw: st.DrawFn, word: str) -> str:
    if "'" not in word and word.isprintable() and draw(st.booleans()):
        return f"'{word}'"
    return json.dumps(word).replace("\x7f", "\\u007f")


@st.composite
def toml_gaps(draw: st.DrawFn) -> str:
    return draw(st.sampled_from(["", " ", "\n  ", ' # a ], "b"\n  ']))


@st.composite
def toml_lists(draw: st.DrawFn) -> str:
    message = draw(st.lists(_WORDS.filter(lambda word: word.isascii()), max_size=3))
    if not message:
        return draw(st.sampled_from(["[]", "[ ]", "[\n]"]))
    inner = ",".join(
        draw(toml_gaps()) + toml_word(draw, word) + draw(toml_gaps()) for word in message
    )
    return f"[{inner}{draw(st.sampled_from(['', ',']))}{draw(toml_gaps())}]"


@st.composite
def toml_files(draw: st.DrawFn) -> bytes:
    parts = ["# mine\n", 'model = "o"\n']
    for number in range(draw(st.integers(1, 3))):
        members = {"command": toml_word(draw, draw(st.sampled_from(["npx", "a b", "c\\d"])))}
        if draw(st.booleans()):
            members["args"] = draw(toml_lists())
        if draw(st.booleans()):
            members["env"] = '{ A = "1" } # env'
        names = draw(st.permutations(sorted(members)))
        equals = draw(st.sampled_from([" = ", "=", "  =\t"]))
        key = draw(st.sampled_from([f"s{number}", f'"s {number}"']))
        head = f"[mcp_servers.{key}]\n"
        lead = ""
        if number == 0 and draw(st.booleans()):  # dotted keys, as long as no table has begun
            head, lead = "", f"mcp_servers.{key}."
        lines = [f"{lead}{name}{equals}{members[name]}\n" for name in names]
        parts.append(head + "".join(lines) + draw(st.sampled_from(["", "\n", "# end\n"])))
    text = "".join(parts)
    text = text if draw(st.booleans()) else text.rstrip("\n")
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n"]))).encode()


def there_and_back(content: bytes, client: McpClient, program: TapProgram) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "config"
        file.write_bytes(content)
        before = servers(file, client)
        file.write_bytes(tapped(before, program).after)
        between = servers(file, client)
        assert all(each.tap is not None for each in between)
        assert [each.launch for each in between] == [each.launch for each in before]
        assert untapped(between).after == content


_PROGRAMS = st.sampled_from([HERE, GONE, WINDOWS])


@given(json_files(), _PROGRAMS)
@example(b'{"mcpServers":{"":{"command":"x","args":[ ]}}}', HERE)
@example(b'{"mcpServers":{"":{"args":[],"command":"x"}}}', HERE)
@example(b'{"mcpServers":{"--":{"command":"x"}}}', WINDOWS)
def test_json_is_the_same_to_the_byte_after_removal(content: bytes, program: TapProgram) -> None:
    there_and_back(content, CURSOR, program)


@given(toml_files(), _PROGRAMS)
def test_toml_is_the_same_to_the_byte_after_removal(content: bytes, program: TapProgram) -> None:
    there_and_back(content, CODEX, program)


@pytest.mark.campaign
@pytest.mark.timeout(1800)
@settings(max_examples=3000)
@given(json_files(), toml_files(), _PROGRAMS)
def test_many_files_are_the_same_to_the_byte_after_removal(
    json_file: bytes, toml_file: bytes, program: TapProgram
) -> None:
    there_and_back(json_file, CURSOR, program)
    there_and_back(toml_file, CODEX, program)


DOCUMENTED = {
    "claude-desktop": """\
{
  "globalShortcut": "",
  "mcpServers": {
    "filesystem": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", "C:\\\\Users\\\\me\\\\Desktop"],
      "env": {"APPDATA": "C:\\\\Users\\\\me\\\\AppData\\\\Roaming\\\\"}
    }
  },
  "preferences": {"sidebarMode": "chat"}
}
""",
    "vscode": """\
{
  // https://code.visualstudio.com/docs/copilot/reference/mcp-configuration
  "inputs": [
    {"type": "promptString", "id": "api-key", "description": "API Key", "password": true},
  ],
  "servers": {
    "memory": {
      "type": "stdio",
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-memory", "${workspaceFolder}"],
      "env": {"API_KEY": "${input:api-key}"},
      "envFile": "${workspaceFolder}/.env",
      "dev": {"watch": "build/**/*.js"},
    },
    "github": {"type": "http", "url": "https://api.githubcopilot.com/mcp/"},
  },
}
""",
    "cursor": """\
{
  "mcpServers": {
    "server-name": {
      "type": "stdio",
      "command": "${userHome}/.local/bin/server",
      "args": ["--root", "${workspaceFolder}"],
      "env": {"API_KEY": "${env:MY_API_KEY}"},
      "envFile": ".env"
    },
    "remote": {"url": "https://api.example.com/mcp", "headers": {"Authorization": "Bearer x"}}
  }
}
""",
}
"""As the clients' own documentation shows them, with all that may stand in an entry."""
_LAYOUTS = [
    (platform, key, name)
    for platform, places in LAYOUTS.items()
    for key in DOCUMENTED
    for name in places[key]
    if name.endswith(("mcp.json", "config.json"))
]


@pytest.mark.parametrize(("platform", "key", "name"), _LAYOUTS)
def test_documented_files_are_wrapped_where_each_system_has_them(
    platform: str, key: str, name: str, tmp_path: Path
) -> None:
    text = DOCUMENTED[key]
    before = text.replace("\n", "\r\n" if platform == "win32" else "\n").encode()
    file = put(tmp_path / name, before)
    (found,) = found_files(tmp_path, {}, platform)
    assert (found.client.key, found.path, found.is_shared) == (key, file, False)
    usable = [server for server in servers_of(found) if not server.why_not]
    assert len(usable) == 1
    entry = json.loads(without_comments(text))[found.client.container][usable[0].name]
    program = WINDOWS if platform == "win32" else HERE
    save(tapped(usable, program))
    changed = json.loads(without_comments(file.read_text(encoding="utf-8")))
    wrapped = changed[found.client.container][usable[0].name]
    assert wrapped["command"] == (program.command[0] if program is WINDOWS else "/bin/sh")
    assert wrapped["args"][-len(entry["args"]) - 1 :] == [entry["command"], *entry["args"]]
    kept = {key: value for key, value in entry.items() if key not in {"command", "args"}}
    assert kept.items() <= wrapped.items()
    (server,) = [each for each in servers_of(found) if each.tap is not None]
    assert server.launch == (entry["command"], tuple(entry["args"]))
    save(untapped([server]))
    assert file.read_bytes() == before


def test_the_backup_is_deleted_beside_an_older_one(tmp_path: Path) -> None:
    file = put(tmp_path / "mcp.json", JSON)
    older = put(tmp_path / "mcp.json.before", "of another time")
    first, *others = servers(file)
    assert save(tapped([first], HERE)) == tmp_path / "mcp.json.before-2"
    assert save(tapped(others, HERE)) == tmp_path / "mcp.json.before-2"
    remove(file)
    assert file.read_text() == JSON
    assert names_in(tmp_path) == ["mcp.json", older.name]
