"""What the other side asked for before it could go on with one job."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.tracker.snapshot import AskedPicture

if TYPE_CHECKING:
    from collections.abc import Collection

    from mcp_progress_monitor.protocol.facts import JsonObject, RequestAnswered, TaskStated
    from mcp_progress_monitor.tracker.snapshot import JobId

ROUNDS_KEPT: Final = 1000
"""Earlier requests of a job that find it; older ones do no more."""
CHILDREN_KEPT: Final = 1000
"""Newest jobs that are told of as asked for because of one job."""


class Asked:
    """The part of a job that only those have which were asked something.

    `open` has the numbers of the frames with open questions. `reply` is the one that requires
    input and awaits a further request, None while none does. `rounds` counts such replies.
    `requests` are the numbers of the requests that were answered so. `children` are the jobs of
    the other side's requests. `history` tells the newest questions of replies, with their answers.
    """

    __slots__ = ("children", "history", "open", "reply", "requests", "rounds")

    def __init__(self) -> None:
        self.open: dict[int, None] = {}
        self.reply: RequestAnswered | None = None
        self.rounds = 0
        self.requests: collections.deque[int] = collections.deque()
        self.children: dict[JobId, None] = {}
        self.history: collections.deque[AskedPicture] = collections.deque(maxlen=CHILDREN_KEPT)

    @property
    def keys(self) -> set[str]:
        """The keys of the questions in `reply`."""
        return set(self._requests())

    @property
    def state(self) -> Any:
        """The `requestState` of `reply`, which is to be sent back as it is; None if it has none."""
        return None if self.reply is None else (self.reply.result or {}).get("requestState")

    def _requests(self) -> dict[str, Any]:
        result = None if self.reply is None else self.reply.result
        return as_object((result or {}).get("inputRequests"))

    def require(self, reply: RequestAnswered) -> None:
        """Begin a round: a reply requires input, though perhaps nothing that a user must give."""
        self.reply = reply
        self.rounds += 1
        self.note(reply.number, self._requests(), reply.at, reply.when)
        if self.keys:
            self.open[reply.number] = None

    def note(self, number: int, requests: JsonObject, at: float, when: float) -> None:
        """Keep what is asked, by its keys, in the message `number`."""
        for key, value in requests.items():
            asks = as_object(value)
            method, params = str(asks.get("method")), as_object(asks.get("params"))
            self.history.append(AskedPicture(number, key, method, params, at, when))

    def note_of_task(self, fact: TaskStated, reused: Collection[str] = ()) -> None:
        """Keep what a task asks, once for each key: it is stated again until it is answered.

        Keys that are `reused` stand for other questions than before.
        """
        known = {asked.key for asked in self.history}.difference(reused)
        fresh = {k: v for k, v in (fact.input_requests or {}).items() if k not in known}
        self.note(fact.number, fresh, fact.at, fact.when)

    def note_answers(self, answers: JsonObject, at: float) -> None:
        """Keep what was answered to those questions that had no answer yet."""
        for place, asked in enumerate(self.history):
            if asked.answered_at is None and asked.key in answers:
                self.history[place] = asked._replace(answer=answers[asked.key], answered_at=at)

    def answer(self, request: int) -> int | None:
        """End the round: `request`, which was answered so, is not the newest one any more.

        Returns the number of a request that is to be forgotten for it, None if there is room.
        """
        if self.reply is not None:
            self.open.pop(self.reply.number, None)
        self.reply = None
        self.requests.append(request)
        return self.requests.popleft() if len(self.requests) > ROUNDS_KEPT else None

    def adopt(self, job: JobId) -> None:
        """Take a job as asked for because of this one."""
        self.children[job] = None
        if len(self.children) > CHILDREN_KEPT:
            del self.children[next(iter(self.children))]
