"""The saved servers: every change on disk, nobody's edit written over, nothing lost."""

import json
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcp_progress_monitor import private_file
from mcp_progress_monitor.catalogue.catalogue import Catalogue, CatalogueEntry
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.snapshots.definitions import (
    FileWatch,
    HttpDefinition,
    OAuthClient,
    RestartPolicy,
    StdioDefinition,
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "servers.json"


def entry(name: str, command: str = "c", **more: Any) -> CatalogueEntry:
    return CatalogueEntry(StdioDefinition(name=name, command=command), **more)


def names(catalogue: Catalogue) -> list[str]:
    return [one.name for one in catalogue.entries()]


def written(file: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(file.read_text())
    return content


def refusal(change: Callable[[], object]) -> ErrorDetails:
    with pytest.raises(UserError) as caught:
        change()
    return caught.value.details


FULL = (
    CatalogueEntry(
        StdioDefinition(
            name="files",
            command="npx",
            args=("-y", "x"),
            env={"A": "${env:A}"},
            cwd="/srv",
            era="handshake",
            connect_timeout_s=3,
            idle_timeout_s=0,
            total_timeout_s=60,
            ping_interval_s=5,
            restart=RestartPolicy(is_on=False, first_delay_s=2, limit=9),
            watch=FileWatch(is_on=True, paths=("/srv",), patterns=("*.rs",)),
        ),
        connects_at_start=True,
        origin="Cursor, /a",
    ),
    CatalogueEntry(
        HttpDefinition(
            name="web",
            url="https://example.com/mcp",
            headers={"X": "1"},
            auth="oauth",
            oauth=OAuthClient(client_id="id", client_secret="${keyring:web}", scope="a b"),
        ),
        is_disabled=True,
    ),
    CatalogueEntry(HttpDefinition(name="old", url="http://localhost:1/sse", transport="sse")),
)


def test_all_that_is_kept_of_a_server_comes_back(file: Path) -> None:
    catalogue = Catalogue(file)
    for one in FULL:
        catalogue.add(one)
    again = Catalogue(file)
    assert again.entries() == FULL
    assert again.errors == ()


def test_the_file_is_in_the_form_of_most_clients_with_our_extras_under_one_key(file: Path) -> None:
    catalogue = Catalogue(file)
    for one in FULL[1:]:
        catalogue.add(one)
    servers = written(file)["mcpServers"]
    assert servers["old"] == {"type": "sse", "url": "http://localhost:1/sse"}
    extras = servers["web"].pop("mcpProgressMonitor")
    assert servers["web"] == {
        "type": "http",
        "url": "https://example.com/mcp",
        "headers": {"X": "1"},
    }
    assert extras["disabled"] is True
    assert extras["oauth"]["clientSecret"] == "${keyring:web}"


def test_a_new_catalogue_is_empty_and_writes_nothing(file: Path) -> None:
    assert Catalogue(file).entries() == ()
    assert not file.exists()


def test_without_a_path_it_lasts_as_long_as_the_program() -> None:
    catalogue = Catalogue(None)
    assert catalogue.add(entry("a")) == "a"
    assert names(catalogue) == ["a"]
    assert not catalogue.reload()


def test_names_are_made_unique(file: Path) -> None:
    catalogue = Catalogue(file)
    assert [catalogue.add(entry("a")) for _ in range(3)] == ["a", "a 2", "a 3"]
    assert names(Catalogue(file)) == ["a", "a 2", "a 3"]


def test_servers_are_replaced_in_their_place(file: Path) -> None:
    catalogue = Catalogue(file)
    for name in "abc":
        catalogue.add(entry(name))
    catalogue.replace("b", entry("x", "new"))
    assert names(Catalogue(file)) == ["a", "x", "c"]
    assert "already" in refusal(lambda: catalogue.replace("x", entry("c"))).what
    assert "'b' not found" in refusal(lambda: catalogue.replace("b", entry("b"))).what


def test_a_copy_stands_behind_the_original_and_does_not_connect_by_itself(file: Path) -> None:
    catalogue = Catalogue(file)
    catalogue.add(entry("a", connects_at_start=True))
    catalogue.add(entry("b"))
    assert catalogue.clone("a") == "a 2"
    assert names(Catalogue(file)) == ["a", "a 2", "b"]
    assert not catalogue.entry("a 2").connects_at_start


@pytest.mark.parametrize(
    ("position", "order"), [(0, "cab"), (1, "acb"), (2, "abc"), (99, "abc"), (-1, "cab")]
)
def test_servers_are_moved(file: Path, position: int, order: str) -> None:
    catalogue = Catalogue(file)
    for name in "abc":
        catalogue.add(entry(name))
    catalogue.move("c", position)
    assert names(Catalogue(file)) == list(order)


def test_servers_are_removed(file: Path) -> None:
    catalogue = Catalogue(file)
    catalogue.add(entry("a"))
    catalogue.remove("a")
    assert written(file) == {"mcpServers": {}}
    error = refusal(lambda: catalogue.entry("a"))
    assert error.hint == "No servers are saved."


def test_unknown_members_are_kept_at_every_level(file: Path) -> None:
    unknown = {
        "mcpServers": {
            "a": {
                "command": "c",
                "args": [],
                "icon": "x",
                "mcpProgressMonitor": {"restart": {"limit": 3, "colour": "red"}, "later": [1]},
            }
        },
        "theme": {"dark": True},
    }
    file.write_text(json.dumps(unknown))
    catalogue = Catalogue(file)
    catalogue.replace("a", catalogue.entry("a"))
    assert written(file) == unknown


def test_members_under_their_earlier_names_are_read_and_renamed(file: Path) -> None:
    old = {"restart": {"longestDelay": 7, "calm": 8}}
    servers = {"a": {"command": "c", "args": [], "mcpProgressMonitor": old}}
    file.write_text(json.dumps({"mcpServers": servers}))
    catalogue = Catalogue(file)
    restart = catalogue.entry("a").definition.restart
    assert (restart.longest_delay_s, restart.calm_s) == (7, 8)
    catalogue.replace("a", catalogue.entry("a"))
    servers["a"]["mcpProgressMonitor"] = {"restart": {"maxDelay": 7, "stableAfter": 8}}
    assert written(file) == {"mcpServers": servers}


def test_an_entry_that_cannot_be_used_costs_the_others_nothing_and_stays(file: Path) -> None:
    servers = {"bad": {"command": 3}, "good": {"command": "c"}, "worse": [], "": {"command": "c"}}
    file.write_text(json.dumps({"mcpServers": servers}))
    catalogue = Catalogue(file)
    assert names(catalogue) == ["good"]
    assert len(catalogue.errors) == 3
    assert "command" in catalogue.errors[0].what
    assert "'bad'" in catalogue.errors[0].where
    assert refusal(lambda: catalogue.entry("bad")) == catalogue.errors[0]
    catalogue.add(entry("new"))
    assert list(written(file)["mcpServers"]) == ["bad", "good", "worse", "", "new"]
    assert written(file)["mcpServers"]["bad"] == {"command": 3}
    assert catalogue.add(entry("bad")) == "bad 2"
    catalogue.remove("bad")
    assert [error.where.endswith("'bad'") for error in catalogue.errors] == [False, False]


def test_edits_of_others_are_noticed(file: Path) -> None:
    catalogue = Catalogue(file)
    catalogue.add(entry("a"))
    assert not catalogue.reload()
    file.write_text('{"mcpServers": {"b": {"command": "c"}}}')
    assert catalogue.reload()
    assert names(catalogue) == ["b"]
    assert not catalogue.reload()


def test_an_edit_that_changes_no_server_is_no_difference(file: Path) -> None:
    catalogue = Catalogue(file)
    catalogue.add(entry("a"))
    file.write_text(f"{file.read_text()}\n\n")
    assert not catalogue.reload()


def test_a_change_of_ours_is_made_to_what_others_wrote(file: Path) -> None:
    catalogue, other = Catalogue(file), Catalogue(file)
    catalogue.add(entry("a"))
    other.add(entry("b"))
    catalogue.add(entry("c"))
    other.remove("a")
    catalogue.move("c", 0)
    assert names(Catalogue(file)) == ["c", "b"]
    assert "'a' not found" in refusal(lambda: catalogue.replace("a", entry("a"))).what


def test_an_edit_that_breaks_the_file_is_reported_and_what_is_held_stays(file: Path) -> None:
    catalogue = Catalogue(file)
    catalogue.add(entry("a"))
    broken = '{"mcpServers": {"a": oops}}'
    file.write_text(broken)
    assert not catalogue.reload()
    assert names(catalogue) == ["a"]
    assert catalogue.error is not None
    assert catalogue.error.where == f"{file}, line 1, column 22"
    assert refusal(lambda: catalogue.add(entry("b"))) == catalogue.error
    assert file.read_text() == broken
    file.write_text('{"mcpServers": {"z": {"command": "c"}}}')
    assert catalogue.reload()
    assert names(catalogue) == ["z"]
    assert catalogue.add(entry("y")) == "y"


@pytest.mark.parametrize("content", ["[]", '{"mcpServers": []}', "\xff", "{"])
def test_a_file_that_is_none_is_never_written_over(file: Path, content: str) -> None:
    file.write_bytes(content.encode("latin-1"))
    catalogue = Catalogue(file)
    assert catalogue.error is not None
    assert str(file) in catalogue.error.where
    assert refusal(lambda: catalogue.add(entry("a"))).hint.startswith("Fix the file")
    assert file.read_bytes() == content.encode("latin-1")


@pytest.mark.parametrize("content", ["", " \n", "{}", '{"other": 1}'])
def test_a_file_without_servers_is_begun(file: Path, content: str) -> None:
    file.write_text(content)
    catalogue = Catalogue(file)
    assert catalogue.error is None
    catalogue.add(entry("a"))
    assert names(Catalogue(file)) == ["a"]


def test_a_file_that_is_gone_for_a_moment_loses_nothing(file: Path) -> None:
    catalogue = Catalogue(file)
    catalogue.add(entry("a"))
    file.unlink()
    assert not catalogue.reload()
    catalogue.add(entry("b"))
    assert names(Catalogue(file)) == ["a", "b"]


def test_two_servers_of_one_name_are_reported_and_the_first_counts(file: Path) -> None:
    text = '{"mcpServers": {\n"a": {"command": "one"}, // mine\n"a": {"command": "two"}}}'
    file.write_text(text)
    catalogue = Catalogue(file)
    assert [one.definition.address for one in catalogue.entries()] == ["one"]
    assert catalogue.errors[0].where == f"{file}, line 3"
    catalogue.add(entry("b"))
    assert file.with_name("servers.json.before").read_text() == text
    assert names(Catalogue(file)) == ["a", "b"]


def test_a_disk_that_takes_nothing_changes_nothing(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalogue = Catalogue(file)
    catalogue.add(entry("a"))

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert refusal(lambda: catalogue.add(entry("b"))).detail == "No space left on device"
    assert names(catalogue) == ["a"]


@pytest.mark.skipif(sys.platform == "win32", reason="rights of POSIX")
def test_the_file_is_the_owners_alone(file: Path) -> None:
    Catalogue(file).add(entry("a"))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read_is_reported(file: Path) -> None:
    file.write_text("{}")
    file.chmod(0)
    assert Catalogue(file).error is not None


@pytest.mark.parametrize("name", ["x" * 1000, "a\x1b[2J", "\ud800", "é ${env:X}", "a/b\nc"])
def test_any_name_survives(file: Path, name: str) -> None:
    catalogue = Catalogue(file)
    definition = StdioDefinition(name="a", command="c").model_copy(update={"name": name})
    catalogue.add(CatalogueEntry(definition))
    assert name in json.loads(file.read_text())["mcpServers"]


def test_a_file_that_is_being_written_takes_no_server_away(tmp_path: Path) -> None:
    path = tmp_path / "servers.json"
    catalogue = Catalogue(path)
    catalogue.add(CatalogueEntry(StdioDefinition(name="a", command="c")))
    content = path.read_bytes()
    path.write_bytes(b"")
    assert not catalogue.reload()
    path.write_bytes(content)
    assert not catalogue.reload()
    assert [entry.name for entry in catalogue.entries()] == ["a"]


def test_a_file_that_stays_empty_has_no_servers(tmp_path: Path) -> None:
    path = tmp_path / "servers.json"
    catalogue = Catalogue(path)
    catalogue.add(CatalogueEntry(StdioDefinition(name="a", command="c")))
    path.write_bytes(b"\n")
    assert not catalogue.reload()
    assert catalogue.reload()
    assert catalogue.entries() == ()
    assert catalogue.error is None


def test_secrets_of_the_keyring_belong_to_the_servers_that_alone_refer_to_them(file: Path) -> None:
    servers = {
        "a": {"command": "c", "env": {"K": "${keyring:own}", "S": "${keyring:shared}"}},
        "b": {"url": "https://x", "headers": {"Authorization": "Bearer ${keyring:shared}"}},
        "unusable": {"env": {"K": "${keyring:broken}"}},
        "c": {"command": "c", "args": ["${keyring:broken}", "${keyring:beside}"]},
    }
    file.write_text(json.dumps({"mcpServers": servers, "inputs": ["${keyring:beside}"]}))
    catalogue = Catalogue(file)
    assert catalogue.unshared_secrets(["a"]) == ("own",)
    assert catalogue.unshared_secrets(["a", "b"]) == ("own", "shared")
    assert catalogue.unshared_secrets(["c"]) == ()
    assert catalogue.unshared_secrets(["none"]) == ()


@pytest.mark.parametrize(
    ("extras", "text"),
    [
        ({"idleTimeout": "soon"}, "idle_timeout_s: must be a number"),
        ({"connectTimeout": 0}, "connect_timeout_s: must be greater than 0"),
        ({"era": "new"}, "era: must be 'auto', 'handshake' or 'per-request'"),
        ({"restart": {"limit": 1.5}}, "restart.limit: must be an integer"),
        ({"watch": {"on": "perhaps"}}, "must be true or false"),
    ],
)
def test_what_is_wrong_with_our_own_members_is_reported_in_plain_words(
    file: Path, extras: object, text: str
) -> None:
    servers = {"a": {"command": "c", "mcpProgressMonitor": extras}}
    file.write_text(json.dumps({"mcpServers": servers}))
    (error,) = Catalogue(file).errors
    assert text in error.what


def test_names_in_what_is_reported_stay_on_their_line_and_within_bounds(file: Path) -> None:
    catalogue = Catalogue(file)
    for name in ("a\nb", *(f"{number}{'x' * 500}" for number in range(100))):
        catalogue.add(CatalogueEntry(StdioDefinition(name=name, command="c")))
    hint = refusal(lambda: catalogue.remove("none")).hint
    assert "\n" not in hint
    assert len(hint) < 2200


def test_several_servers_are_saved_in_one_writing(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalogue = Catalogue(file)
    catalogue.add(entry("a"))
    puts: list[Path] = []

    def put(path: Path, content: bytes) -> None:
        puts.append(path)
        path.write_bytes(content)

    monkeypatch.setattr(private_file, "put", put)
    changes = [("a", entry("b", "new")), (None, entry("b")), (None, entry("c")), (None, entry("c"))]
    assert catalogue.save_all(changes) == ["b", "b 2", "c", "c 2"]
    assert puts == [file]
    assert names(Catalogue(file)) == ["b", "b 2", "c", "c 2"]


def test_of_several_servers_none_is_saved_when_one_cannot_be(file: Path) -> None:
    catalogue = Catalogue(file)
    catalogue.add(entry("a"))
    before = file.read_bytes()
    for name, replaced in (("gone", "x"), ("a", "y")):  # there is no such server; the name is taken
        changes = [(None, entry("y")), (name, entry(replaced))]
        with pytest.raises(UserError):
            catalogue.save_all(changes)
        assert file.read_bytes() == before
        assert names(catalogue) == ["a"]
