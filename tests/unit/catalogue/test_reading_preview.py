"""What an import would do: new, changed, same, unusable; and what it leaves alone."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from mcp_progress_monitor.catalogue.catalogue import Catalogue, CatalogueEntry
from mcp_progress_monitor.catalogue.reading import (
    ConfigFile,
    ImportStatus,
    changes_between,
    imported_entry,
    preview,
    read_file,
    save_rows,
)
from mcp_progress_monitor.catalogue.secrets import KeptSecrets, in_keyring, values_of
from mcp_progress_monitor.catalogue.variables import Variables
from mcp_progress_monitor.snapshots.definitions import (
    HttpDefinition,
    RestartPolicy,
    ServerDefinition,
    StdioDefinition,
)
from tests.unit.catalogue.test_secrets import FakeKeyring


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "f.json"


def config_of(file: Path, **servers: Any) -> ConfigFile:
    file.write_text(json.dumps({"mcpServers": servers}))
    return read_file(file, Variables(environment={}))


def saved(*definitions: StdioDefinition | HttpDefinition) -> Catalogue:
    catalogue = Catalogue(None)
    for definition in definitions:
        catalogue.add(CatalogueEntry(definition))
    return catalogue


FILES = StdioDefinition(name="files", command="npx", args=("x",), env={"A": "1", "B": "2"})


def test_each_server_stands_to_the_saved_ones(file: Path) -> None:
    config = config_of(
        file,
        files={"command": "npx", "args": ["x"], "env": {"A": "1", "B": "2"}},
        new={"command": "new"},
        web={"url": "https://a/b"},
        bad={},
        again={"command": "kept"},
    )
    catalogue = saved(
        FILES,
        HttpDefinition(name="web", url="https://a/c"),
        StdioDefinition(name="kept", command="kept", restart=RestartPolicy(limit=1)),
    )
    rows = [(row.name, row.standing, row.changes) for row in preview(config, catalogue)]
    assert rows == [
        ("files", ImportStatus.SAME, ()),
        ("new", ImportStatus.NEW, ()),
        ("web", ImportStatus.CHANGED, ("URL",)),
        ("kept", ImportStatus.SAME, ()),
        ("bad", ImportStatus.UNUSABLE, ()),
    ]
    assert preview(config, catalogue)[-1].error is not None


@pytest.mark.parametrize(
    ("entry", "changes"),
    [
        ({"command": "uvx", "args": ["x"], "env": {"A": "1", "B": "2"}}, ("command",)),
        ({"command": "npx", "args": ["y"], "env": {"A": "1", "B": "2"}}, ("arguments",)),
        (
            {"command": "npx", "args": ["x"], "env": {"A": "9", "C": "3"}, "cwd": "/x"},
            ("folder", "variable C added", "variable B removed", "variable A"),
        ),
        ({"url": "https://a/b"}, ("transport",)),
    ],
)
def test_changes_are_reported_without_values(
    file: Path, entry: dict[str, Any], changes: tuple[str, ...]
) -> None:
    (row,) = preview(config_of(file, files=entry), saved(FILES))
    assert row.standing is ImportStatus.CHANGED
    assert row.changes == changes


def test_an_import_takes_what_the_file_says_and_leaves_what_was_set_here(file: Path) -> None:
    catalogue = Catalogue(None)
    mine = FILES.model_copy(
        update={"restart": RestartPolicy(limit=2), "env": {"A": "${keyring:a}", "B": "2"}}
    )
    catalogue.add(CatalogueEntry(mine, connects_at_start=True, unknown={"note": 1}))
    env = {"A": "secret", "B": "3"}
    entry = {"command": "npx", "args": ["x"], "cwd": "/srv", "env": env, "disabled": True}
    entry["icon"] = "x"
    config = config_of(file, files=entry)
    (row,) = preview(config, catalogue)
    save_rows([(row, imported_entry(row, config, catalogue))], catalogue)
    (now,) = catalogue.entries()
    assert isinstance(now.definition, StdioDefinition)
    assert now.definition.cwd == "/srv"
    assert now.definition.env == {"A": "${keyring:a}", "B": "3"}
    assert now.definition.restart.limit == 2
    assert now.connects_at_start
    assert not now.is_disabled
    assert now.unknown == {"note": 1, "icon": "x"}
    assert now.origin == f"a client, {file}"


@pytest.mark.parametrize(
    ("held", "entry"),
    [
        (
            HttpDefinition(name="s", url="https://a/mcp", headers={"Key": "${keyring:k}"}),
            {"url": "https://evil/mcp", "headers": {"Key": "x"}},
        ),
        (
            HttpDefinition(name="s", url="https://a/mcp", headers={"Key": "${keyring:k}"}),
            {"url": "http://a/mcp", "headers": {"Key": "x"}},
        ),
        (
            StdioDefinition(name="s", command="a", env={"Key": "${keyring:k}"}),
            {"command": "evil", "env": {"Key": "x"}},
        ),
        (
            StdioDefinition(name="s", command="npx", args=("a",), env={"Key": "${keyring:k}"}),
            {"command": "npx", "args": ["evil"], "env": {"Key": "x"}},
        ),
    ],
)
def test_another_server_of_the_same_name_does_not_get_the_secrets(
    file: Path, held: StdioDefinition | HttpDefinition, entry: dict[str, object]
) -> None:
    catalogue = saved(held)
    config = config_of(file, s=entry)
    (row,) = preview(config, catalogue)
    save_rows([(row, imported_entry(row, config, catalogue))], catalogue)
    assert values_of(catalogue.entry("s").definition) == {"Key": "x"}


def test_a_new_server_is_saved_under_its_name(file: Path) -> None:
    catalogue = saved(FILES)
    config = config_of(file, new={"command": "c", "disabled": True})
    (row,) = preview(config, catalogue)
    assert save_rows([(row, imported_entry(row, config, catalogue))], catalogue) == ["new"]
    assert catalogue.entry("new").is_disabled


def test_after_an_import_all_is_the_same(file: Path) -> None:
    catalogue = Catalogue(None)
    config = config_of(file, a={"command": "c"}, b={"url": "https://x/"})
    rows = preview(config, catalogue)
    save_rows([(row, imported_entry(row, config, catalogue)) for row in rows], catalogue)
    assert {row.standing for row in preview(config, catalogue)} == {ImportStatus.SAME}


def test_a_server_whose_secrets_went_to_the_keyring_is_the_same_afterwards(file: Path) -> None:
    args = ["-y", "pg", "postgres://u:hush@h/db", "--api-key", "hush"]
    config = config_of(
        file,
        pg={"command": "npx", "args": args, "env": {"TOKEN": "hush"}},
        web={"url": "https://x/", "oauth": {"clientId": "me", "clientSecret": "hush"}},
    )
    catalogue, keyring = Catalogue(None), FakeKeyring()
    for row in preview(config, catalogue):
        entry = imported_entry(row, config, catalogue)
        catalogue.add(dataclasses.replace(entry, definition=in_keyring(entry.definition, keyring)))
    assert "hush" not in str(catalogue.entries())
    assert {row.standing for row in preview(config, catalogue)} == {ImportStatus.SAME}
    catalogue.replace("pg", renamed(catalogue, "pg", "mine"))
    assert [row.name for row in preview(config, catalogue)] == ["mine", "web"]
    other = [*args[:1], "other", *args[2:]]
    config = config_of(file, pg={"command": "npx", "args": other, "env": {"TOKEN": "hush"}})
    (row,) = preview(config, catalogue)
    assert row.standing is ImportStatus.NEW


def renamed(catalogue: Catalogue, name: str, new: str) -> CatalogueEntry:
    entry = catalogue.entry(name)
    definition = entry.definition.model_copy(update={"name": new})
    return dataclasses.replace(entry, definition=definition)


@pytest.mark.parametrize("reference", ["${keyring:work/TOKEN}", "${env:TOKEN}"])
def test_a_second_account_at_one_service_is_another_server(file: Path, reference: str) -> None:
    work = StdioDefinition(name="work", command="npx", args=("hub",), env={"TOKEN": reference})
    entry = {"command": "npx", "args": ["hub"], "env": {"TOKEN": "mine"}}
    config = config_of(file, home=entry, work=entry)
    standings = [row.standing for row in preview(config, saved(work))]
    assert standings == [ImportStatus.NEW, ImportStatus.SAME]


def test_what_is_changed_beside_a_secret_argument_leaves_the_reference(file: Path) -> None:
    held = StdioDefinition(name="a", command="c", args=("--api-key", "${keyring:a/api-key}"))
    catalogue = saved(held)
    config = config_of(file, a={"command": "c", "args": ["--api-key", "hush"], "cwd": "/srv"})
    (row,) = preview(config, catalogue)
    assert row.changes == ("folder",)
    entry = imported_entry(row, config, catalogue)
    assert entry.definition == held.model_copy(update={"cwd": "/srv"})


def test_there_is_nothing_to_import_of_what_cannot_be_used(file: Path) -> None:
    config = config_of(file, bad={})
    (row,) = preview(config, Catalogue(None))
    with pytest.raises(ValueError, match="nothing"):
        imported_entry(row, config, Catalogue(None))


def test_many_servers_are_not_each_compared_with_all_that_are_saved(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[str] = []

    def counted(
        held: ServerDefinition, found: ServerDefinition, *more: KeptSecrets
    ) -> tuple[str, ...]:
        compared.append(found.name)
        return changes_between(held, found, *more)

    monkeypatch.setattr("mcp_progress_monitor.catalogue.reading.changes_between", counted)
    servers = [
        StdioDefinition(name=f"s{number}", command="npx", args=(f"c{number}",))
        for number in range(40)
    ]
    config = config_of(
        file, **{f"n{number}": {"command": "npx", "args": [f"c{number}"]} for number in range(40)}
    )
    rows = preview(config, saved(*servers))
    assert [row.name for row in rows] == [server.name for server in servers]
    assert len(compared) == 40
