"""Questions get their answers: from the file, at the terminal in turn, or a no that says why."""

import contextlib
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, cast

import anyio
import pytest

from mcp_progress_monitor.cli.asking.answer_file import read_answers
from mcp_progress_monitor.cli.asking.asker import (
    AnswerMeans,
    Asker,
    RuledAnswer,
    action_of,
    dismissal,
)
from mcp_progress_monitor.cli.output.front import Front
from mcp_progress_monitor.engine.updates import Update
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.sessions.questions.answers import check_answer
from mcp_progress_monitor.sessions.questions.questions import Questions
from mcp_progress_monitor.snapshots.questions import (
    BY_RULE,
    Accept,
    Answer,
    Decline,
    Dismiss,
    Question,
    Refused,
    Sampled,
)
from tests.job_stand_ins import FakeJobs, job
from tests.unit.cli.asking.questions import Talk, Typist, asked, form

pytestmark = pytest.mark.anyio

RULE = "by this server's rule in the window"
ASKS_NAME = form(["name"], name={"type": "string", "minLength": 2})


class Book(FakeJobs):
    """Open questions, whose answers are checked as a monitor does."""

    def __init__(self) -> None:
        super().__init__(
            job(id=1),
            job(id=2, parent=1),
            job(id=3, method="elicitation/create", parent_is_unclear=True),
        )
        self.waiting: dict[int, Question] = {}
        self.ended: dict[int, Question] = {}
        self.answers: dict[int, Answer] = {}
        self.changed = anyio.Event()

    def open(self) -> list[Question]:
        return list(self.waiting.values())

    def find(self, question: int) -> Question | None:
        return self.waiting.get(question) or self.ended.get(question)

    def answer(self, question: int, answer: Answer) -> tuple[str, ...]:
        if question not in self.waiting:
            raise UserError(ErrorDetails("The question is no longer open"))
        found = check_answer(self.waiting[question], answer)
        if found.violations:
            raise UserError(ErrorDetails("It does not fit", detail="\n".join(found.violations)))
        del self.waiting[question]
        self.answers[question] = answer
        self.changed.set()
        self.changed = anyio.Event()
        return found.unchecked

    async def until(self, count: int) -> None:
        """Wait for so many answers."""
        with anyio.fail_after(5):
            while len(self.answers) < count:
                await self.changed.wait()


class NotingFront(Front):
    """Notes each call."""

    def __init__(self) -> None:
        self.reported: list[tuple[int, str, str]] = []
        self.warnings: list[ErrorDetails] = []
        self.quiet_depth = 0

    @contextlib.contextmanager
    def quiet(self) -> Iterator[None]:
        self.quiet_depth += 1
        yield
        self.quiet_depth -= 1

    def report_answer(self, question: Question, action: str, text: str) -> None:
        self.reported.append((question.id, action, text))

    def warn(self, error: ErrorDetails) -> None:
        self.warnings.append(error)


class Scene:
    """An asker at work."""

    def __init__(self, means: AnswerMeans, **rules: RuledAnswer) -> None:
        self.book = Book()
        self.front = NotingFront()
        self._rules = rules
        self.asker = Asker(
            cast("Questions", self.book), self.book.snapshot, self.front, means, self._ruled
        )

    def _ruled(self, question: Question) -> RuledAnswer | None:
        return self._rules.get(question.kind)

    def ask(self, *questions: Question) -> None:
        """A server asks."""
        self.book.waiting |= {question.id: question for question in questions}
        self.asker.on_update(Update(questions=frozenset(each.id for each in questions)))

    def answer_by_rule(self, *questions: Question) -> None:
        """A rule has answered what a server asked."""
        for each in questions:
            self.book.ended[each.id] = each._replace(ended=BY_RULE)
        self.asker.on_update(Update(questions=frozenset(each.id for each in questions)))

    def withdraw(self, question: int) -> None:
        """It needs no answer any more."""
        del self.book.waiting[question]
        self.asker.on_update(Update(questions=frozenset({question})))

    @contextlib.asynccontextmanager
    async def going_on(self) -> AsyncIterator[None]:
        """While this lasts, questions are answered."""
        async with anyio.create_task_group() as group:
            group.start_soon(self.asker.run)
            await anyio.wait_all_tasks_blocked()
            yield
            group.cancel_scope.cancel()


