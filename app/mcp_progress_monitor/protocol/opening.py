"""Opens a connection to a server of unknown era: what to send, and what replies mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.findings.finding import texts
from mcp_progress_monitor.formatting import one_line
from mcp_progress_monitor.protocol import eras
from mcp_progress_monitor.protocol.eras import Agreement, ClientIdentity, Era
from mcp_progress_monitor.protocol.lenient_json import shown
from mcp_progress_monitor.protocol.messages import DISCOVER, INITIALIZE
from mcp_progress_monitor.protocol.refusal import refused

if TYPE_CHECKING:
    from mcp_progress_monitor.protocol.facts import JsonObject, RequestAnswered

_METHOD_NOT_FOUND: Final = -32601
_THEIRS: Final = 300
"""Characters of the revisions that a server names."""
_MOST_DISCOVERS: Final = 2
"""How often one revision is requested with `server/discover`, and once more after silence."""
_ERA_HINT: Final = "Set the protocol era of this server to automatic."


class Ask(NamedTuple):
    """A request to send next, and the reason for display.

    No answer within `limit_s` seconds counts as an answer, None; `limit_s` is None for the limit of
    the whole connection.
    """

    method: str
    params: JsonObject
    revision: str
    limit_s: float | None
    why: str


class Await(NamedTuple):
    """Nothing to send: wait for the answer to `server/discover`, which is still due."""

    limit_s: float


class Reopen(NamedTuple):
    """This connection proves nothing more: open another one, beginning with `Opening.first`."""

    why: str


Step: TypeAlias = Ask | Await | Reopen | Agreement | ErrorDetails


class ConnectionOpening:
    """Decides step by step how a server is opened; the session sends, waits and keeps time.

    `server/discover` first, `initialize` when that fails, unless the era is fixed or remembered.

    The probe may itself break a server that does not know it: Python SDK 1.0 to 1.9.3 stop reading
    at any request before `initialize`, and end at the next line. Bridges to other servers
    initialize these at the first request, and refuse `initialize` afterwards. So neither an end of
    the process while `server/discover` has no answer, nor an error to `initialize` after it, is
    final: a new connection begins with `initialize`. A good answer to `server/discover` counts
    whenever it arrives before the handshake succeeded.
    """

    def __init__(
        self,
        client: ClientIdentity,
        only: Era | None = None,
        remembered: Era | None = None,
        *,
        can_reopen: bool = True,
    ) -> None:
        """An opening in the era `only`, or in the remembered one if it still holds.

        `can_reopen` is whether a new connection makes a difference, as with a new process.
        """
        self._client = client
        self._only = only
        self._remembered = None if only else remembered
        self._can_reopen = can_reopen and only is None
        self._begins_with = only or self._remembered
        self._asked: list[Ask] = []
        self._here: list[Ask] = []
        self._is_due = False
        self._is_reopened = False
        self._was_plain = False
        self._came_second = False
        self._partial: Agreement | None = None
        self._refusal: ErrorDetails | None = None

    @property
    def is_open_question(self) -> bool:
        """True if the era has to be detected."""
        return self._only is None

    @property
    def was_discover_asked(self) -> bool:
        """True if the server could have chosen the newest revision."""
        return any(ask.method == DISCOVER for ask in self._asked)

    def first(self) -> Ask:
        """The request at the start of a connection."""
        self._here, self._is_due, self._came_second = [], False, False
        if self._begins_with is Era.HANDSHAKE:
            self._was_plain = True
            return self._initialize(eras.LATEST_HANDSHAKE, self._why_first())
        limit_s = eras.DISCOVER_LIMIT_S
        if self._begins_with is Era.PER_REQUEST:
            # It may start slowly: a handshake that crosses its answer would interfere.
            limit_s = eras.REMEMBERED_LIMIT_S
        return self._discover(None if self._only else limit_s, self._why_first())

    def after(
        self, reply: RequestAnswered | None, discovered: RequestAnswered | None = None
    ) -> Step:
        """Return the step after the last request was answered, or was not within its limit.

        `discovered` is the answer to `server/discover` by then, if that was sent earlier.
        """
        if self._here[-1].method == DISCOVER:
            self._is_due = reply is None
            return self._after_discover(reply)
        if discovered is not None:
            self._is_due = False
        return self._after_initialize(reply, discovered)

    def after_refusal(self, text: str) -> Step:
        """Return the step after `server/discover` was refused other than by a message."""
        self._is_due = False
        return self._fall_back(f"server/discover was refused: {text}")

    def after_wait(self, discovered: RequestAnswered | None) -> Step:
        self._is_due = discovered is None
        if discovered is not None:
            step = self._after_discover(discovered)
            if not isinstance(step, ErrorDetails):
                return step
        return self._given_up()

    def after_end(self) -> Reopen | None:
        """Return the step after the server ended during a request; None if that is final."""
        if not self._can_reopen or self._is_reopened:
            return None
        if any(ask.method == DISCOVER for ask in self._here):
            return None if self._was_plain else self._reopen(Era.HANDSHAKE, "the server exited")
        return self._reopen(None, "the server exited") if self._remembered else None

    def out_of_time(self) -> Reopen | None:
        """Return the step after the server was silent up to its limit; None if that is final."""
        is_unproven = self._is_due and not self._was_plain and not self._is_reopened
        if not (self._can_reopen and is_unproven):
            return None
        return self._reopen(Era.HANDSHAKE, "the server did not respond")

    # What replies mean

    def _after_discover(self, reply: RequestAnswered | None) -> Step:
        result = None if reply is None else reply.result
        if reply is None or result is None:
            return self._after_failed_discover(reply)
        agreed = eras.read_discover(result)
        if agreed is not None:
            return agreed
        supported = eras.supported_revisions(result)
        if supported and eras.PER_REQUEST not in supported:
            return self._try_common(supported)
        if self._only is Era.PER_REQUEST:
            return eras.assume_discover(result)
        self._partial = eras.assume_discover(result) if supported else None
        return self._fall_back("the reply to server/discover is not a valid result")

    def _after_failed_discover(self, reply: RequestAnswered | None) -> Step:
        error = {} if reply is None else reply.error or {}
        is_unsupported = error.get("code") == eras.UNSUPPORTED_VERSION
        supported = eras.supported_revisions(error)
        if is_unsupported and (supported or self._only is Era.PER_REQUEST):
            return self._try_common(supported)
        if self._only is Era.PER_REQUEST:
            return _refused(DISCOVER, reply, _ERA_HINT)
        if reply is None:
            limit_s = self._here[-1].limit_s
            waited = "" if limit_s is None else f" within {limit_s:g} s"
            return self._fall_back(f"server/discover was not answered{waited}")
        return self._fall_back(f"server/discover was refused ({shown(error.get('code'))})")

    def _fall_back(self, why: str) -> Step:
        """Request the handshake, unless that was refused."""
        if self._has_asked(INITIALIZE, eras.LATEST_HANDSHAKE):
            return self._given_up()
        return self._initialize(eras.LATEST_HANDSHAKE, why)

    def _after_initialize(
        self, reply: RequestAnswered | None, discovered: RequestAnswered | None
    ) -> Step:
        result = None if reply is None else reply.result
        agreed = None if result is None else eras.read_initialize(result)
        if agreed is not None:
            return agreed
        answer = None if discovered is None else discovered.result
        newer = None if answer is None else eras.read_discover(answer)
        if newer is not None:
            return newer
        if result is not None:
            seen = shown(result.get("protocolVersion"))
            self._refuse(_no_common(f"It answered with revision {seen}."))
            return self._given_up()
        return self._after_failed_initialize(reply)

    def _after_failed_initialize(self, reply: RequestAnswered | None) -> Step:
        error = {} if reply is None else reply.error or {}
        supported = eras.supported_revisions(error)
        if supported:
            return self._try_common(supported)
        # Bridges open the session themselves for a request that comes before `initialize`.
        is_first_word = self._partial is None and self._refusal is None
        self._came_second = is_first_word and self._has_asked(DISCOVER, eras.PER_REQUEST)
        self._refuse(
            _refused(
                INITIALIZE, reply, "Check that this is an MCP server and that it starts correctly."
            )
        )
        code = error.get("code")
        may_be_newer = code in {_METHOD_NOT_FOUND, eras.UNSUPPORTED_VERSION}
        if may_be_newer and self._only is None and (self._is_due or not self.was_discover_asked):
            return self._discover(None, f"initialize was refused ({shown(code)})")
        if self._is_due:
            return Await(eras.DISCOVER_LIMIT_S)
        return self._given_up()

    def _given_up(self) -> Step:
        is_open = self._is_due or self._came_second
        if is_open and self._can_reopen and not self._is_reopened and not self._was_plain:
            return self._reopen(Era.HANDSHAKE, "the server refused initialize")
        if self._partial is not None:
            return self._partial
        if self._remembered and not self.was_discover_asked:
            return self._discover(eras.DISCOVER_LIMIT_S, "initialize no longer works")
        return self._refusal or _no_common()

    def _try_common(self, supported: tuple[str, ...]) -> Step:
        """Request the newest common revision, unless that was tried."""
        allowed = tuple(r for r in supported if self._only in {None, _era(r)})
        revision = eras.newest_common(allowed)
        if revision is None:
            return self._no_common(supported)
        why = f"the server says that it supports {revision}"
        if eras.era_of(revision) is Era.HANDSHAKE:
            if not self._has_asked(INITIALIZE, revision):
                return self._initialize(revision, why)
        elif self._may_discover():
            return self._discover(None, why)
        what = f"The server refuses {revision}, although it claims to support it."
        self._refuse(
            ErrorDetails(what, hint="This is a server error: see its messages in Traffic.")
        )
        return self._given_up() if self._only else self._fall_back(what[:-1])

    def _no_common(self, supported: tuple[str, ...]) -> ErrorDetails:
        if self._only and eras.newest_common(supported):
            what = "The server supports no protocol revision of the selected era"
            theirs = one_line(f"It supports only {', '.join(supported)}.", _THEIRS)
            return ErrorDetails(what, hint=_ERA_HINT, detail=theirs)
        return _no_common(f"It supports only {', '.join(supported) or 'revisions without a name'}.")

    # Requests

    def _why_first(self) -> str:
        if self._is_reopened:
            return "second attempt, over a new connection"
        if self._only:
            return "the era is set in the server's definition"
        if self._remembered:
            return "this method worked last time"
        return "era unknown: trying the newest revision first"

    def _reopen(self, era: Era | None, what: str) -> Reopen:
        methods = " and ".join(dict.fromkeys(ask.method for ask in self._here))
        self._is_reopened, self._begins_with = True, era
        self._partial = self._refusal = None
        opener = DISCOVER if era is None else INITIALIZE
        why = f"{what} after {methods}, which it may not support"
        return Reopen(f"{why}: reconnecting, starting with {opener}")

    def _refuse(self, error: ErrorDetails) -> None:
        self._refusal = self._refusal or error

    def _has_asked(self, method: str, revision: str) -> bool:
        return (method, revision) in {(ask.method, ask.revision) for ask in self._here}

    def _may_discover(self) -> bool:
        made = sum(ask.method == DISCOVER for ask in self._here)
        return made < _MOST_DISCOVERS + self._is_due

    def _initialize(self, revision: str, why: str) -> Ask:
        params = eras.initialize_params(self._client, revision)
        return self._ask(Ask(INITIALIZE, params, revision, None, why))

    def _discover(self, limit_s: float | None, why: str) -> Ask:
        params = eras.discover_params(self._client)
        return self._ask(Ask(DISCOVER, params, eras.PER_REQUEST, limit_s, why))

    def _ask(self, ask: Ask) -> Ask:
        self._asked.append(ask)
        self._here.append(ask)
        return ask


def _era(revision: str) -> Era | None:
    return eras.era_of(revision) if revision in eras.REVISIONS else None


def _no_common(theirs: str = "") -> ErrorDetails:
    return ErrorDetails(
        "The server supports no protocol revision of this program",
        hint=f"Supported revisions: {', '.join(eras.REVISIONS)}.",
        detail=one_line(theirs, _THEIRS),
    )


def _refused(method: str, reply: RequestAnswered | None, hint: str) -> ErrorDetails:
    if reply is None:
        return ErrorDetails(f"The server did not answer {method}.", hint=hint)
    return refused(method, reply.error, hint=hint, reason="; ".join(texts(reply.findings)))
