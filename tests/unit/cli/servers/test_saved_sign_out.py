"""`servers sign-out` forgets what signing in left, and nothing else."""

from pathlib import Path

import pytest

from mcp_progress_monitor.catalogue.catalogue import FILE_NAME, Catalogue, CatalogueEntry
from mcp_progress_monitor.cli.entry import main
from mcp_progress_monitor.secrets.token_store import FILE_NAME as SIGN_INS
from mcp_progress_monitor.secrets.token_store import TokenStore
from mcp_progress_monitor.sessions.transport.http.oauth import key_of
from mcp_progress_monitor.snapshots.definitions import HttpDefinition, StdioDefinition

WEB = HttpDefinition(name="web", url="https://h.example/mcp", auth="oauth")
OTHER = HttpDefinition(name="other", url="https://o.example/mcp", auth="oauth")


@pytest.fixture
def store(data_dir: Path) -> TokenStore:
    catalogue = Catalogue(data_dir / FILE_NAME)
    for definition in (WEB, OTHER, StdioDefinition(name="files", command="run")):
        catalogue.add(CatalogueEntry(definition))
    store = TokenStore(data_dir, {})
    for definition in (WEB, OTHER):
        store.put(key_of(definition), {"tokens": {}})
    return store


def test_one_sign_in_is_forgotten(
    store: TokenStore, data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["servers", "sign-out", "web", "--data-dir", str(data_dir)]
    assert main(arguments) == 0
    assert capsys.readouterr().out == "Signed out of web\n"
    assert store.get(key_of(WEB)) is None
    assert store.get(key_of(OTHER)) is not None
    assert main(arguments) == 0
    assert capsys.readouterr().out == "You were not signed in to web\n"


def test_a_sign_in_without_a_saved_server_is_forgotten_by_its_url(
    store: TokenStore, data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = "https://u.example/mcp?token=s3cret-key"
    key = key_of(HttpDefinition(name="url", url=url, auth="oauth"))
    store.put(key, {"tokens": {}})
    assert main(["servers", "sign-out", url, "--data-dir", str(data_dir)]) == 0
    assert capsys.readouterr().out == "Signed out of https://u.example/mcp?token=***\n"
    assert store.get(key) is None
    assert store.get(key_of(WEB)) is not None


@pytest.mark.parametrize(
    ("name", "said"),
    [("files", "Only HTTP servers use sign-in"), ("none", "none")],
    ids=["command", "none"],
)
def test_only_a_server_by_url_has_a_sign_in(
    store: TokenStore, data_dir: Path, name: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["servers", "sign-out", name, "--data-dir", str(data_dir)]) == 2
    assert said in capsys.readouterr().err
    assert store.get(key_of(WEB)) is not None


def test_a_file_that_cannot_be_read_is_reported_and_left(
    store: TokenStore, data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = data_dir / SIGN_INS
    file.write_text("{")
    assert main(["servers", "sign-out", "web", "--data-dir", str(data_dir)]) == 8
    assert "Cannot read the saved sign-ins" in capsys.readouterr().err
    assert file.read_text() == "{"