class Slow(Typist):
    """Types nothing until instructed, and reports when it is waited for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = anyio.Event()
        self.typed = anyio.Event()

    async def line(self) -> str:
        """The line, once it was typed."""
        self.asked.set()
        await self.typed.wait()
        return "Ada"


def means(tmp_path: Path, content: Any = None, talk: Talk | None = None) -> AnswerMeans:
    """What a command was given."""
    answers = None
    if content is not None:
        path = tmp_path / "a.json"
        path.write_text(json.dumps(content))
        answers = read_answers(path)
    return AnswerMeans(answers, None if talk is None else talk.dialogue)


async def test_without_a_user_to_ask_the_answer_is_no_with_a_message(tmp_path: Path) -> None:
    scene = Scene(means(tmp_path))
    async with scene.going_on():
        scene.ask(asked(id=1), asked("sampling", id=2))
        await scene.book.until(2)
    assert scene.book.answers == {1: Decline(), 2: Refused()}
    assert [action for _, action, _ in scene.front.reported] == ["decline", "refuse"]
    assert "--answers FILE" in scene.front.reported[0][2]


async def test_questions_from_before_are_answered_too(tmp_path: Path) -> None:
    scene = Scene(means(tmp_path))
    scene.book.waiting = {1: asked()}
    async with scene.going_on():
        await scene.book.until(1)


async def test_the_file_answers_and_says_where(tmp_path: Path) -> None:
    scene = Scene(means(tmp_path, [{"accept": {"name": "Ada"}}]))
    async with scene.going_on():
        scene.ask(asked(schema=ASKS_NAME))
        await scene.book.until(1)
    assert scene.book.answers == {1: Accept({"name": "Ada"})}
    assert scene.front.reported == [(1, "accept", f"by {tmp_path / 'a.json'}, $[0]")]
    scene.asker.report_unused()
    assert scene.front.warnings == []


async def test_an_answer_that_does_not_fit_is_a_no_with_its_path(tmp_path: Path) -> None:
    scene = Scene(means(tmp_path, [{"accept": {"name": "A"}}]))
    async with scene.going_on():
        scene.ask(asked(schema=ASKS_NAME))
        await scene.book.until(1)
    assert scene.book.answers == {1: Decline()}
    (warning,) = scene.front.warnings
    assert warning.where == f"{tmp_path / 'a.json'}, $[0]"
    assert warning.detail.startswith("name: ")
    assert "does not fit: name: " in scene.front.reported[0][2]


async def test_what_the_file_lacks_is_named(tmp_path: Path) -> None:
    scene = Scene(means(tmp_path, {"fields": {"age": 1}}))
    async with scene.going_on():
        scene.ask(asked(schema=form(["name"], name={}, age={})))
        await scene.book.until(1)
    assert "its fields lack name" in scene.front.reported[0][2]


async def test_answers_that_were_not_needed_are_reported(tmp_path: Path) -> None:
    scene = Scene(means(tmp_path, [{"decline": True}, {"kind": "url", "cancel": True}]))
    async with scene.going_on():
        scene.ask(asked())
        await scene.book.until(1)
    scene.asker.report_unused()
    assert [(w.where, w.detail) for w in scene.front.warnings] == [
        (str(tmp_path / "a.json"), "$[1]")
    ]


async def test_the_user_is_asked_one_question_after_the_other(tmp_path: Path) -> None:
    talk = Talk("", "Ada", "", "Bob")
    scene = Scene(means(tmp_path, talk=talk))
    async with scene.going_on():
        scene.ask(asked(id=1, schema=ASKS_NAME), asked(id=2, schema=ASKS_NAME))
        await scene.book.until(2)
    assert scene.book.answers == {1: Accept({"name": "Ada"}), 2: Accept({"name": "Bob"})}
    assert talk.typist.discarded == 2
    assert scene.front.reported == []
    assert scene.front.quiet_depth == 0


async def test_what_the_file_does_not_answer_is_asked(tmp_path: Path) -> None:
    talk = Talk("", "Ada")
    content = [{"accept": {"name": "A"}}, {"kind": "url", "decline": True}]
    scene = Scene(means(tmp_path, content, talk))
    async with scene.going_on():
        scene.ask(asked(id=1, schema=ASKS_NAME), asked("url", id=2))
        await scene.book.until(2)
    assert scene.book.answers == {1: Accept({"name": "Ada"}), 2: Decline()}
    assert len(scene.front.warnings) == 1


async def test_an_answer_that_the_monitor_refuses_is_asked_for_again(tmp_path: Path) -> None:
    talk = Talk("", "Ada", "", "", "b")
    both = {**form(["a"], a={"type": "string"}, b={"type": "string"}), "minProperties": 2}
    scene = Scene(means(tmp_path, talk=talk))
    async with scene.going_on():
        scene.ask(asked(schema=both))
        await scene.book.until(1)
    assert scene.book.answers == {1: Accept({"a": "Ada", "b": "b"})}
    assert "It does not fit" in talk.shown
    assert "required [Ada]" in talk.shown


async def test_a_question_that_needs_no_answer_ends_its_prompt(tmp_path: Path) -> None:
    talk = Talk()
    talk.dialogue._keyboard = slow = Slow()  # noqa: SLF001 - somebody who takes their time
    scene = Scene(means(tmp_path, talk=talk))
    async with scene.going_on():
        scene.ask(asked(id=1), asked(id=2))
        await slow.asked.wait()
        assert scene.front.quiet_depth == 1
        scene.withdraw(2)
        scene.withdraw(1)
        await anyio.wait_all_tasks_blocked()
        assert scene.front.quiet_depth == 0
    assert "no longer needs an answer" in talk.shown
    assert scene.book.answers == {}
    assert talk.shown.count("Fill in the form?") == 1


async def test_an_interrupt_cancels_the_question_first(tmp_path: Path) -> None:
    talk = Talk()
    talk.dialogue._keyboard = slow = Slow()  # noqa: SLF001 - somebody who takes their time
    scene = Scene(means(tmp_path, talk=talk))
    async with scene.going_on():
        assert not scene.asker.interrupt()
        scene.ask(asked(id=1), asked("sampling", id=2))
        await slow.asked.wait()
        assert scene.asker.interrupt()
        assert not scene.asker.interrupt(), "the second one is for the call"
        await scene.book.until(1)
        await anyio.wait_all_tasks_blocked()
        assert scene.asker.interrupt()
        await scene.book.until(2)
    assert scene.book.answers == {1: Dismiss(), 2: Refused()}
    assert "Press Ctrl+C again to cancel the call" in talk.shown


async def test_once_the_call_is_cancelled_nothing_is_asked(tmp_path: Path) -> None:
    talk = Talk()
    talk.dialogue._keyboard = slow = Slow()  # noqa: SLF001 - somebody who takes their time
    scene = Scene(means(tmp_path, talk=talk))
    async with scene.going_on():
        scene.ask(asked(id=1), asked(id=2))
        await slow.asked.wait()
        scene.asker.stop()
        scene.ask(asked("sampling", id=3))
        await scene.book.until(3)
    assert scene.book.answers == {1: Dismiss(), 2: Dismiss(), 3: Refused()}
    assert talk.shown.count("Fill in the form?") == 1
    assert {(i, a) for i, a, _ in scene.front.reported} == {(2, "cancel"), (3, "refuse")}


async def test_end_of_input_dismisses_the_question(tmp_path: Path) -> None:
    talk = Talk("")
    scene = Scene(means(tmp_path, talk=talk))
    async with scene.going_on():
        scene.ask(asked(schema=ASKS_NAME))
        await scene.book.until(1)
    assert scene.book.answers == {1: Dismiss()}
    assert "end of input" in talk.shown


@pytest.mark.parametrize(
    ("of", "title"),
    [
        (1, "? demo, for export_orders, asks you to fill in a form\n"),
        (2, "? demo, for export_orders, asks you to fill in a form\n"),
        (3, "? demo asks you to fill in a form\n"),
        (None, "? demo asks you to fill in a form\n"),
        (99, "? demo asks you to fill in a form\n"),
    ],
)
async def test_the_call_is_named_where_it_is_known(
    tmp_path: Path, of: int | None, title: str
) -> None:
    talk = Talk("d")
    scene = Scene(means(tmp_path, talk=talk))
    async with scene.going_on():
        scene.ask(asked(job=of))
        await scene.book.until(1)
    assert title in talk.shown


def test_an_answer_is_one_word_for_scripts() -> None:
    answers: list[Answer] = [Accept(), Decline(), Dismiss(), Refused(), Sampled({})]
    assert [action_of(each) for each in answers] == [
        "accept",
        "decline",
        "cancel",
        "refuse",
        "result",
    ]
    assert dismissal("url") == Dismiss()
    assert dismissal("roots") == Refused()


async def test_a_rule_answers_what_the_file_does_not_and_is_reported(tmp_path: Path) -> None:
    rules = {"form": RuledAnswer(Accept({"name": "Rule"}), 0), "url": RuledAnswer(Decline(), 5)}
    once = means(tmp_path, [{"accept": {"name": "File"}}])
    scene = Scene(once, **rules)
    async with scene.going_on():
        scene.ask(asked(id=1, schema=ASKS_NAME))
        scene.ask(asked(id=2, schema=ASKS_NAME), asked("url", id=3), asked("sampling", id=4))
        await scene.book.until(4)
    assert scene.book.answers == {
        1: Accept({"name": "File"}),
        2: Accept({"name": "Rule"}),
        3: Decline(),  # nobody is there to be waited for
        4: Refused(),
    }
    assert [reported[2] for reported in scene.front.reported[1:3]] == [RULE, RULE]


async def test_a_rule_that_leaves_the_user_time_lets_the_user_be_asked(tmp_path: Path) -> None:
    talk = Talk("", "Ada")
    scene = Scene(means(tmp_path, talk=talk), form=RuledAnswer(Accept({"name": "Rule"}), 5))
    async with scene.going_on():
        scene.ask(asked(schema=ASKS_NAME))
        await scene.book.until(1)
    assert scene.book.answers == {1: Accept({"name": "Ada"})}


async def test_a_rule_whose_answer_does_not_fit_leaves_the_question_to_the_user(
    tmp_path: Path,
) -> None:
    scene = Scene(means(tmp_path), form=RuledAnswer(Accept({"name": "R"}), 0))
    async with scene.going_on():
        scene.ask(asked(schema=ASKS_NAME))
        await scene.book.until(1)
    assert scene.book.answers == {1: Decline()}


async def test_what_a_rule_answered_at_once_is_reported_but_for_folders(tmp_path: Path) -> None:
    scene = Scene(means(tmp_path), url=RuledAnswer(Decline(), 0), roots=RuledAnswer(Accept({}), 0))
    scene.answer_by_rule(asked("url", id=5), asked("roots", id=6))
    assert scene.front.reported == [(5, "decline", RULE)]
