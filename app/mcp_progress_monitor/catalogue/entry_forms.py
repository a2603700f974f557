"""A server's entry in clients' files: what their readers fill in, and their writers use."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from mcp_progress_monitor.catalogue.catalogue import written_definition
from mcp_progress_monitor.snapshots.definitions import HttpDefinition, StdioDefinition

if TYPE_CHECKING:
    from mcp_progress_monitor.snapshots.definitions import ServerDefinition


@dataclasses.dataclass(slots=True)
class EntryForm:
    """A server's entry in our own format, with its variables unresolved.

    `members` are unvalidated fields of a definition, `used` the names of the entry's members that
    were understood, and `notes` are shown to the user.
    """

    transport: str = "stdio"
    members: dict[str, Any] = dataclasses.field(default_factory=dict)
    env_file: Any = None
    is_disabled: bool = False
    used: set[str] = dataclasses.field(default_factory=set)
    notes: list[str] = dataclasses.field(default_factory=list)

    def set(self, field: str, value: Any) -> None:
        """Set a field unless its value is None."""
        if value is not None:
            self.members[field] = value

    def set_oauth(self, found: object) -> None:
        """Read an OAuth object, whose member names clients spell differently."""
        if not isinstance(found, dict) or found.get("enabled") is False:
            return
        members = {str(key).replace("_", "").lower(): value for key, value in found.items()}
        scopes = members.get("scopes", members.get("scope"))
        oauth = {
            "client_id": members.get("clientid"),
            "client_secret": members.get("clientsecret"),
            "scope": " ".join(map(str, scopes)) if isinstance(scopes, list) else scopes,
        }
        self.members["auth"] = "oauth"
        self.members["oauth"] = {name: value for name, value in oauth.items() if value}

    def set_seconds(self, field: str, value: Any) -> None:
        """Set a field in seconds from milliseconds; other types are left to validation."""
        self.set(field, float(value) / 1000 if self.is_number(value) else value)

    @staticmethod
    def is_number(value: object) -> bool:
        return isinstance(value, int | float) and not isinstance(value, bool)


class EntryWriter:
    """A definition as members of an entry, in the spellings that clients share."""

    def __init__(self, definition: ServerDefinition) -> None:
        self.definition = definition

    @property
    def process(self) -> StdioDefinition | None:
        return self.definition if isinstance(self.definition, StdioDefinition) else None

    @property
    def http(self) -> HttpDefinition | None:
        return self.definition if isinstance(self.definition, HttpDefinition) else None

    def common(self) -> dict[str, Any]:
        """With a type only for HTTP+SSE: not every client knows the other types."""
        if self.http is None:
            return written_definition(self.definition)
        older = {"type": "sse"} if self.http.transport == "sse" else {}
        return {**older, "url": self.http.url, **self.headers()}

    def typed(self) -> dict[str, Any]:
        typed = {"type": "stdio"} if self.http is None else {}
        return {**typed, **written_definition(self.definition)}

    def with_oauth(self) -> dict[str, Any]:
        written = self.typed()
        if self.http is not None and self.http.auth == "oauth":
            written["oauth"] = self.oauth("clientId", "clientSecret", "scopes")
        return written

    def headers(self) -> dict[str, Any]:
        headers = {} if self.http is None else self.http.headers
        return {"headers": dict(headers)} if headers else {}

    def oauth(self, *names: str) -> dict[str, Any]:
        """The client's ID, secret and scopes that are set, under `names`."""
        if self.http is None:
            return {}
        oauth = self.http.oauth
        values = (oauth.client_id, oauth.client_secret, oauth.scope)
        return {name: value for name, value in zip(names, values, strict=True) if value is not None}

    def without(self, variables: list[str]) -> dict[str, Any]:
        """A command without these environment variables."""
        process = self.process
        if process is None:
            return {}
        env = {name: value for name, value in process.env.items() if name not in variables}
        return written_definition(process.model_copy(update={"env": env}))
