"""Tools whose progress or replies violate rules, each in the way that its name says.

The rules are in the specification's section "Progress", the same in every revision.
"""

from collections.abc import Callable
from typing import Any, Final

from mcp_progress_monitor.demo.call import Call
from mcp_progress_monitor.demo.tool import Tool, choice, integer, number, record, text
from mcp_progress_monitor.demo.tools.faults import count_to
from mcp_progress_monitor.demo.tools.progress import interval, steps
from mcp_progress_monitor.demo.wire import (
    JsonObject,
    progress_notification,
    result_reply,
    text_result,
)


def reply_twice(call: Call, steps: int, interval_s: float) -> JsonObject:
    """Reply twice."""
    count_to(call, steps, steps, interval_s)
    call.reply(text_result("The first answer."))
    return text_result("The second answer.")


def stray_reply(call: Call, id_is: str) -> JsonObject:
    """Reply to a request that was not made, then to the call."""
    strays = {"unknown": "no-such-request", "null": None, "of_other_type": _other_type(call.id)}
    call.wire.send(result_reply(strays[id_is], text_result("Is this yours?")))
    return text_result("The right answer.")


def impossible_arguments(_call: Call, amount: int) -> JsonObject:
    """Have an argument whose default violates its schema, so that calls without it fail."""
    return text_result(f"Took {amount}.")


def _other_type(request_id: str | int) -> str | int:
    """Return `"7"` for 7; other strings get a space."""
    if isinstance(request_id, int):
        return str(request_id)
    return int(request_id) if request_id.isdecimal() else f"{request_id} "


