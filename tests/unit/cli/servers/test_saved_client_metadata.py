"""`servers client-metadata` writes what the user hosts, fit for the SDK and for our own sign-in."""

import json

import pytest
from mcp.shared.auth import OAuthClientMetadata

from mcp_progress_monitor.cli.entry import main
from mcp_progress_monitor.sessions.transport.http.oauth_callback import HOST, PATH, REGISTERED_PORT

URL = "https://user.example/client.json"


def test_the_document_names_its_own_url_and_where_browsers_come_back_to(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["servers", "client-metadata", URL]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["client_id"] == URL
    assert document["redirect_uris"] == [f"http://{HOST}:{REGISTERED_PORT}{PATH}"]
    assert document["token_endpoint_auth_method"] == "none"
    assert OAuthClientMetadata.model_validate(document).application_type == "native"


@pytest.mark.parametrize(
    "url", ["http://user.example/c", "https://user.example/", "x", "https://["]
)
def test_only_an_https_url_with_a_path_can_be_a_client_id(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["servers", "client-metadata", url]) == 2
    assert "needs an https URL" in capsys.readouterr().err
