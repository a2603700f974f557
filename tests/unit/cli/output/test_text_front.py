"""For people: results on standard output, everything else on standard error."""

import contextlib
import io
import json
from collections.abc import Iterator
from typing import Any

import pytest

from mcp_progress_monitor.cli.output.stdout import StandardOutput
from mcp_progress_monitor.cli.output.text_front import TextFront
from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.tracker.snapshot import ChangeSet, Failure, JobState
from tests.unit.cli.outcomes import outcome
from tests.unit.cli.traffic import Traffic, notice, tick
from tests.unit.sessions.questioned import question


class Meter:
    """Keeps the lines it was given; shows no progress."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.changes: list[ChangeSet] = []

    def on_changes(self, changes: ChangeSet) -> None:
        self.changes.append(changes)

    async def animate(self) -> None:
        return

    def say(self, line: str) -> None:
        self.lines.append(line)

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        yield

    def close(self) -> None:
        self.lines.append("closed")


class Terminal(io.TextIOWrapper):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


class Shown:
    """A front and what it wrote."""

    def __init__(self, level: str = "warning", *, is_terminal: bool = False) -> None:
        self.traffic = Traffic()
        self.meter = Meter()
        self._out, self._err = io.BytesIO(), io.BytesIO()
        kind = Terminal if is_terminal else io.TextIOWrapper
        self._streams = kind(self._out, encoding="utf-8"), io.TextIOWrapper(self._err, "utf-8")
        output, errors = map(StandardOutput, self._streams)
        engine: Any = self.traffic
        self.front = TextFront(output, errors, self.meter, engine, level)

    def result(self, result: Any) -> None:
        """A call ended with this result."""
        raw = json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode()
        state = JobState.FAILED if result.get("isError") else JobState.DONE
        self.front.show(outcome(result, None, state, raw=raw))

    @property
    def out(self) -> str:
        return self._out.getvalue().decode()

    @property
    def err(self) -> str:
        return self._err.getvalue().decode()


def block(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}]}


def test_a_result_is_exact_for_programs() -> None:
    shown = Shown()
    shown.result(block("a\x1b[31mb\r\nc\u202e"))
    assert shown.out == "a\x1b[31mb\r\nc\u202e\n"
    assert shown.err == ""


def test_a_result_is_harmless_on_a_terminal() -> None:
    shown = Shown(is_terminal=True)
    shown.result(block("a\x1b[31mb\n\tc\u202e"))
    assert shown.out == "a\\x1b[31mb\n\tc\\u202e\n"


def test_a_tools_error_goes_to_standard_error_in_its_own_text() -> None:
    shown = Shown()
    shown.result({"isError": True, **block("The disk is full\x1b")})
    assert shown.out == ""
    assert shown.err == "The tool returned an error:\nThe disk is full\\x1b\n"


def test_a_servers_error_is_reported_with_code_and_data() -> None:
    shown = Shown()
    failure = Failure("server", "No such thing", -32000, {"hint": 1})
    shown.front.show(outcome(None, failure, JobState.FAILED))
    assert shown.err == 'The server answered with error -32000: No such thing\n{"hint":1}\n'


def test_a_result_that_came_too_late_is_printed_and_the_end_told() -> None:
    shown = Shown()
    raw = json.dumps({"id": 1, "result": block("late")}).encode()
    failure = Failure("local", "Cancelled by the user")
    shown.front.show(outcome(block("late"), failure, JobState.CANCELLED, raw))
    assert (shown.out, shown.err) == ("late\n", "Cancelled by the user\n")


def test_a_user_who_waits_for_a_cancel_is_reported_how_to_leave() -> None:
    shown = Shown()
    shown.front.interrupt()
    assert "Ctrl+C again" in shown.meter.lines[0]


def test_a_token_in_the_data_of_an_error_is_hidden() -> None:
    shown = Shown()
    data = {"nextResumeToken": "s3cret", "n": 1}
    shown.front.show(outcome(None, Failure("server", "no", 7, data), JobState.FAILED))
    assert shown.err.endswith('{"nextResumeToken":"(hidden)","n":1}\n')


def test_a_signal_to_end_is_reported_without_advice_for_a_keyboard() -> None:
    shown = Shown()
    shown.front.terminate()
    assert shown.meter.lines == ["Received a signal to terminate. Exiting."]


def test_a_local_failure_is_reported_as_it_is() -> None:
    shown = Shown()
    shown.front.show(outcome(None, Failure("local", "Timed out"), JobState.TIMED_OUT))
    shown.front.show(outcome(None, None, JobState.CANCELLED))
    assert shown.err == "Timed out\nThe call ended without a result.\n"


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        ("error", ["error: e", "alert: a", "odd: o"]),
        ("warning", ["warning: w", "error: e", "alert: a", "odd: o"]),
        ("info", ["notice: n", "warning: w", "error: e", "alert: a", "odd: o", "stderr: hello"]),
        (
            "debug",
            [
                "debug: d",
                "notice: n",
                "warning: w",
                "error: e",
                "alert: a",
                "odd: o",
                "stderr: hello",
            ],
        ),
    ],
)
def test_messages_are_shown_from_the_chosen_level_on(level: str, expected: list[str]) -> None:
    shown = Shown(level)
    for name in ("debug", "notice", "warning", "error", "alert", "odd"):
        log = notice("notifications/message", level=name, data=name[0])
        shown.front.on_update(shown.traffic.received(log))
    shown.front.on_update(shown.traffic.stderr(b"hello"))
    assert shown.meter.lines == expected


def test_lines_that_are_no_messages_are_reported_a_few_times() -> None:
    shown = Shown()
    shown.front.on_update(shown.traffic.received(*[b"print\x1b"] * 8))
    assert len(shown.meter.lines) == 6
    assert "not a JSON-RPC message" in shown.meter.lines[0]
    assert "Further" in shown.meter.lines[5]
    assert "\x1b" not in "".join(shown.meter.lines)


@pytest.mark.requirement("FR-10")
@pytest.mark.parametrize("level", ["debug", "warning", "error"])
def test_progress_that_decreases_is_warned_of(level: str) -> None:
    shown = Shown(level)
    shown.front.on_update(shown.traffic.called("a"))
    shown.front.on_update(shown.traffic.received(tick("a", 2), tick("a", 1)))
    warning = "burst: warning: Progress did not increase: 1 after 2"
    assert shown.meter.lines == ([] if level == "error" else [warning])


def test_every_update_reaches_the_meter() -> None:
    shown = Shown()
    update = shown.traffic.called()
    shown.front.on_update(update)
    shown.front.close()
    assert shown.meter.changes == [update.changes]
    assert shown.meter.lines == ["closed"]


def test_the_result_of_every_attempt_is_printed_once_and_without_its_token() -> None:
    shown = Shown()
    shown.front.on_update(shown.traffic.called())
    part = {**block("part 1"), "_meta": {"nextResumeToken": "s3cret"}}
    update = shown.traffic.received({"jsonrpc": "2.0", "id": 7, "result": part})
    shown.front.on_update(update)
    assert shown.out == "part 1\n"
    shown.front.show(outcome(part, None, JobState.RESUMABLE, update.frames[0].raw, resume_id=3))
    assert shown.out == "part 1\n"
    shown.result(block("part 2"))
    assert shown.out == "part 1\npart 2\n"


def test_a_token_in_a_result_of_another_form_is_hidden() -> None:
    shown = Shown()
    shown.result({"contents": [], "_meta": {"nextResumeToken": "s3cret"}})
    assert shown.out == '{"contents": [], "_meta": {"nextResumeToken": "(hidden)"}}\n'


def test_an_error_with_a_token_is_reported_as_an_error() -> None:
    shown = Shown()
    shown.front.on_update(shown.traffic.called())
    part = {"isError": True, **block("The disk is full"), "_meta": {"nextResumeToken": "s3cret"}}
    shown.front.on_update(shown.traffic.received({"jsonrpc": "2.0", "id": 7, "result": part}))
    shown.result(part)
    assert (shown.out, shown.err) == ("", "The tool returned an error:\nThe disk is full\n")


def test_errors_are_reported_in_safe_text() -> None:
    shown = Shown()
    shown.front.decline(1, ErrorDetails("It was refused\x1b", "demo", "Re-issue it."))
    shown.front.warn(ErrorDetails("Full\x1b", hint="Free some space."))
    assert shown.err == "It was refused\\x1b (demo)\nRe-issue it.\n"
    assert shown.meter.lines == ["Full\\x1b", "Free some space."]


def test_what_is_wrong_with_a_question_that_was_answered_unseen_is_reported() -> None:
    shown = Shown()
    asked = question(message="Who?", error="requestedSchema is\x1b no JSON schema")
    shown.front.report_answer(asked, "accept", "as the file says")
    assert shown.meter.lines == [
        "s asks (form): Who?",
        "  invalid question: requestedSchema is\\x1b no JSON schema",
        "  accepted: as the file says",
    ]
