"""Real clients sign in themselves, through a tap that only passes the sign-in on."""

from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)
from pydantic import AnyUrl

from tests.integration.http_servers import http_server
from tests.unit.tap_http.tapped import Tapped, tapped

STEPS = {"steps": 3, "interval_s": 0.01}
BACK = "http://127.0.0.1:1/back"


class Memory:
    """Keeps the credentials of a sign-in, as a client does."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class SigningClient:
    """The official client, whose user opens each page at once."""

    def __init__(self) -> None:
        self.memory = Memory()
        self.pages: list[str] = []
        self.secrets: set[str] = set()
        """Collect the secrets that only the client and its browser may see."""
        self._back = ""

    async def call(self, tap: Tapped) -> list[float]:
        """The progress of a call."""
        ticks: list[float] = []

        async def hear(progress: float, total: float | None, message: str | None) -> None:
            ticks.append(progress)

        metadata = OAuthClientMetadata(client_name="Official", redirect_uris=[AnyUrl(BACK)])
        auth = OAuthClientProvider(tap.url, metadata, self.memory, self._open, self._returned)
        async with httpx2.AsyncClient(auth=auth, trust_env=False) as http:
            transport = streamable_http_client(tap.url, http_client=http)
            async with Client(transport) as client:
                result = await client.call_tool("known_total", STEPS, progress_callback=hear)
        assert not result.is_error
        tokens, known = self.memory.tokens, self.memory.client
        assert tokens is not None
        assert known is not None
        given = (tokens.access_token, tokens.refresh_token, known.client_secret)
        self.secrets |= {each for each in given if each}
        return ticks

    async def _open(self, url: str) -> None:
        self.pages.append(url)
        async with httpx2.AsyncClient(trust_env=False) as browser:
            while not url.startswith(BACK):
                self.secrets |= {
                    value
                    for name, values in parse_qs(urlsplit(url).query).items()
                    for value in values
                    if name in {"state", "code", "code_challenge"}
                }
                headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
                answer = await browser.get(url, headers=headers)
                assert answer.status_code == 302, answer.text
                url = answer.headers["Location"]
        self._back = url

    async def _returned(self) -> AuthorizationCodeResult:
        found = {name: values[0] for name, values in parse_qs(urlsplit(self._back).query).items()}
        return AuthorizationCodeResult(
            code=found["code"], state=found["state"], iss=found.get("iss")
        )


async def test_the_official_client_signs_in_through_the_tap(tmp_path: Path) -> None:
    client = SigningClient()
    async with (
        http_server("--oauth") as server,
        tapped(server.url, tmp_path, rewrites_auth=True) as tap,
    ):
        assert await client.call(tap) == [1, 2, 3]
    assert len(client.pages) == 1
    assert {event["purpose"] for event in tap.events if "purpose" in event} >= {"auth", "message"}
    assert len({frame.connection for frame in tap.frames}) == 1
    written = tap.recording.read_text()
    assert not [secret for secret in client.secrets if secret in written]
