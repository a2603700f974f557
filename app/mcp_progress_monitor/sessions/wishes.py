"""What the user wants of a server beside calls: rules, roots, log level, news of resources.

Each takes effect at once as far as the connection allows, and is kept for the next ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor.problem import Problem, ProblemError
from mcp_progress_monitor.protocol import eras
from mcp_progress_monitor.protocol.eras import Era
from mcp_progress_monitor.sessions.log_levels import LOG_LEVELS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mcp_progress_monitor.sessions.answers import Answer
    from mcp_progress_monitor.sessions.definitions import ServerDefinition
    from mcp_progress_monitor.sessions.desk import Desk
    from mcp_progress_monitor.sessions.manager import Manager
    from mcp_progress_monitor.sessions.news import News
    from mcp_progress_monitor.sessions.questions import Question
    from mcp_progress_monitor.sessions.rules import QuestionRules, Root

ROOTS_CHANGED: Final = "notifications/roots/list_changed"


class Wishes:
    """What servers ask, and what the user has set for them: the part of a monitor for that."""

    def __init__(self, manager: Manager, desk: Desk) -> None:
        """Keep what is set in the settings of `desk`."""
        self._manager = manager
        self._desk = desk

    def questions(self) -> tuple[Question, ...]:
        """What servers ask and nobody has answered yet, oldest first."""
        return self._desk.questions.open()

    def question(self, question: int) -> Question | None:
        """One question, open or lately ended; None when there is none of that id."""
        return self._desk.questions.find(question)

    def answer(self, question: int, answer: Answer) -> tuple[str, ...]:
        """Answer an open question. Returns what of the answer could not be checked.

        Raises:
            ProblemError: it is not open (any more), or the answer does not fit it: each misfit has
                the path of its field. Then the question stays open.
        """
        return self._desk.questions.answer(question, answer)

    @property
    def settings_problem(self) -> Problem | None:
        """Why what was set for servers could not be read, to be told once."""
        return self._desk.settings.problem

    def set_question_rules(self, server: str, rules: QuestionRules) -> None:
        """Answer a server's questions by `rules` from now on.

        What a server is told that it can ask changes with the next connection; in 2026-07-28 with
        the next request. `ProblemError` when this cannot be saved.
        """
        definition = self._definition(server)
        try:
            self._put(definition, rules=rules)
        finally:
            self._declare(server, definition)

    def set_roots(self, server: str, roots: Iterable[Root]) -> None:
        """Tell a server of other roots, and that they have changed if it is connected.

        `ProblemError` when this cannot be saved.
        """
        definition = self._definition(server)
        before = self._desk.settings.of(definition.fingerprint).roots
        try:
            self._put(definition, roots=tuple(roots))
        finally:
            if self._desk.settings.of(definition.fingerprint).roots != before:
                self._tell_roots(server)

    def set_log_level(self, server: str, level: str | None) -> None:
        """Ask a server for log messages from `level` on; with None as it likes, or for none.

        In the handshake era a level stays set until the connection ends. `ProblemError` for an
        unknown level, and when this cannot be saved.
        """
        if level is not None and level not in LOG_LEVELS:
            hint = f"Choose one of {', '.join(LOG_LEVELS)}."
            raise ProblemError(Problem(f"There is no log level {level!r}", server, hint))
        try:
            self._put(self._definition(server), log_level=level)
        finally:
            session = self._manager.session(server)
            if session is not None and session.news is not None:
                session.news.look()

    def subscribe_resource(self, server: str, uri: str, *, is_wanted: bool = True) -> None:
        """Have a connected server tell when a resource changes, or no more.

        `ProblemError` when it is not connected, or does not offer that.
        """
        news = self._news(server)
        if is_wanted and not news.can_subscribe:
            what = "The server does not tell of updated resources"
            raise ProblemError(Problem(what, server, 'It declares no "resources.subscribe".'))
        news.subscribe(uri, is_wanted=is_wanted)

    def _definition(self, server: str) -> ServerDefinition:
        return self._manager.snapshot(server).definition

    def _put(self, definition: ServerDefinition, **changes: Any) -> None:
        settings = self._desk.settings
        before = settings.of(definition.fingerprint)
        try:
            settings.put(definition.fingerprint, before.model_copy(update=changes))
        finally:
            self._manager.changed(definition.name)

    def _declare(self, server: str, definition: ServerDefinition) -> None:
        """Say in the stamps of the next requests what the server may ask."""
        session = self._manager.session(server)
        incoming = None if session is None else session.incoming
        if session is None or incoming is None or incoming.era is not Era.PER_REQUEST:
            return
        identity = self._manager.identity(definition)
        incoming.declare(identity)
        if session.current is not None:
            peer = session.current.mail.peer
            peer.stamps = {**peer.stamps, eras.CAPABILITIES_KEY: identity.per_request}

    def _tell_roots(self, server: str) -> None:
        session = self._manager.session(server)
        if session is None or session.incoming is None or session.current is None:
            return
        if session.incoming.era is Era.HANDSHAKE and session.incoming.has_declared("roots"):
            mail = session.current.mail
            mail.post(mail.peer.notify(ROOTS_CHANGED))

    def _news(self, server: str) -> News:
        self._manager.connection(server)
        session = self._manager.session(server)
        assert session is not None  # noqa: S101  # it is connected
        assert session.news is not None  # noqa: S101  # idem
        return session.news


def read_roots(values: Iterable[Mapping[str, Any]]) -> tuple[Root, ...]:
    """Read roots that a user has written; `ProblemError` with what is wrong with each."""
    import pydantic  # here and not above: no start of the window waits for it

    from mcp_progress_monitor.sessions.rules import Root

    try:
        return tuple(Root.model_validate(value) for value in values)
    except pydantic.ValidationError as error:
        detail = "\n".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        hint = "A root has a uri that begins with file:// and perhaps a name."
        raise ProblemError(Problem("This is no root", hint=hint, detail=detail)) from error
