"""Tools about the rest of a session: log messages, lists that change, resources that do."""

from typing import Final

from mcp_progress_monitor.demo.call import LEVELS, Call
from mcp_progress_monitor.demo.news import LISTS
from mcp_progress_monitor.demo.resources import COUNTER
from mcp_progress_monitor.demo.tool import Tool, choice, flag, integer, record, text
from mcp_progress_monitor.demo.tools.progress import interval
from mcp_progress_monitor.demo.wire import JsonObject, notification, text_result


def log_levels(call: Call, logger: str, interval_s: float, even_if_unwanted: bool) -> JsonObject:
    for index, level in enumerate(LEVELS, start=1):
        call.sleep(interval_s)
        data = {"message": f"This is {level}", "number": index} if index % 2 else f"This is {level}"
        call.log(level, data, logger, is_forced=even_if_unwanted)
        call.progress(index, len(LEVELS), f"Logged at level {level}")
    return text_result(f"Logged at {len(LEVELS)} levels; the client received those it requested.")


def change_list(call: Call, list: str, even_if_unasked: bool) -> JsonObject:  # noqa: A002
    """Add an entry to a list or take it away again, and tell so."""
    extras = call.connection.extras
    extras.symmetric_difference_update({list})
    method = f"notifications/{list}/list_changed"
    told = call.connection.news.tell(LISTS[list], None, method, dict)
    if even_if_unasked or not call.dialect.is_per_request:
        call.wire.announce(notification(method, {}))
        told += 1
    change = "Added an entry to" if list in extras else "Removed the entry from"
    return text_result(f"{change} the list of {list}; notifications sent: {told}.")


def update_resource(call: Call, times: int, interval_s: float, even_if_unasked: bool) -> JsonObject:
    """Count in a resource, and tell those who follow it."""
    method, told = "notifications/resources/updated", 0
    news, counts = call.connection.news, call.connection.counts
    for step in range(1, times + 1):
        call.sleep(interval_s)
        counts[COUNTER] = counts.get(COUNTER, 0) + 1
        told += news.tell("resourceSubscriptions", COUNTER, method, _counter)
        if even_if_unasked or news.has_subscribed(COUNTER):
            call.wire.announce(notification(method, _counter()))
            told += 1
        call.progress(step, times, f"Counted to {counts[COUNTER]}")
    return text_result(f"{COUNTER} is at {counts[COUNTER]}; notifications sent: {told}.")


def _counter() -> JsonObject:
    return {"uri": COUNTER}


TOOLS: Final[tuple[Tool, ...]] = (
    Tool(
        log_levels,
        "Log messages",
        "Logs a message at every level; the client receives those it requested.",
        record(
            logger=text("The logger's name", "demo"),
            interval_s=interval(0.1),
            even_if_unwanted=flag("Send all messages, requested or not"),
        ),
    ),
    Tool(
        change_list,
        "Change a list",
        "Adds an entry to a list, or removes it, and sends a notification.",
        record(
            list=choice("The list to change", *LISTS),
            even_if_unasked=flag("Notify even without a subscription (2026-07-28)"),
        ),
        lasts=False,
    ),
    Tool(
        update_resource,
        "Update a resource",
        "Increments demo://counter and notifies its subscribers.",
        record(
            times=integer("Number of updates", 3, 1, 1_000_000),
            interval_s=interval(0.5),
            even_if_unasked=flag("Notify even without a subscription"),
        ),
    ),
)
