"""What a server and its authorization server publish about signing in, checked before it is used.

The SDK fetches these documents and falls back where one is missing or malformed: to the server's
own origin, whoever was named. Here such a sign-in is refused, before the client is registered and
before the user is asked.

Sources: MCP 2025-11-25 and 2026-07-28 "Authorization" (discovery, PKCE); RFC 9728 section 3.3 (the
`resource` of the metadata); RFC 8414 sections 3 and 3.3 (metadata, `issuer`).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin, urlsplit

import httpx2
from mcp.client.auth.utils import (
    extract_resource_metadata_from_www_auth,
    issuers_match,
    should_use_client_metadata_url,
)
from mcp.shared.auth import OAuthMetadata, ProtectedResourceMetadata
from pydantic import ValidationError

from mcp_progress_monitor.sessions.http import sign_in_words as words

if TYPE_CHECKING:
    from mcp.client.auth.oauth2 import OAuthContext
    from pydantic import BaseModel

_RESOURCE_PATH: Final = "/.well-known/oauth-protected-resource"
_WELL_KNOWN: Final = "/.well-known/"
_CHALLENGE_METHOD: Final = "S256"
_PORTS: Final = {"https": 443, "http": 80}


class Discovery:
    """One run of the SDK's discovery for the server at `url`, watched response by response."""

    def __init__(self, url: str, refusal: httpx2.Response) -> None:
        """Begin with the refusal that asks for a sign-in."""
        self._url = url
        self._named = extract_resource_metadata_from_www_auth(refusal)
        """Where the server says that its metadata is, if it says so."""
        self._resource_fault = ""
        self._server_fault = ""

    def note(self, response: httpx2.Response) -> None:
        """Take note of a response before the SDK does.

        Raises:
            ProblemError: metadata of another origin describes another server than ours.
        """
        request = response.request
        if request.method != "GET":
            return
        url, path = str(request.url), request.url.path
        is_named = self._named is not None and request.url == httpx2.URL(self._named)
        if is_named or path.startswith(_RESOURCE_PATH):
            found = self._read(response, ProtectedResourceMetadata, must_be=is_named)
            if isinstance(found, ProtectedResourceMetadata):
                self._must_describe_us(str(found.resource), url)
            elif isinstance(found, str) and found:
                self._resource_fault = found
        elif _WELL_KNOWN in path:
            server = self._read(response, OAuthMetadata, must_be=False)
            # A second address that has nothing does not excuse what is wrong at the first.
            fault = server if isinstance(server, str) else None
            self._server_fault = "" if fault is None else self._server_fault or fault

    def check(self, context: OAuthContext) -> None:
        """Check what was found, before the client is registered or the user is asked.

        Raises:
            ProblemError: the metadata is malformed, or missing where a server was named, or the
                authorization server does not support PKCE.
        """
        if context.protected_resource_metadata is None and self._resource_fault:
            raise words.unusable_resource(self._resource_fault, words.place(self._url))
        named, metadata = context.auth_server_url, context.oauth_metadata
        if named is not None and (
            metadata is None or not issuers_match(str(metadata.issuer), named)
        ):
            raise words.without_metadata(named, self._server_fault)
        if metadata is None:
            if self._server_fault:
                raise words.without_metadata(self._url, self._server_fault)
            return  # 2025-03-26: a server without any metadata has the standard paths
        methods = metadata.code_challenge_methods_supported or []
        if _CHALLENGE_METHOD not in methods:
            raise words.without_pkce(str(metadata.issuer), methods)

    def check_registration(self, context: OAuthContext) -> None:
        """Check that the authorization server itself registers clients.

        Raises:
            ProblemError: it does not; the SDK would try that at the server's own origin.
        """
        metadata = context.oauth_metadata
        if context.client_info is not None or metadata is None or metadata.registration_endpoint:
            return
        if not should_use_client_metadata_url(metadata, context.client_metadata_url):
            raise words.without_registration(str(metadata.issuer))

    def _read(
        self, response: httpx2.Response, model: type[BaseModel], *, must_be: bool
    ) -> BaseModel | str:
        """The metadata, or what is wrong with it: nothing where there need not be any.

        Many sites answer any path with a page: only a JSON object counts as metadata, unless the
        server itself named the address (`must_be`).
        """
        where = words.place(str(response.request.url))
        if response.status_code >= 500:
            return f"{where} answers {response.status_code}."
        if response.status_code != 200:
            return f"{where} answers {_status(response)}." if must_be else ""
        try:
            return model.model_validate_json(response.content)
        except ValidationError as error:
            is_meant = must_be or _is_object(response.content)
            return f"{where} is malformed: {_first(error)}." if is_meant else ""

    def _must_describe_us(self, resource: str, url: str) -> None:
        """Refuse metadata of another origin unless its `resource` is the very URL that we asked."""
        if _origin(url) != _origin(self._url) and _identity(resource) != _identity(self._url):
            raise words.another_resource(resource, url, words.place(self._url))


def _status(response: httpx2.Response) -> str:
    """The status, with where it leads: redirections of metadata are not followed."""
    there = response.headers.get("Location")
    if there is None:
        return str(response.status_code)
    leads_to = words.place(urljoin(str(response.request.url), there))
    return f"{response.status_code} and leads to {leads_to}"


def _first(error: ValidationError) -> str:
    """The first fault, without the values: they may be anything."""
    fault = error.errors(include_url=False, include_input=False, include_context=False)[0]
    field = ".".join(map(str, fault["loc"]))
    return f"{field}: {fault['msg']}" if field else fault["msg"]


def _is_object(body: bytes) -> bool:
    try:
        return isinstance(json.loads(body), dict)
    except (ValueError, RecursionError):
        return False


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or _PORTS.get(parts.scheme)


def _identity(url: str) -> tuple[object, ...]:
    """What makes a resource the same: its query, which may be an account's secret, does not."""
    return *_origin(url), urlsplit(url).path.rstrip("/")
