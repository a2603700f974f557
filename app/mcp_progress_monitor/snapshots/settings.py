"""The user's settings for a server or a call: time limits, rules for questions, log level."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias

from pydantic import Field, ValidationError, field_validator

from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.protocol.eras import Era
from mcp_progress_monitor.snapshots.limits import LogLevel
from mcp_progress_monitor.snapshots.questions import Accept, Decline, Refused, Sampled
from mcp_progress_monitor.validation import Validated, described, matching, of_kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.snapshots.questions import Answer, Kind

RuleMode: TypeAlias = Literal["ask", "decline", "answer", "undeclared"]
"""Ask the user; decline; give the fixed answer; or do not declare the capability."""

LONGEST_DELAY_S: Final = 86_400.0
_NO_ROOTS: Final = "User rejected listing roots"


class QuestionRule(Validated, extra="forbid"):
    """Rule for questions of one kind.

    For `delay_s` the question stays open first, and the user may answer it. `answer` is the content
    of a form, a sampling result or `{"roots": […]}`; without it the roots are those of the server.
    """

    mode: RuleMode = "ask"
    delay_s: Annotated[float, Field(ge=0, le=LONGEST_DELAY_S)] = 0.0
    answer: dict[str, Any] | None = None


class Root(Validated, extra="forbid"):
    """A folder or file that a server may work on (2025-11-25 "Roots")."""

    uri: Annotated[str, matching("(?s:file://.*)", "must start with file://")]
    name: str | None = None

    def on_wire(self) -> JsonObject:
        return self.model_dump(exclude_none=True)


class QuestionRules(Validated, extra="forbid"):
    """Rules for each kind of question of one server."""

    sampling: QuestionRule = Field(default_factory=QuestionRule.model_construct)
    form: QuestionRule = Field(default_factory=QuestionRule.model_construct)
    url: QuestionRule = Field(default_factory=QuestionRule.model_construct)
    roots: QuestionRule = Field(
        default_factory=partial(QuestionRule.model_construct, mode="answer")
    )

    @field_validator("sampling", "form")
    @classmethod
    def _has_answer(cls, rule: QuestionRule) -> QuestionRule:
        if rule.mode == "answer" and rule.answer is None:
            raise ValueError("a fixed answer is required")
        return rule

    def of(self, kind: Kind) -> QuestionRule:
        rule: QuestionRule = getattr(self, kind)
        return rule

    def automatic(self, kind: Kind, roots: Sequence[Root]) -> Answer | None:
        """The answer to give without asking the user; None to ask."""
        rule = self.of(kind)
        if rule.mode == "answer":
            return _fixed(kind, rule, roots)
        if rule.mode == "ask":
            return None
        if kind in {"sampling", "roots"}:
            return Refused(_NO_ROOTS) if kind == "roots" else Refused()
        return Decline()

    def capabilities(self, era: Era) -> JsonObject:
        """The capabilities to declare, so that the server asks exactly what is not "undeclared"."""
        modes: JsonObject = {kind: {} for kind in ("form", "url") if self._is_declared(kind)}
        found: JsonObject = {"elicitation": modes} if modes else {}
        if self._is_declared("sampling"):
            found["sampling"] = {"tools": {}}
        if self._is_declared("roots"):
            found["roots"] = {"listChanged": True} if era is Era.HANDSHAKE else {}
        return found

    def _is_declared(self, kind: Any) -> bool:
        return self.of(kind).mode != "undeclared"


def _fixed(kind: Kind, rule: QuestionRule, roots: Sequence[Root]) -> Answer:
    if kind == "sampling":
        return Sampled(rule.answer or {})
    if kind == "roots" and rule.answer is None:
        return Accept({"roots": [root.on_wire() for root in roots]})
    return Accept(rule.answer or {})


def read_roots(values: Iterable[Mapping[str, Any]]) -> tuple[Root, ...]:
    """Read roots written by a user; `UserError` with the error of each."""
    try:
        return tuple(Root.model_validate(value) for value in values)
    except ValidationError as error:
        hint = "A root has a uri that starts with file:// and, optionally, a name."
        raise UserError(ErrorDetails("Invalid root", hint=hint, detail=described(error))) from error


class ServerSettings(Validated):
    """Settings of one server: rules for its questions, its roots, and the requested log level.

    Without `log_level` the server decides, or in 2026-07-28 does not log.
    """

    rules: QuestionRules = Field(default_factory=QuestionRules.model_construct)
    roots: Annotated[tuple[Root, ...], of_kind((list, tuple), "must be a list of roots")] = ()
    log_level: LogLevel | None = None


UNCHANGED: Final = ServerSettings.model_construct()
"""Those of a server that the user has changed nothing for."""


class AllSettings(Validated):
    """The settings of all servers, as stored in a file."""

    version: Literal[1] = 1
    servers: dict[str, ServerSettings] = Field(default_factory=dict)


def read_settings(written: bytes) -> dict[str, ServerSettings]:
    """The settings of all servers in a file; `ValueError` that says what is wrong with it."""
    try:
        return AllSettings.model_validate_json(written).servers
    except ValidationError as error:
        raise ValueError(described(error)) from error
