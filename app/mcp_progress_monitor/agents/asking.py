"""Questions to the user through the agent's client: its elicitation, in both eras.

A client of the handshake era is asked while its request runs. In 2026-07-28 a request ends with its
questions, and is made again with the answers.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any, Final

from mcp.shared.exceptions import MCPError
from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from mcp_progress_monitor import formatting

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp.server.mcpserver import Context

_NAME: Final = 60
_KEY: Final = "answer"
_CONSENT: Final = "consent:"
_MOST_ASKED: Final = 100
_REFUSED: Final = ElicitResult(action="cancel")
ALLOW: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "allow": {
            "type": "boolean",
            "title": "Allow it, once",
            "description": "Off: nothing is started or sent.",
        }
    },
    "required": ["allow"],
}
"""A form that a client which accepts everything does not fill in by accident."""


class InputNeededError(Exception):
    """The client must make its request again, with an answer."""

    def __init__(self, result: InputRequiredResult) -> None:
        super().__init__("input required")
        self.result = result


class Caller:
    """The agent's client, for one request."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._is_modern = context.session.protocol_version in MODERN_PROTOCOL_VERSIONS

    @property
    def name(self) -> str:
        """The client's name for itself."""
        params = self._context.session.client_params
        info = None if params is None else params.client_info
        name = "" if info is None else info.title or info.name
        return formatting.one_line(name.strip(), _NAME) or "unknown client"

    @property
    def can_ask(self) -> bool:
        """True if the client shows forms to its user."""
        known = self._context.client_capabilities
        modes = None if known is None else known.elicitation
        return modes is not None and (modes.form is not None or modes.url is None)

    @property
    def state(self) -> str:
        """The state that the client sends with an answer; empty the first time."""
        return self._context.request_state or ""

    async def ask(self, message: str, schema: Mapping[str, Any], state: str) -> ElicitResult:
        """Show a form; `InputNeededError` where the request has to be made again with `state`.

        A client that answers with an error has cancelled the question.
        """
        form = dict(schema)
        if not self._is_modern:
            try:
                answer: ElicitResult = await self._context.session.elicit_form(
                    message, form, self._context.request_id
                )
            except (MCPError, ValueError):  # an error, no channel, or no valid answer
                return _REFUSED
            return answer
        given = (self._context.input_responses or {}).get(_KEY)
        if self.state == state and given is not None:
            return given if isinstance(given, ElicitResult) else _REFUSED
        params = ElicitRequestFormParams(message=message, requested_schema=form)
        needed = InputRequiredResult(
            input_requests={_KEY: ElicitRequest(params=params)}, request_state=state
        )
        raise InputNeededError(needed)


class Consents:
    """The user's permissions for single actions."""

    def __init__(self) -> None:
        self._asked: dict[str, None] = {}

    async def is_given(self, caller: Caller, message: str) -> bool:
        """Ask the user; each permission is for one action, whatever the client sends again."""
        state = caller.state
        if state.startswith(_CONSENT):
            if state not in self._asked:
                return False
        else:
            state = f"{_CONSENT}{secrets.token_hex(8)}"
        self._asked[state] = None
        for oldest in list(self._asked)[:-_MOST_ASKED]:
            del self._asked[oldest]
        result = await caller.ask(message, ALLOW, state)
        self._asked.pop(state, None)
        return result.action == "accept" and (result.content or {}).get("allow") is True
