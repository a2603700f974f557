"""Tools for log messages, changing lists, and changing resources."""

from typing import Final

from mcp_progress_monitor.demo.call import LEVELS, Call
from mcp_progress_monitor.demo.resources import COUNTER
from mcp_progress_monitor.demo.subscriptions import LISTS
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
    """Add an entry to a list or remove it, and send notifications."""
    extras = call.connection.extras
    extras.symmetric_difference_update({list})
    method = f"notifications/{list}/list_changed"
    sent = call.connection.subscriptions.notify(LISTS[list], None, method, dict)
    if even_if_unasked or not call.dialect.is_per_request:
        call.wire.announce(notification(method, {}))
        sent += 1
    change = "Added an entry to" if list in extras else "Removed the entry from"
    return text_result(f"{change} the list of {list}; notifications sent: {sent}.")


def update_resource(call: Call, times: int, interval_s: float, even_if_unasked: bool) -> JsonObject:
    """Increment a counter resource, and notify its subscribers."""
    method, sent = "notifications/resources/updated", 0
    subscriptions, counts = call.connection.subscriptions, call.connection.counts
    for step in range(1, times + 1):
        call.sleep(interval_s)
        counts[COUNTER] = counts.get(COUNTER, 0) + 1
        sent += subscriptions.notify("resourceSubscriptions", COUNTER, method, _counter)
        if even_if_unasked or subscriptions.has_subscribed(COUNTER):
            call.wire.announce(notification(method, _counter()))
            sent += 1
        call.progress(step, times, f"Counted to {counts[COUNTER]}")
    return text_result(f"{COUNTER} is at {counts[COUNTER]}; notifications sent: {sent}.")


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
