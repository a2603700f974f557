"""`stats`: figures of recordings; `diff`: what differs between two of them."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor import formatting
from mcp_progress_monitor.cli.diagnostics import log_to_stderr
from mcp_progress_monitor.cli.output.stdout import aligned, as_json, print_out
from mcp_progress_monitor.cli.survey import Survey, surveyed
from mcp_progress_monitor.findings.advice import ADVICE
from mcp_progress_monitor.formatting import count, duration, number, one_line, visible
from mcp_progress_monitor.wording import comparison, context_cost
from mcp_progress_monitor.wording.content import pretty

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mcp_progress_monitor.cli.common import CommonOptions
    from mcp_progress_monitor.cli.recording_orders import DiffOrder, StatsOrder

_SHOWN: Final = 20  # rows of a table for people; JSON has all
_LINES: Final = 40  # of one difference
_WIDE: Final = 200


def print_stats(common: CommonOptions, order: StatsOrder) -> int:
    """Print the figures of recordings; code 8 if one cannot be read."""
    log_to_stderr(common.log_level or "warning")
    survey, code = surveyed(order.files)
    if survey.recordings:
        figures = as_json(_figures(survey), indent=2) + "\n"
        print_out(figures if order.as_json else "\n".join(_stats_lines(survey)) + "\n")
    return code


def print_diff(common: CommonOptions, order: DiffOrder) -> int:
    """Print what differs; code 8 if a recording cannot be read."""
    log_to_stderr(common.log_level or "warning")
    (one, first), (two, second) = surveyed([order.first]), surveyed([order.second])
    if one.recordings and two.recordings:
        found = dict(_differences(one, two))
        print_out(as_json(found, indent=2) + "\n" if order.as_json else _diff_text(found))
    return max(first, second)


def _figures(survey: Survey) -> dict[str, Any]:
    """The document of `stats --json`."""
    calls = [
        {"tool": name, "server": server, **figures._asdict()}
        for (name, server), figures in comparison.figures(survey.jobs)
    ]
    return {
        "recordings": survey.recordings,
        "messages": survey.messages,
        "jobs": len(survey.jobs) + survey.left_out,
        "jobs_left_out": survey.left_out,
        "ticks": survey.ticks,
        "resumed": survey.resumed,
        "resumed_after_loss": survey.resumed_after_loss,
        "calls": calls,
        "stalls": [
            {"server": server, "stalls": len(found), "longest_s": max(found), "sum_s": sum(found)}
            for server, found in survey.stalls.items()
        ],
        "errors": [
            {"server": server, "tool": name, "message": text, "jobs": times}
            for (server, name, text), times in survey.errors.most_common()
        ],
        "findings": [
            {"level": level, "rule": rule, "server": server, "messages": times}
            for (level, rule, server), times in survey.findings.most_common()
        ],
        "tools": [
            {"server": server, "tool": name, "tokens": context_cost.tokens_of_tool(tool)}
            for (server, name), tool in survey.tools.items()
        ],
        "tokens_of": context_cost.METHOD,
    }


def _stats_lines(survey: Survey) -> Iterator[str]:
    counted = (
        count(survey.recordings, "recording"),
        count(survey.messages, "message"),
        count(len(survey.jobs) + survey.left_out, "job"),
        count(survey.ticks, "tick"),
    )
    yield ", ".join(counted)
    if survey.resumed:
        lost = survey.resumed_after_loss
        yield f"Resumed: {count(survey.resumed, 'job')}, {number(lost)} after a lost connection"
    if survey.left_out:
        yield f"Only the first {count(len(survey.jobs), 'job')} are in the tables."
    calls = comparison.statistics(survey.jobs)
    yield from _table("Calls", comparison.STATISTICS, calls)
    yield from _table(
        "Stalls: silences longer than the pace of the job explains",
        ("Server", "Stalls", "Longest", "Together"),
        [
            (server, number(len(found)), duration(max(found)), duration(sum(found)))
            for server, found in sorted(survey.stalls.items(), key=lambda each: -sum(each[1]))
        ],
    )
    errors = survey.errors.most_common()
    rows = [(number(n), name, server, text) for (server, name, text), n in errors]
    yield from _table("Errors", ("Jobs", "Call", "Server", "Message"), rows)
    by_rule = [
        (level, rule, number(times), server, ADVICE[rule].title)
        for (level, rule, server), times in survey.findings.most_common()
    ]
    yield from _table("Findings", ("Level", "Rule", "Messages", "Server", "Title"), by_rule)
    yield from _tool_lines(survey)


def _tool_lines(survey: Survey) -> Iterator[str]:
    costs = {key: context_cost.tokens_of_tool(tool) for key, tool in survey.tools.items()}
    dearest = sorted(costs.items(), key=lambda each: -each[1])
    rows = [(number(cost), name, server) for (server, name), cost in dearest]
    title = f"Tools in a model's context: about {number(sum(costs.values()))} tokens"
    yield from _table(title, ("Tokens", "Tool", "Server"), rows)
    if rows:
        yield f"Tokens are estimated, {context_cost.METHOD}."


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The lines of a table; none if it is empty."""
    if not rows:
        return
    yield ""
    yield title
    yield aligned(heads, rows[:_SHOWN]).rstrip("\n")
    if len(rows) > _SHOWN:
        yield f"and {number(len(rows) - _SHOWN)} more"


