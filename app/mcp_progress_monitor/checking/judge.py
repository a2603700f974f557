"""Judges a session: frames, facts and findings in, one result for each rule and job out.

The judge is passive, has bounded tables and reads no clock, so that live traffic and its recording
have the same results. A run of plain ticks takes a few steps, however long it is. Messages are
compared with the official schemas at once, in about a microsecond each. The answer to a question
that we asked only to find out the era is never the server's fault.
"""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor.checking import (
    capabilities,
    events,
    messages,
    progress,
    surroundings,
    tasks,
)
from mcp_progress_monitor.checking.connection import (
    Evidence,
    JudgedConnection,
    ServerMemory,
    memory_of,
)
from mcp_progress_monitor.checking.results import Results
from mcp_progress_monitor.checking.schemas import SchemaChecks
from mcp_progress_monitor.findings import rules
from mcp_progress_monitor.findings.advice import Needs
from mcp_progress_monitor.findings.finding import Finding, Level, Rule
from mcp_progress_monitor.protocol.facts import (
    ConnectionClosed,
    ConnectionNegotiated,
    ConnectionOpened,
    NotificationReceived,
    OutputChecked,
    PartReceived,
    ProgressReceived,
    RequestAnswered,
    RequestCancelled,
    RequestMade,
    RequestStanding,
    Side,
    TaskStated,
    UnreadableReceived,
)
from mcp_progress_monitor.protocol.frames import Channel, are_alike, fact_of
from mcp_progress_monitor.protocol.messages import (
    CALL_TOOL,
    DISCOVER,
    LIST_TOOLS,
    LISTEN,
    LOG_MESSAGE,
    OF_EVENTS,
    OF_STREAMS,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from mcp_progress_monitor.checking.results import Result
    from mcp_progress_monitor.protocol.facts import Fact
    from mcp_progress_monitor.protocol.frames import FactRun, Frame, PlainTick
    from mcp_progress_monitor.tracker.snapshot import JobId


CONNECTIONS_KEPT: Final = 4096
_PROBE_RULES: Final = frozenset({"JR-1", "RES-1", "JR-4"})
"""Rules that do not apply to replies to `server/discover`: an older server, which does not know the
method, may reply in any way."""


class _Strays(NamedTuple):
    """Consecutive messages of no call that break the same rule, after the first of them."""

    rule: Rule
    results: list[Result | None]
    numbers: list[int]


class SessionJudge:
    """Judges all connections of a session; `job_of` returns the job of a request's frame."""

    def __init__(
        self,
        job_of: Callable[[int], JobId | None],
        baseline: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        """`baseline` has digests of tools by server, from an earlier report."""
        self.results = Results(job_of)
        self._servers: dict[str, ServerMemory] = {}
        self._baseline = baseline or {}
        self._connections: dict[str, JudgedConnection] = {}
        self._of_ticks: dict[tuple[int, str], list[Result | None]] = {}
        """The results of a request's ticks that break a rule, until anything but notifications."""
        self._handlers: dict[type, Callable[[JudgedConnection, Any], Iterator[Evidence]]] = {
            RequestMade: self._request,
            RequestAnswered: self._answer,
            RequestCancelled: self._cancel,
            ProgressReceived: self._progress,
            NotificationReceived: self._notification,
            TaskStated: self._task,
            ConnectionOpened: surroundings.take_opened,
            ConnectionNegotiated: self._negotiated,
            ConnectionClosed: self._closed,
            OutputChecked: self._output,
        }

    def take(
        self, frames: Sequence[Frame], facts: FactRun, marked: Mapping[int, tuple[Finding, ...]]
    ) -> None:
        """Judge a chunk: its frames, their facts, and findings made earlier (`marked`)."""
        self.results.error_frames()  # discards those of the last chunk
        alone, done = _without_facts(frames), 0
        begin, logs = 0, list[NotificationReceived]()
        strays: dict[str, _Strays] = {}
        for place, fact in zip(facts.places, facts.others, strict=True):
            while done < len(alone) and alone[done].number <= fact.number:
                self._frame(alone[done])
                done += 1
            if _is_aside(fact):
                self._take_aside(fact, logs, strays, marked)
            elif type(fact) in self._handlers or fact.number in marked:
                self._take_ticks(facts.ticks[begin:place], marked)
                begin = place
                self._take_logs(logs)
                self._count_strays(strays)
                self._of_ticks.clear()
                connection = self.connection(fact.connection)
                connection.apply_last_ticks()
                self._take_fact(connection, fact, marked)
        for frame in alone[done:]:
            self._frame(frame)
        self._take_logs(logs)
        self._count_strays(strays)
        self._take_ticks(facts.ticks[begin:], marked)

    def finish(self) -> None:
        """Judge what only the end of the session shows."""
        for connection in self._connections.values():
            self._state(connection, tasks.take_end(connection))

    def pass_time(self, now: float) -> float | None:
        """Judge what the time `now` shows; returns when to call this again, None for never.

        Optional: later messages lead to the same results about the same frames.
        """
        due: list[float] = []
        for connection in self._connections.values():
            if connection.calls:
                connection.apply_last_ticks()
                self._state(connection, progress.take_time(connection, now))
                due += progress.due(connection, now)
            if connection.early:
                self._state(connection, tasks.take_time(connection, now))
                due += tasks.due(connection)
        return min(due, default=None)

    @property
    def connections(self) -> Mapping[str, JudgedConnection]:
        return self._connections

    @property
    def tools(self) -> dict[str, dict[str, str]]:
        return {
            name: {tool: surroundings.digest(record) for tool, record in memory.tools.items()}
            for name, memory in self._servers.items()
        }

    def state(self, connection: JudgedConnection, evidence: Evidence) -> None:
        """Add evidence of another check, such as that of the official schemas."""
        self._state(connection, iter((evidence,)))

    def connection(self, id_: str) -> JudgedConnection:
        known = self._connections.get(id_)
        if known is None:
            memory = memory_of(self._servers, id_)
            memory.baseline = dict(self._baseline.get(memory.name, {}))
            known = self._connections[id_] = JudgedConnection(id_, memory)
            if len(self._connections) > CONNECTIONS_KEPT:
                del self._connections[next(iter(self._connections))]
        return known

    def _take_aside(
        self,
        fact: Fact,
        logs: list[NotificationReceived],
        strays: dict[str, _Strays],
        marked: Mapping[int, tuple[Finding, ...]],
    ) -> None:
        """Judge a message that does not affect ticks; those that come in floods are gathered."""
        if type(fact) is NotificationReceived:
            connection = self.connection(fact.connection)
            if fact.method == LOG_MESSAGE:
                if logs and logs[0].connection != fact.connection:
                    self._take_logs(logs)
                logs.append(fact)
            elif not messages.needs_no_check(connection, fact):
                self._take_logs(logs)
                self._state(connection, self._notification(connection, fact))
        elif type(fact) is ProgressReceived:
            self.results.note(self.connection(fact.connection), Needs.PROGRESS)
        found = marked.get(fact.number)
        if found is None:
            return
        if len(found) > 1 or found[0].rule not in _OF_STRAYS:
            self._count_strays(strays)
            self._take_found(fact, found)
            return
        known = strays.get(fact.connection)
        if known is None or known.rule is not found[0].rule:
            self._count_strays(strays)
            results = self._take_found(fact, found)
            strays[fact.connection] = _Strays(found[0].rule, results, [])
        else:
            known.numbers.append(fact.number)

    def _count_strays(self, strays: dict[str, _Strays]) -> None:
        """Count the frames with the finding of the first, and forget them."""
        for known in strays.values():
            self.results.add_frames(known.results, known.rule.level, known.numbers)
        strays.clear()

    def _take_ticks(
        self, ticks: Sequence[PlainTick], marked: Mapping[int, tuple[Finding, ...]]
    ) -> None:
        """Judge ticks, those of one moment in a few steps."""
        if not ticks:
            return
        # As a rule all have the stamp of their chunk.
        is_one = ticks[0][1] is ticks[-1][1]
        stretches = [ticks] if is_one else [[*some] for _, some in groupby(ticks, _stamp_of)]
        for some in stretches:
            connection = self.connection(some[0][1][0])
            self.results.note(connection, Needs.PROGRESS)
            self._state(connection, progress.take_ticks(connection, some))
        if marked:
            self._take_marked_ticks(ticks, marked)

    def _take_fact(
        self, connection: JudgedConnection, fact: Fact, marked: Mapping[int, tuple[Finding, ...]]
    ) -> None:
        """Judge a fact, and add its findings."""
        handler = self._handlers.get(type(fact))
        if handler is not None:
            self._state(connection, handler(connection, fact))
        found = marked.get(fact.number)
        if found is not None and type(fact) not in _STATED_BESIDE:
            self._take_found(fact, found)

    def _take_logs(self, logs: list[NotificationReceived]) -> None:
        """Judge the log messages gathered, which all have the findings of the first."""
        if not logs:
            return
        connection = self.connection(logs[0].connection)
        numbers = [fact.number for fact in logs[1:]]
        for evidence in self._notification(connection, logs[0]):
            result = self._state(connection, iter((evidence,)))
            self.results.add_frames(result, evidence.finding.rule.level, numbers)
        logs.clear()

    def _frame(self, frame: Frame) -> None:
        connection = self.connection(frame.connection)
        if frame.channel is Channel.EVENT:
            self._state(connection, surroundings.take_event(connection, frame))
        else:
            self._state(connection, messages.take_batch(connection, frame))

    def _state(
        self, connection: JudgedConnection, found: Iterator[Evidence]
    ) -> list[Result | None]:
        """Add evidence; returns its results, None for one that is not kept."""
        results: list[Result | None] = []
        for evidence in found:
            call = connection.call_of(evidence.request)
            is_probe = call is not None and call.method == DISCOVER
            finding = _applicable(connection.revision, evidence.finding)
            if finding is not None and not (is_probe and finding.rule.id in _PROBE_RULES):
                results.append(
                    self.results.add(connection, call, evidence._replace(finding=finding))
                )
        return results

    def _take_marked_ticks(
        self, ticks: Sequence[PlainTick], marked: Mapping[int, tuple[Finding, ...]]
    ) -> None:
        """Add findings on ticks of a run, together for ticks of a request with the same finding."""
        ticks = [tick for tick in ticks if tick[0] in marked]
        kinds: dict[int, Rule] = {}
        alike: dict[tuple[int, str], list[PlainTick]] = {}
        for tick in ticks:
            found = marked[tick[0]]
            rule = found[0].rule
            kinds[id(rule) if len(found) == 1 else 0] = rule
            key = tick[3], rule.text
            if key in alike:
                alike[key].append(tick)
            else:
                alike[key] = [tick]
        if 0 in kinds or len({rule.id for rule in kinds.values()}) < len(kinds):
            for tick in ticks:
                self._take_found(fact_of(tick), marked[tick[0]])
            return
        for key, some in alike.items():
            found = marked[some[0][0]]
            results = self._of_ticks.get(key)
            if results is None:
                results = self._of_ticks[key] = self._take_found(fact_of(some.pop(0)), found)
            numbers = [tick[0] for tick in some]
            self.results.add_frames(results, found[0].rule.level, numbers)

    def _take_found(self, fact: Fact, found: Sequence[Finding]) -> list[Result | None]:
        """Add the findings on a message, with sender and request."""
        connection = self.connection(fact.connection)
        request = fact.number if type(fact) is RequestMade else getattr(fact, "request", None)
        if isinstance(fact, NotificationReceived):
            request = tasks.creating_request(connection, fact)
        if type(fact) is ProgressReceived and request is None:
            request = _request_of_changed_token(connection, fact)
        request, by = connection.about(request), getattr(fact, "sender", Side.SERVER)
        if _answers_probe(connection, fact):
            return []
        stated = (
            Evidence(each, fact.number, request, _blamed(each, by))
            for each in _as_judged(connection, fact, found)
        )
        return self._state(connection, tasks.without_early(connection, fact, stated))

    # One fact

    def _request(self, connection: JudgedConnection, fact: RequestMade) -> Iterator[Evidence]:
        call = connection.begin(fact)
        self.results.note(connection, _needs_of_request(fact))
        yield from messages.take_request(connection, call, fact)
        yield from events.take_request(connection, call, fact)
        yield from progress.take_request(connection, call, fact)
        yield from tasks.take_request(connection, call, fact)
        yield from messages.take_resume_token(connection, call, fact)
        if progress.is_watched(connection):
            self.results.note(connection, Needs.WATCHED)

    def _answer(self, connection: JudgedConnection, fact: RequestAnswered) -> Iterator[Evidence]:
        call = connection.call_of(fact.request)
        if fact.error is not None:
            self.results.note(connection, Needs.ERROR)
        if call is None:
            return
        if fact.standing is RequestStanding.ACTIVE:
            connection.fastest_s = min(connection.fastest_s, fact.at - call.at)
        kind = (fact.result or {}).get("resultType")
        if kind == "input_required":
            self.results.note(connection, Needs.INPUT)
        if fact.next_resume_token is not None:
            self.results.note(connection, Needs.RESUME)
        yield from tasks.take_answer(connection, call, fact)
        yield from messages.take_answer(connection, call, fact)
        yield from events.take_answer(connection, call, fact)
        yield from messages.take_next_token(connection, call, fact)
        yield from surroundings.take_answer(connection, call, fact)
        yield from progress.take_answer(connection, call, fact)
        if call.method == LIST_TOOLS and fact.result is not None:
            self.results.note(connection, Needs.TOOLS)
        if fact.standing is RequestStanding.ACTIVE:
            connection.end(call)

    def _cancel(self, connection: JudgedConnection, fact: RequestCancelled) -> Iterator[Evidence]:
        self.results.note(connection, Needs.CANCEL)
        call = connection.call_of(fact.request)
        if call is not None:
            yield from progress.take_cancel(connection, call, fact)
            if fact.standing is RequestStanding.ACTIVE:
                connection.end(call)

    def _progress(self, connection: JudgedConnection, fact: ProgressReceived) -> Iterator[Evidence]:
        self.results.note(connection, Needs.PROGRESS)
        yield from progress.take_tick(connection, fact)

    def _notification(
        self, connection: JudgedConnection, fact: NotificationReceived
    ) -> Iterator[Evidence]:
        if fact.method == LOG_MESSAGE:
            self.results.note(connection, Needs.LOG)
        elif fact.method in OF_STREAMS and fact.sender is Side.SERVER:
            self.results.note(connection, Needs.EVENTS)
            yield from events.take_notification(connection, fact)
        yield from messages.take_notification(connection, fact)

    def _task(self, connection: JudgedConnection, fact: TaskStated) -> Iterator[Evidence]:
        self.results.note(connection, Needs.TASK)
        if fact.input_requests:
            self.results.note(connection, Needs.INPUT)
        yield from tasks.take_statement(connection, fact)

    def _negotiated(
        self, connection: JudgedConnection, fact: ConnectionNegotiated
    ) -> Iterator[Evidence]:
        connection.revision = fact.revision
        connection.capabilities = fact.capabilities
        capabilities.note_negotiated(connection)
        self.results.note(connection, Needs.MESSAGE | Needs.OUTPUT)
        return iter(())

    def _closed(self, connection: JudgedConnection, fact: ConnectionClosed) -> Iterator[Evidence]:
        if not connection.is_http and fact.is_wanted:
            self.results.note(connection, Needs.END)
        yield from progress.take_close(connection, fact)
        yield from tasks.take_end(connection)
        connection.close()

    def _output(self, connection: JudgedConnection, _fact: OutputChecked) -> Iterator[Evidence]:
        self.results.note(connection, Needs.OUTPUT)
        return iter(())


def _applicable(revision: str | None, finding: Finding) -> Finding | None:
    """The finding if its rule applies to the negotiated revision, else None or another rule's."""
    rule = finding.rule
    if revision is None or revision in rule.revisions:
        return finding
    if rule.id == rules.MESSAGE_EARLY.id:
        return Finding(rules.MESSAGE_EARLY, ("not a string",))
    return None


def _request_of_changed_token(connection: JudgedConnection, fact: ProgressReceived) -> int | None:
    """The newest request whose token differs from an unknown one only in its type, if any."""
    if not any(each.rule is rules.TOKEN_TYPE_CHANGED for each in fact.findings):
        return None
    calls = (*connection.calls.values(), *connection.ended.values())
    alike = (c.number for c in calls if c.token is not None and str(c.token) == str(fact.token))
    return max((number for number in alike if number < fact.number), default=None)


def _as_judged(
    connection: JudgedConnection, fact: Fact, found: Sequence[Finding]
) -> Iterator[Finding]:
    """The findings on a message, as the connection and the messages before it explain them."""
    for finding in map(_sentence, found):
        if finding.rule is rules.ERROR_ID_NULL and connection.is_http:
            yield Finding(rules.ERROR_ID_NULL_IN_BODY)
        elif finding.rule is not rules.ERROR_WITHOUT_ID or not connection.is_http:
            shared = progress.as_shared(connection, fact, finding)
            yield progress.as_crossing(connection, fact, shared)


def _blamed(finding: Finding, by: Side) -> Side:
    """Name who broke a rule in a message of `by`: mixed-up progress is its requests' fault."""
    if finding.rule is not rules.TOKEN_SHARED:
        return by
    return Side.SERVER if by is Side.CLIENT else Side.CLIENT


def _sentence(finding: Finding) -> Finding:
    """The finding as a full sentence: beside its event, that of an output schema is shorter."""
    return finding._replace(rule=rules.OUTPUT) if finding.rule is rules.OUTPUT_TEXT else finding


def _is_aside(fact: Fact) -> bool:
    """Tell whether a server's message affects neither its calls nor how ticks are judged."""
    if type(fact) is ProgressReceived:
        return fact.request is None
    if type(fact) is NotificationReceived or type(fact) is UnreadableReceived:
        return fact.sender is _SERVER
    return False


def _without_facts(frames: Sequence[Frame]) -> list[Frame]:
    """Events and first elements of batches: the frames that are checked themselves."""
    event = Channel.EVENT  # members of an enum are slow to look up
    if are_alike(frames):
        return []
    return [
        frame
        for frame in frames
        if frame[2] is event or ((part := frame[6]) is not None and part[0] == 1)
    ]


def _needs_of_request(fact: RequestMade) -> Needs:
    needs = Needs.MESSAGE
    if fact.method == CALL_TOOL:
        needs |= Needs.CALL
    if fact.token is not None:
        needs |= Needs.TOKEN
    if fact.method == LISTEN:
        needs |= Needs.LISTEN
    if fact.method.startswith(OF_EVENTS):
        needs |= Needs.EVENTS
    if fact.resume_token is not None:
        needs |= Needs.RESUME
    return needs


def _answers_probe(connection: JudgedConnection, fact: Fact) -> bool:
    """Return whether an error is how an older server rejects our `server/discover`."""
    if type(fact) is not RequestAnswered or fact.error is None or connection.is_per_request:
        return False
    call = connection.call_of(fact.request)
    if call is not None:
        return call.method == DISCOVER
    probed = any(
        c.method == DISCOVER for c in (*connection.calls.values(), *connection.ended.values())
    )
    return probed and fact.standing is RequestStanding.UNKNOWN


class SessionChecker:
    """The judge and the schema checks, fed by the same updates.

    A message that violates another rule is not compared with its schema: the rule says more.
    """

    def __init__(
        self,
        job_of: Callable[[int], JobId | None],
        baseline: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        """See `SessionJudge`."""
        self.judge = SessionJudge(job_of, baseline)
        self.schemas = SchemaChecks()

    def take(
        self, frames: Sequence[Frame], facts: FactRun, marked: Mapping[int, tuple[Finding, ...]]
    ) -> None:
        """Judge a chunk, and compare its messages with the official schema."""
        self.judge.take(frames, facts, marked)
        errors = self.judge.results.error_frames()
        errors.update([number for number, found in marked.items() if _has_error(found)])
        for found in self.schemas.take(self.judge.connection, frames, facts, errors):
            self.judge.state(*found)


_OF_STRAYS: Final = frozenset({rules.NOT_JSON, rules.UNKNOWN_TOKEN})
_STATED_BESIDE: Final = frozenset({TaskStated, PartReceived})
"""Further facts of a message, whose findings its other fact has as well."""
# Looking up an enum member takes ten times as long as a global.
_ERROR: Final = Level.ERROR
_SERVER: Final = Side.SERVER
_stamp_of = itemgetter(1)


def _has_error(found: Sequence[Finding]) -> bool:
    is_error = found[0].rule.level is _ERROR
    return is_error or (len(found) > 1 and any(each.rule.level is _ERROR for each in found))