def equal(call: Call, steps: int, repeats: int, interval_s: float) -> JsonObject:
    """Send each value several times."""
    for tick in range(steps * repeats):
        call.sleep(interval_s)
        call.progress(tick // repeats + 1, steps, f"Message {tick + 1}")
    return text_result(f"Sent each of {steps} values {repeats} times.")


def above_total(call: Call, total: int, steps: int, interval_s: float) -> JsonObject:
    """Count beyond the total."""
    for step in range(1, steps + 1):
        call.sleep(interval_s)
        call.progress(step, total, f"Step {step} of {total}")
    return text_result(f"Counted to {steps}, announced {total}.")


def changing_total(call: Call, steps: int, interval_s: float) -> JsonObject:
    """Discover more work: the total grows, shrinks, and is correct at the end."""
    for step in range(1, steps + 1):
        call.sleep(interval_s)
        part = step / steps
        total = steps // 2 + step if part <= 0.5 else steps * 2 if part <= 0.75 else steps
        call.progress(step, total, f"{total - step} left to do")
    return text_result(f"The total ended at {steps}.")


def late_progress(
    call: Call, steps: int, late_steps: int, interval_s: float, delay_s: float
) -> None:
    """Report progress after the result."""
    total = steps + late_steps
    for step in range(1, total + 1):
        if step == steps + 1:
            call.reply(text_result(f"Done, with {late_steps} ticks to come."))
            call.sleep(delay_s)
        call.sleep(interval_s)
        call.progress(step, total, f"Step {step} of {total}")


def unknown_token(call: Call, token: str, steps: int, interval_s: float) -> JsonObject:
    """Report progress for a token that no request had."""
    for step in range(1, steps + 1):
        call.sleep(interval_s)
        params = {"progressToken": token, "progress": step, "total": steps}
        call.wire.send(progress_notification(params))
    return text_result(f"Sent {steps} ticks for the token {token!r}.")


def extreme_numbers(call: Call, interval_s: float) -> JsonObject:
    """Report increasing numbers that are valid but extreme."""
    for progress in _EXTREMES:
        call.sleep(interval_s)
        call.progress(progress, message=f"{progress:g}")
    return text_result(f"Sent {len(_EXTREMES)} increasing numbers.")


def odd_totals(call: Call, interval_s: float) -> JsonObject:
    """Report totals that no progress bar can show: none, negative, tiny, huge."""
    for step, total in enumerate(_ODD_TOTALS, start=1):
        call.sleep(interval_s)
        call.progress(step, total, f"The total is {total}")
    return text_result(f"Announced {len(_ODD_TOTALS)} totals.")


def wrong_types(call: Call, fault: str, interval_s: float) -> JsonObject:
    """Send notifications whose members have the wrong type, with valid ticks between them."""
    chosen = WRONG_PARAMS if fault == "all" else {fault: WRONG_PARAMS[fault]}
    total = 2 * len(chosen) + 1
    call.progress(1, total, "A good tick")
    for index, (name, make) in enumerate(chosen.items(), start=1):
        call.sleep(interval_s)
        if call.token is not None:
            call.wire.send(progress_notification(make(call.token, 2 * index)))
        call.progress(2 * index + 1, total, f"A good tick after: {name}")
    return text_result(f"Sent: {', '.join(chosen)}")


def _params(**changed: Any) -> Callable[[str | int, int], object]:
    """Return a function that creates a tick's parameters with some members changed."""

    def make(token: str | int, progress: int) -> object:
        return {"progressToken": token, "progress": progress, **changed}

    return make


def _without(name: str) -> Callable[[str | int, int], object]:
    """Return a function that creates a tick's parameters without one member."""

    def make(token: str | int, progress: int) -> object:
        params = {"progressToken": token, "progress": progress, "total": 100}
        del params[name]
        return params

    return make


def _other_type_of_token(token: str | int, progress: int) -> object:
    """Return a token that looks like another one but has another type, such as "7" for 7."""
    other = int(token) if isinstance(token, str) and token.isdecimal() else str(token)
    return {"progressToken": {"is": token} if other == token else other, "progress": progress}


WRONG_PARAMS: Final[dict[str, Callable[[str | int, int], object]]] = {
    "progress_as_string": lambda token, progress: _params(progress=str(progress))(token, progress),
    "progress_missing": _without("progress"),
    "progress_null": _params(progress=None),
    "progress_true": _params(progress=True),
    "progress_list": _params(progress=[1, 2]),
    "progress_nan": _params(progress=float("nan")),
    "progress_infinite": _params(progress=float("inf")),
    "total_null": _params(total=None),
    "total_as_string": _params(total="100"),
    "total_nan": _params(total=float("nan")),
    "message_number": _params(message=42),
    "message_object": _params(message={"text": "Working"}),
    "message_null": _params(message=None),
    "message_empty": _params(message=""),
    "token_missing": _without("progressToken"),
    "token_null": _params(progressToken=None),
    "token_float": _params(progressToken=1.5),
    "token_true": _params(progressToken=True),
    "token_object": _params(progressToken={"a": 1}),
    "token_other_type": _other_type_of_token,
    "params_list": lambda token, progress: [token, progress],
    "params_null": lambda _token, _progress: None,
}
"""The faults of `wrong_types`, with functions that create the parameters."""

_EXTREMES: Final = (
    -(10**6), -0.5, 0, 5e-324, 1e-7, 0.1, 0.1 + 0.2, 1, 2**31, 2**53 + 1, 2**63, 2**64 + 1,
    10**30, 1.7976931348623157e308,
)  # fmt: skip

_ODD_TOTALS: Final = (10, 0, -5, 0.001, 2**64, 1e300, None, 10)

TOOLS: Final[tuple[Tool, ...]] = (
    Tool(
        reply_twice,
        "Two replies",
        "Violates a rule: replies to the same request twice.",
        record(steps=integer("Ticks before", 3, 0, 1_000_000), interval_s=interval(0.2)),
    ),
    Tool(
        stray_reply,
        "Stray reply",
        "Violates a rule: replies to a request that was never made.",
        record(id_is=choice("The ID of that reply", "unknown", "null", "of_other_type")),
    ),
    Tool(
        impossible_arguments,
        "Impossible arguments",
        "Its default is outside its limits, so that calls fail unless you change it.",
        record(amount=integer("At least 1", 0, 1, 10)),
    ),
    Tool(
        equal,
        "Equal",
        "Violates a rule: sends each value several times.",
        record(
            steps=steps(5),
            repeats=integer("How often each value is sent", 3, 2, 1_000),
            interval_s=interval(0.3),
        ),
    ),
    Tool(
        above_total,
        "Above the total",
        "Counts beyond the total that it reported.",
        record(
            total=integer("The total", 10, 1, 1_000_000),
            steps=integer("How far it counts", 15, 1, 1_000_000),
            interval_s=interval(0.3),
        ),
    ),
    Tool(
        changing_total,
        "Changing total",
        "Discovers more work, then less.",
        record(steps=steps(40), interval_s=interval(0.2)),
    ),
    Tool(
        late_progress,
        "Progress after the result",
        "Violates a rule: reports progress after its result.",
        record(
            steps=steps(5),
            late_steps=integer("Ticks after the result", 3, 1, 100_000),
            interval_s=interval(0.2),
            delay_s=number("Seconds between the result and the first late tick", 0.5, 0, 3_600),
        ),
    ),
    Tool(
        unknown_token,
        "Unknown token",
        "Violates a rule: reports progress for a token that no request had.",
        record(token=text("The token", "nobody-asked"), steps=steps(5), interval_s=interval(0.2)),
    ),
    Tool(
        extreme_numbers,
        "Extreme numbers",
        "Reports increasing numbers that are negative, tiny, and larger than 64 bits.",
        record(interval_s=interval(0.3)),
    ),
    Tool(
        odd_totals,
        "Odd totals",
        "Reports totals that are zero, negative, and huge.",
        record(interval_s=interval(0.3)),
    ),
    Tool(
        wrong_types,
        "Wrong types",
        "Violates a rule: members of its notifications are missing or have the wrong type.",
        record(fault=choice("Which of them", "all", *WRONG_PARAMS), interval_s=interval(0.1)),
    ),
)
