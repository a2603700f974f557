"""What the user has set for each server beside how it is started, and how a file holds it."""

from __future__ import annotations

from typing import Literal

import pydantic

from mcp_progress_monitor.sessions.log_levels import LogLevel
from mcp_progress_monitor.sessions.rules import QuestionRules, Root


class ServerSettings(pydantic.BaseModel):
    """How to treat one server: rules for its questions, its roots, and the log level to ask for.

    Without `log_level` the server logs as it likes, or in 2026-07-28 not at all.
    """

    model_config = pydantic.ConfigDict(frozen=True)

    rules: QuestionRules = QuestionRules()
    roots: tuple[Root, ...] = ()
    log_level: LogLevel | None = None


class AllSettings(pydantic.BaseModel):
    """The settings of all servers, as they are in a file."""

    version: Literal[1] = 1
    servers: dict[str, ServerSettings] = {}