def _differences(one: Survey, two: Survey) -> Iterator[tuple[str, Any]]:
    """The document of `diff --json`: empty lists where nothing differs."""
    before, after = one.tools, two.tools
    yield "tools_added", [_named(key) for key in after if key not in before]
    yield "tools_removed", [_named(key) for key in before if key not in after]
    yield (
        "tools_changed",
        [
            _named(key) | {"diff": lines}
            for key in before
            if key in after and (lines := _diff(before[key].raw, after[key].raw))
        ],
    )
    first, second = (dict(comparison.figures(each.jobs)) for each in (one, two))
    yield (
        "calls",
        [
            {
                "tool": name,
                "server": server,
                "first": None if (name, server) not in first else first[name, server]._asdict(),
                "second": None if (name, server) not in second else second[name, server]._asdict(),
            }
            for name, server in first | second
        ],
    )
    yield "findings", [row._asdict() for row in comparison.findings(_by_rule(one), _by_rule(two))]
    yield (
        "results",
        [
            {
                "tool": call.name,
                "server": key[0],
                "first": call.state,
                "second": two.calls[key].state,
                "diff": _diff(call.reply, two.calls[key].reply),
            }
            for key, call in one.calls.items()
            if key in two.calls and call.digest != two.calls[key].digest
        ],
    )


def _named(key: tuple[str, str]) -> dict[str, Any]:
    return {"tool": key[1], "server": key[0]}


def _by_rule(survey: Survey) -> dict[str, int]:
    found: dict[str, int] = {}
    for (_, rule, server), times in survey.findings.items():
        name = f"{rule} {ADVICE[rule].title} ({server})"
        found[name] = found.get(name, 0) + times
    return found


def _diff(first: object, second: object) -> list[str]:
    """The lines that differ, in the form of `diff -u`, without control characters."""
    one, two = (each if isinstance(each, str) else pretty(each) for each in (first, second))
    lines = difflib.unified_diff(one.splitlines(), two.splitlines(), lineterm="", n=1)
    found = [visible(formatting.elide(line, _WIDE)) for line in lines]
    return found[2:]


def _diff_text(found: dict[str, Any]) -> str:
    lines = list(_diff_lines(found))
    return "\n".join(lines or ["No differences."]) + "\n"


def _diff_lines(found: dict[str, Any]) -> Iterator[str]:
    for kind, title in (("tools_added", "Tool added"), ("tools_removed", "Tool removed")):
        for each in found[kind]:
            yield f"{title}: {_shown(each)}"
    for each in found["tools_changed"]:
        yield f"Tool changed: {_shown(each)}"
        yield from _indented(each["diff"])
    yield from _table("Calls", _CALLS, list(_call_rows(found["calls"])))
    rows = [tuple(each.values()) for each in found["findings"]]
    yield from _table("Findings", ("Rule", "First", "Second", ""), rows)
    for each in found["results"][:_SHOWN]:
        yield f"Result changed: {_shown(each)}, {each['first']} and {each['second']}"
        yield from _indented(each["diff"])


_CALLS: Final = ("Call", "Server", "Calls", "", "Failed", "", "Median", "", "95 %", "")


def _call_rows(calls: Iterable[dict[str, Any]]) -> Iterator[tuple[str, ...]]:
    """A row for each tool whose figures differ."""
    for each in calls:
        one, two = each["first"] or {}, each["second"] or {}
        if one == two:
            continue
        cells = [each["tool"], each["server"]]
        for name in ("calls", "failed"):
            cells += [number(side[name]) if side else "" for side in (one, two)]
        for name in ("median_s", "p95_s"):
            times = [side.get(name) for side in (one, two)]
            cells += ["" if time is None else duration(time) for time in times]
        yield tuple(cells)


def _shown(each: dict[str, Any]) -> str:
    return f"{one_line(each['tool'], 80)} ({one_line(each['server'], 40)})"


def _indented(lines: Sequence[str]) -> Iterator[str]:
    yield from (f"  {line}" for line in lines[:_LINES])
    if len(lines) > _LINES:
        yield f"  and {count(len(lines) - _LINES, 'more line')}"
