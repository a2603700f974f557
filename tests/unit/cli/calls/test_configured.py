"""A saved server lends its OAuth client to a tap for its URL."""

from pathlib import Path

import pytest

from mcp_progress_monitor.catalogue.catalogue import FILE_NAME, Catalogue, CatalogueEntry
from mcp_progress_monitor.catalogue.trust import FILE_NAME as TRUST
from mcp_progress_monitor.catalogue.trust import Trust
from mcp_progress_monitor.cli.calls.configured import oauth_client
from mcp_progress_monitor.cli.common import CommonOptions
from mcp_progress_monitor.cli.exits import CommandFailed
from mcp_progress_monitor.snapshots.definitions import HttpDefinition, OAuthClient

URL = "https://h.example/mcp"
CLIENT = OAuthClient(client_id="mine", client_secret="${env:SECRET}", scope="read")
WEB = HttpDefinition(name="web", url=URL, auth="oauth", oauth=CLIENT)


@pytest.fixture
def common(data_dir: Path) -> CommonOptions:
    catalogue = Catalogue(data_dir / FILE_NAME)
    catalogue.add(CatalogueEntry(HttpDefinition(name="plain", url=URL)))
    catalogue.add(CatalogueEntry(WEB))
    return CommonOptions(data_dir=data_dir)


def test_the_client_of_a_saved_server_signs_in(common: CommonOptions, data_dir: Path) -> None:
    Trust(data_dir / TRUST).approve(WEB)
    assert oauth_client(common, URL, None) == CLIENT
    assert oauth_client(common, URL, "mine") == CLIENT
    assert oauth_client(common, URL, "other") == OAuthClient(client_id="other")
    assert oauth_client(common, "https://h.example/other", None) == OAuthClient()


def test_a_client_that_is_not_approved_does_not_sign_in(common: CommonOptions) -> None:
    with pytest.raises(CommandFailed) as caught:
        oauth_client(common, URL, None)
    assert "You have not approved this server" in caught.value.as_text()
