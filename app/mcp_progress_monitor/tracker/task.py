"""The task that a job has become: what its server has stated of it, message by message."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.protocol.task_questions import digests
from mcp_progress_monitor.protocol.task_state import TaskStatus, is_terminal
from mcp_progress_monitor.tracker.amount import as_float
from mcp_progress_monitor.tracker.snapshot import TaskPicture, TaskStep

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mcp_progress_monitor.protocol.facts import TaskStated
    from mcp_progress_monitor.protocol.task_state import TaskView

STEPS_KEPT: Final = 500
"""Newest changes of a task that are kept."""
_ANSWERED_KEPT: Final = 1000
"""Keys of answered questions that are remembered: a server may show them until it has read."""


class Task:
    """A task of a job. `status` is the last one that counts: a terminal one is final.

    `key` is its server's identity. While it `is_saving` it is not shown yet. `reused` are the keys
    that stand for other questions in the newest statement than before.
    """

    __slots__ = (
        "_answered",
        "_asked",
        "_asks",
        "_is_met",
        "began_at",
        "created",
        "id",
        "is_flat",
        "is_followed",
        "is_saving",
        "key",
        "message",
        "poll_count",
        "poll_ms",
        "polled_at",
        "reused",
        "status",
        "steps",
        "ttl_ms",
        "updated",
    )

    def __init__(self, view: TaskView, began_at: float | None) -> None:
        """A task that began at `began_at`, monotonic seconds; None where that is not known."""
        self.id = view.id
        self.is_flat = view.is_flat
        self.began_at = began_at
        self.is_followed = True
        self.is_saving = False
        self.key = ""
        self.poll_count = 0
        self.polled_at: float | None = None
        self.status = ""
        self.message: str | None = None
        self.created: str | None = view.created
        self.updated: str | None = None
        self.ttl_ms: int | float | None = None
        self.poll_ms: int | float | None = None
        self.steps: collections.deque[TaskStep] = collections.deque(maxlen=STEPS_KEPT)
        self._asks: dict[str, int] = {}
        self._answered: dict[str, bytes] = {}
        self._asked: dict[str, bytes] = {}
        self.reused: tuple[str, ...] = ()
        self._is_met = False

    @property
    def is_over(self) -> bool:
        """Whether its status is one after which a task never changes."""
        return is_terminal(self.status)

    @property
    def expires_at(self) -> float | None:
        """When the server may forget the task; None if never, or not known."""
        if self.ttl_ms is None or self.began_at is None:
            return None
        return self.began_at + as_float(self.ttl_ms) / 1000

    @property
    def needs_user(self) -> bool:
        """Whether it waits for input that nobody has given yet."""
        if self.status != TaskStatus.INPUT_REQUIRED:
            return False
        return bool(self._asks) or not self._is_met

    @property
    def questions(self) -> set[int]:
        """The numbers of the frames that stated questions which are still open."""
        return set(self._asks.values())

    def take(self, fact: TaskStated) -> bool:
        """Take what is stated; whether that is news. The status of a task that is over stays."""
        view = fact.task
        self.is_followed = True
        if fact.how == "get":
            self.poll_count += 1
            self.polled_at = fact.at
        if not view.status:
            return False
        is_step = self._step(fact)
        is_news = is_step or view.updated != self.updated
        self.updated = view.updated
        self.created = view.created or self.created
        if not self.is_over:
            self.status, self.message = view.status, view.message
            self.ttl_ms, self.poll_ms = view.ttl_ms, view.poll_ms
        return self._ask(fact) or is_news

    def _step(self, fact: TaskStated) -> bool:
        """Note a change of status or message; whether there was one."""
        view, last = fact.task, self.steps[-1] if self.steps else None
        if last is not None and (last.status, last.message) == (view.status, view.message):
            return False
        self.steps.append(TaskStep(view.status, view.message, fact.at, fact.how, fact.number))
        return True

    def _ask(self, fact: TaskStated) -> bool:
        """Note which questions are open now; whether others than before."""
        before = set(self._asks)
        self._take_asks(fact)
        return self._asks.keys() != before

    def _take_asks(self, fact: TaskStated) -> None:
        self.reused = ()
        if self.status != TaskStatus.INPUT_REQUIRED:
            self._asks.clear()
            self._is_met = False
        elif fact.input_requests:
            known = {key: self._asked[key] for key in self._asks if key in self._asked}
            self._asked = digests(fact.input_requests)
            self._note_reused({**known, **self._answered})
            keys = [key for key in fact.input_requests if key not in self._answered]
            self._asks = {key: self._asks.get(key, fact.number) for key in keys}
            self._is_met = not keys

    def _note_reused(self, known: Mapping[str, bytes]) -> None:
        """Take keys that stand for another question than before for open ones."""
        asked = self._asked.items()
        self.reused = tuple(key for key, now in asked if known.get(key, now) not in {b"", now})
        for key in self.reused:
            self._answered.pop(key, None)
            self._asks.pop(key, None)

    def answer(self, keys: Iterable[str]) -> None:
        """Count questions as answered; with all of them the task has what it waits for."""
        for key in keys:
            self._asks.pop(key, None)
            self._answered[key] = self._asked.get(key, b"")
            if len(self._answered) > _ANSWERED_KEPT:
                del self._answered[next(iter(self._answered))]
        self.meet()

    def meet(self) -> None:
        """Count what the task waits for as given, unless questions of its own are open."""
        self._is_met = not self._asks

    def picture(self, now: float, *, is_ours: bool) -> TaskPicture:
        """The task at `now`; `is_ours` says that `tasks/cancel` would reach it."""
        expires_at = self.expires_at
        return TaskPicture(
            self.id,
            self.status,
            self.message,
            self.poll_ms,
            None if expires_at is None else max(expires_at - now, 0.0),
            expires_at,
            self.poll_count,
            is_ours and self.is_followed and not self.is_over,
            self.is_followed,
            self.created,
            None if self.polled_at is None else max(now - self.polled_at, 0.0),
        )
