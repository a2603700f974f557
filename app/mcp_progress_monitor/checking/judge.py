"""The judge of a session: frames, facts and findings in, one result for each rule and job out.

It is passive, keeps bounded tables and reads no clock, so that live traffic and its recording have
the same results. A run of plain ticks costs it a few steps, however long it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor.checking import messages, progress, resuming, surroundings, tasks
from mcp_progress_monitor.checking.connection import (
    Evidence,
    JudgedConnection,
    ServerMemory,
    memory_of,
)
from mcp_progress_monitor.checking.results import Results
from mcp_progress_monitor.findings import rules
from mcp_progress_monitor.findings.advice import Needs
from mcp_progress_monitor.findings.finding import Finding
from mcp_progress_monitor.protocol.facts import (
    ConnectionClosed,
    ConnectionNegotiated,
    ConnectionOpened,
    NotificationReceived,
    OutputChecked,
    ProgressReceived,
    RequestAnswered,
    RequestCancelled,
    RequestMade,
    RequestStanding,
    Side,
    TaskStated,
)
from mcp_progress_monitor.protocol.frames import Channel, FactRun, FrameRun, fact_of
from mcp_progress_monitor.protocol.messages import (
    CALL_TOOL,
    DISCOVER,
    LIST_TOOLS,
    LISTEN,
    LOG_MESSAGE,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from mcp_progress_monitor.checking.results import Result
    from mcp_progress_monitor.protocol.facts import Fact
    from mcp_progress_monitor.protocol.frames import Frame, PlainTick
    from mcp_progress_monitor.tracker.snapshot import JobId

CONNECTIONS_KEPT: Final = 4096
_OF_PROBES: Final = frozenset({"JR-1", "RES-1", "JR-4"})
"""Rules that an answer to `server/discover` may break without a fault of the server's: an older
server cannot know the method, and may answer in any way."""


class SessionJudge:
    """Judges all connections of a session. `job_of` tells the job of a request's frame."""

    def __init__(
        self,
        job_of: Callable[[int], JobId | None],
        baseline: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        """`baseline` has the digests of tools by server, as an earlier report told them."""
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
        self,
        frames: Sequence[Frame],
        facts: Sequence[Fact],
        marked: Mapping[int, tuple[Finding, ...]],
    ) -> None:
        """Take a chunk: its frames, the facts read from them, and what is already found wrong."""
        self.results.grave_frames()  # those of the last chunk
        if not frames:
            return
        if type(facts) is FactRun and (type(frames) is FrameRun or _is_simple(facts)):
            for frame in () if type(frames) is FrameRun else _without_facts(frames):
                self._frame(frame)
            self._take_run(self.connection(frames[0].connection), facts)
        else:
            self._of_ticks.clear()
            self._take_each(frames, facts)
        if marked:
            self._take_marked(facts, marked)

    def finish(self) -> None:
        """Judge what only the end of a session shows; no more comes."""
        for connection in self._connections.values():
            self._state(connection, tasks.take_end(connection))

    def pass_time(self, now: float) -> float | None:
        """Judge what time alone has shown by `now`; when to ask again, None if nothing waits.

        Later messages state the same results about the same frames: calling this is optional.
        """
        due: list[float] = []
        for connection in self._connections.values():
            if connection.calls:
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
        """Add what another check has found, as that of the official schemas."""
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

    def _take_run(self, connection: JudgedConnection, run: FactRun) -> None:
        """Take ticks in few steps, and the facts between them in order.

        Notifications have nothing to do with ticks: they do not divide them.
        """
        if run.ticks:
            self.results.see(connection, Needs.PROGRESS)
        begin, logs = 0, list[NotificationReceived]()
        for place, fact in run.others:
            if type(fact) is NotificationReceived and fact.sender is Side.SERVER:
                if fact.method == LOG_MESSAGE:
                    logs.append(fact)
                elif not messages.is_beyond_doubt(connection, fact):
                    self._state(connection, self._notification(connection, fact))
                continue
            if place > begin:
                self._state(connection, progress.take_run(connection, run, slice(begin, place)))
                begin = place
            self._take_logs(connection, logs)
            logs = []
            self._of_ticks.clear()
            handler = self._handlers.get(type(fact))
            if handler is not None:
                self._state(connection, handler(connection, fact))
        self._take_logs(connection, logs)
        if begin < len(run.ticks):
            rest = slice(begin, len(run.ticks))
            self._state(connection, progress.take_run(connection, run, rest))

    def _take_logs(
        self, connection: JudgedConnection, logs: Sequence[NotificationReceived]
    ) -> None:
        """Take log messages that came together: what is wrong with one is wrong with all."""
        numbers = [fact.number for fact in logs[1:]]
        for evidence in () if not logs else self._notification(connection, logs[0]):
            result = self._state(connection, iter((evidence,)))
            self.results.add_frames(result, evidence.finding.rule.level, numbers)

    def _take_each(self, frames: Sequence[Frame], facts: Sequence[Fact]) -> None:
        """Take facts with the frames that have none, in the order of their numbers."""
        others = _without_facts(frames)
        place = 0
        for fact in facts:
            while place < len(others) and others[place].number <= fact.number:
                self._frame(others[place])
                place += 1
            handler = self._handlers.get(type(fact))
            if handler is not None:
                connection = self.connection(fact.connection)
                self._state(connection, handler(connection, fact))
        for frame in others[place:]:
            self._frame(frame)

    def _frame(self, frame: Frame) -> None:
        connection = self.connection(frame.connection)
        if frame.channel is Channel.EVENT:
            self._state(connection, surroundings.take_event(connection, frame))
        else:
            self._state(connection, messages.take_batch(connection, frame))

    def _state(
        self, connection: JudgedConnection, found: Iterator[Evidence]
    ) -> list[Result | None]:
        """Add evidence; the results that it is of, None where one is not kept."""
        results: list[Result | None] = []
        for evidence in found:
            call = connection.call_of(evidence.request)
            is_probe = call is not None and call.method == DISCOVER
            finding = _of_revision(connection.revision, evidence.finding)
            if finding is not None and not (is_probe and finding.rule.id in _OF_PROBES):
                whole = evidence._replace(finding=finding)
                results.append(self.results.add(connection, call, whole))
        return results

    def _take_marked(
        self, facts: Sequence[Fact], marked: Mapping[int, tuple[Finding, ...]]
    ) -> None:
        """Take what conversation and tracker have stated, with whom and what it is about."""
        named: Sequence[Fact] = facts
        if type(facts) is FactRun:
            if not any(fact.number in marked for _, fact in facts.others):
                self._take_marked_ticks(facts, marked)
                return
            named = facts.of_numbers(marked)
        for fact in named:
            found = marked.get(fact.number)
            if found is not None and type(fact) is not TaskStated:
                self._take_found(fact, found)

    def _take_marked_ticks(self, run: FactRun, marked: Mapping[int, tuple[Finding, ...]]) -> None:
        """Take ticks of a run: those of a request that break one rule alone are counted at once."""
        ticks = [tick for tick in run.ticks if tick[0] in marked]
        broken = {(rule.id, rule.text) for tick in ticks for rule, _ in marked[tick[0]]}
        is_simple = len({id_ for id_, _ in broken}) == len(broken)
        if not is_simple or any(len(marked[tick[0]]) > 1 for tick in ticks):
            for tick in ticks:
                self._take_found(fact_of(tick), marked[tick[0]])
            return
        alike: dict[tuple[int, str], list[PlainTick]] = {}
        for tick in ticks:
            alike.setdefault((tick[3], marked[tick[0]][0].rule.text), []).append(tick)
        for key, some in alike.items():
            found = marked[some[0][0]]
            results = self._of_ticks.get(key)
            if results is None:
                results = self._of_ticks[key] = self._take_found(fact_of(some.pop(0)), found)
            numbers = [tick[0] for tick in some]
            self.results.add_frames(results, found[0].rule.level, numbers)

    def _take_found(self, fact: Fact, found: Sequence[Finding]) -> list[Result | None]:
        """Take what is wrong with a message, with whom and what it is about."""
        connection = self.connection(fact.connection)
        request = fact.number if type(fact) is RequestMade else getattr(fact, "request", None)
        if isinstance(fact, NotificationReceived):
            request = tasks.begun_by(connection, fact)
        if type(fact) is ProgressReceived and request is None:
            request = _alike(connection, fact)
        request, by = connection.about(request), getattr(fact, "sender", Side.SERVER)
        if _answers_probe(connection, fact):
            return []
        whole = (progress.as_crossing(connection, fact, _whole(each)) for each in found)
        stated = (Evidence(each, fact.number, request, by) for each in whole)
        return self._state(connection, tasks.without_early(connection, fact, stated))

    # One fact

    def _request(self, connection: JudgedConnection, fact: RequestMade) -> Iterator[Evidence]:
        call = connection.begin(fact)
        self.results.see(connection, _needs_of_request(fact))
        yield from messages.take_request(connection, call, fact)
        yield from progress.take_request(connection, call, fact)
        yield from tasks.take_request(connection, call, fact)
        yield from resuming.take_request(connection, call, fact)
        if progress.is_watched(connection):
            self.results.see(connection, Needs.WATCHED)

    def _answer(self, connection: JudgedConnection, fact: RequestAnswered) -> Iterator[Evidence]:
        call = connection.call_of(fact.request)
        if fact.error is not None:
            self.results.see(connection, Needs.ERROR)
        if call is None:
            return
        kind = (fact.result or {}).get("resultType")
        if kind == "input_required":
            self.results.see(connection, Needs.INPUT)
        if fact.next_resume_token is not None:
            self.results.see(connection, Needs.RESUME)
        yield from tasks.take_answer(connection, call, fact)
        yield from messages.take_answer(connection, call, fact)
        yield from resuming.take_answer(connection, call, fact)
        yield from surroundings.take_answer(connection, call, fact)
        yield from progress.take_answer(connection, call, fact)
        if call.method == LIST_TOOLS and fact.result is not None:
            self.results.see(connection, Needs.TOOLS)
        if fact.standing is RequestStanding.ACTIVE:
            connection.end(call)

    def _cancel(self, connection: JudgedConnection, fact: RequestCancelled) -> Iterator[Evidence]:
        self.results.see(connection, Needs.CANCEL)
        call = connection.call_of(fact.request)
        if call is not None:
            yield from progress.take_cancel(connection, call, fact)
            if fact.standing is RequestStanding.ACTIVE:
                connection.end(call)

    def _progress(self, connection: JudgedConnection, fact: ProgressReceived) -> Iterator[Evidence]:
        self.results.see(connection, Needs.PROGRESS)
        yield from progress.take_tick(connection, fact)

    def _notification(
        self, connection: JudgedConnection, fact: NotificationReceived
    ) -> Iterator[Evidence]:
        if fact.method == LOG_MESSAGE:
            self.results.see(connection, Needs.LOG)
        yield from messages.take_notification(connection, fact)

    def _task(self, connection: JudgedConnection, fact: TaskStated) -> Iterator[Evidence]:
        self.results.see(connection, Needs.TASK)
        if fact.input_requests:
            self.results.see(connection, Needs.INPUT)
        yield from tasks.take_statement(connection, fact)

    def _negotiated(
        self, connection: JudgedConnection, fact: ConnectionNegotiated
    ) -> Iterator[Evidence]:
        connection.revision = fact.revision
        connection.capabilities = fact.capabilities
        self.results.see(connection, Needs.MESSAGE | Needs.OUTPUT)
        return iter(())

    def _closed(self, connection: JudgedConnection, fact: ConnectionClosed) -> Iterator[Evidence]:
        if not connection.is_http and fact.is_wanted:
            self.results.see(connection, Needs.END)
        yield from progress.take_close(connection, fact)
        yield from tasks.take_end(connection)
        connection.close()

    def _output(self, connection: JudgedConnection, _fact: OutputChecked) -> Iterator[Evidence]:
        self.results.see(connection, Needs.OUTPUT)
        return iter(())


