"""A secret that is another one in the file by now: seen, and taken over into the keyring."""

import json
from pathlib import Path
from typing import Any

import pytest

from mcp_progress_monitor.catalogue.catalogue import Catalogue, CatalogueEntry
from mcp_progress_monitor.catalogue.reading import (
    ConfigFile,
    ImportStatus,
    candidate_keyring_secrets,
    imported_entry,
    preview,
    read_file,
    renewed_secrets,
)
from mcp_progress_monitor.catalogue.variables import Variables
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.snapshots.definitions import (
    HttpDefinition,
    ServerDefinition,
    StdioDefinition,
)
from tests.unit.catalogue.test_secrets import FakeKeyring

WEB = HttpDefinition(
    name="w", url="https://h/x", headers={"Authorization": "Bearer ${keyring:w/Authorization}"}
)
RUN = StdioDefinition(
    name="r",
    command="c",
    args=("--api-key", "${keyring:r/api-key}"),
    env={"TOKEN": "${keyring:r/TOKEN}", "A": "1"},
)


def web(token: str) -> dict[str, Any]:
    return {"url": "https://h/x", "headers": {"Authorization": f"Bearer {token}"}, "type": "http"}


def run(key: str, token: str) -> dict[str, Any]:
    return {"command": "c", "args": ["--api-key", key], "env": {"TOKEN": token, "A": "1"}}


def config_of(folder: Path, **servers: Any) -> ConfigFile:
    path = folder / "f.json"
    path.write_text(json.dumps({"mcpServers": servers}))
    return read_file(path, Variables(environment={}))


def saved(*definitions: ServerDefinition) -> Catalogue:
    catalogue = Catalogue(None)
    for definition in definitions:
        catalogue.add(CatalogueEntry(definition))
    return catalogue


@pytest.fixture
def keyring() -> FakeKeyring:
    made = FakeKeyring()
    made.secrets = {"w/Authorization": "old", "r/api-key": "k", "r/TOKEN": "t", "else": "x"}
    return made


def test_the_same_secret_is_no_change(tmp_path: Path, keyring: FakeKeyring) -> None:
    config, catalogue = config_of(tmp_path, w=web("old"), r=run("k", "t")), saved(WEB, RUN)
    known = candidate_keyring_secrets(config, catalogue, keyring)
    assert known == {"w/Authorization": "old", "r/api-key": "k", "r/TOKEN": "t"}
    assert [row.standing for row in preview(config, catalogue, known)] == [ImportStatus.SAME] * 2


@pytest.mark.parametrize(
    ("server", "entry", "changes", "renewals"),
    [
        (WEB, web("new"), ("header Authorization",), {"w/Authorization": "new"}),
        (RUN, run("k", "new"), ("variable TOKEN",), {"r/TOKEN": "new"}),
        (RUN, run("new", "t"), ("arguments",), {"r/api-key": "new"}),
    ],
)
def test_another_secret_is_a_change_and_takes_the_place_of_ours(
    tmp_path: Path,
    keyring: FakeKeyring,
    server: ServerDefinition,
    entry: dict[str, Any],
    changes: tuple[str, ...],
    renewals: dict[str, str],
) -> None:
    config, catalogue = config_of(tmp_path, **{server.name: entry}), saved(server)
    known = candidate_keyring_secrets(config, catalogue, keyring)
    (row,) = preview(config, catalogue, known)
    assert (row.standing, row.changes) == (ImportStatus.CHANGED, changes)
    assert renewed_secrets(row, catalogue, known) == renewals
    assert imported_entry(row, config, catalogue, known).definition == server


def test_a_secret_that_others_refer_to_is_left_as_it_is(
    tmp_path: Path, keyring: FakeKeyring
) -> None:
    config = config_of(tmp_path, w=web("new"))
    catalogue = saved(WEB, WEB.model_copy(update={"name": "clone"}))
    known = candidate_keyring_secrets(config, catalogue, keyring)
    (row,) = preview(config, catalogue, known)
    assert renewed_secrets(row, catalogue, known) == {}
    made = imported_entry(row, config, catalogue, known).definition
    assert isinstance(made, HttpDefinition)
    assert made.headers == {"Authorization": "Bearer new"}


def test_a_secret_that_is_gone_from_the_keyring_is_taken_over_again(
    tmp_path: Path, keyring: FakeKeyring
) -> None:
    del keyring.secrets["r/TOKEN"]
    config, catalogue = config_of(tmp_path, r=run("k", "t")), saved(RUN)
    known = candidate_keyring_secrets(config, catalogue, keyring)
    (row,) = preview(config, catalogue, known)
    assert row.changes == ("variable TOKEN",)
    assert renewed_secrets(row, catalogue, known) == {"r/TOKEN": "t"}


def test_a_renamed_server_is_known_with_its_new_secret(
    tmp_path: Path, keyring: FakeKeyring
) -> None:
    config = config_of(tmp_path, w=web("new"))
    catalogue = saved(WEB.model_copy(update={"name": "mine"}))
    known = candidate_keyring_secrets(config, catalogue, keyring)
    (row,) = preview(config, catalogue, known)
    assert (row.standing, row.name) == (ImportStatus.CHANGED, "mine")
    assert renewed_secrets(row, catalogue, known) == {"w/Authorization": "new"}


def test_without_a_keyring_rotated_secrets_are_not_detected(
    tmp_path: Path, keyring: FakeKeyring, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_name: str) -> None:
        raise UserError(ErrorDetails("locked"))

    monkeypatch.setattr(keyring, "get", refuse)
    config, catalogue = config_of(tmp_path, w=web("new")), saved(WEB)
    assert candidate_keyring_secrets(config, catalogue, keyring) == {}
    assert [row.standing for row in preview(config, catalogue)] == [ImportStatus.SAME]


def test_the_keyring_is_not_asked_without_need(
    tmp_path: Path, keyring: FakeKeyring, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(keyring, "get", asked.append)
    config = config_of(tmp_path, other=run("k", "t"), w={"url": "https://h/x"})
    assert candidate_keyring_secrets(config, saved(WEB, RUN), keyring) == {}
    assert asked == []