def _of_revision(revision: str | None, finding: Finding) -> Finding | None:
    """The finding as far as its rule applies to the revision that was agreed on; None if not."""
    rule = finding.rule
    if revision is None or revision in rule.revisions:
        return finding
    if rule.id == rules.MESSAGE_EARLY.id:
        return Finding(rules.MESSAGE_EARLY, ("not a string",))
    return None


def _alike(connection: JudgedConnection, fact: ProgressReceived) -> int | None:
    """The request of an unknown token whose own differs only in its type; None where none is."""
    if not any(each.rule is rules.TOKEN_TYPE_CHANGED for each in fact.findings):
        return None
    calls = (*connection.calls.values(), *connection.ended.values())
    alike = (c.number for c in calls if c.token is not None and str(c.token) == str(fact.token))
    return max((number for number in alike if number < fact.number), default=None)


def _whole(finding: Finding) -> Finding:
    """The finding in a whole sentence: beside its event, that of an output schema has none."""
    is_words = finding.rule is rules.OUTPUT_WORDS
    return finding._replace(rule=rules.OUTPUT) if is_words else finding


def _is_simple(run: FactRun) -> bool:
    """Whether nothing in a run can change what its batches are judged by."""
    return all(type(fact) is NotificationReceived for _, fact in run.others)


def _without_facts(frames: Sequence[Frame]) -> list[Frame]:
    """Events, and the elements that begin a batch: what checks read the frames themselves for."""
    return [
        frame
        for frame in frames
        if frame.channel is Channel.EVENT or (frame.part is not None and frame.part.index == 1)
    ]


def _needs_of_request(fact: RequestMade) -> Needs:
    needs = Needs.MESSAGE
    if fact.method == CALL_TOOL:
        needs |= Needs.CALL
    if fact.token is not None:
        needs |= Needs.TOKEN
    if fact.method == LISTEN:
        needs |= Needs.LISTEN
    if fact.resume_token is not None:
        needs |= Needs.RESUME
    return needs


def _answers_probe(connection: JudgedConnection, fact: Fact) -> bool:
    """Whether a message is an older server's way to say that it does not know our question."""
    if type(fact) is not RequestAnswered or fact.error is None or connection.is_per_request:
        return False
    call = connection.call_of(fact.request)
    if call is not None:
        return call.method == DISCOVER
    probed = any(
        c.method == DISCOVER for c in (*connection.calls.values(), *connection.ended.values())
    )
    return probed and fact.standing is RequestStanding.UNKNOWN
