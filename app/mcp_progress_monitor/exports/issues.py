"""Texts for an issue tracker, as Markdown without secrets: a finding, and a job that failed."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor import __version__, formatting
from mcp_progress_monitor.exports.frames import JobFrames, gather
from mcp_progress_monitor.findings.advice import ADVICE
from mcp_progress_monitor.protocol.frames import Channel
from mcp_progress_monitor.snapshots.definitions import HttpDefinition
from mcp_progress_monitor.wording import findings as finding_texts
from mcp_progress_monitor.wording import jobs as job_texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcp_progress_monitor.checking.report import ReportedResult
    from mcp_progress_monitor.exports.options import ExportSource
    from mcp_progress_monitor.exports.redaction import Redaction
    from mcp_progress_monitor.protocol.frames import Frame
    from mcp_progress_monitor.protocol.outline import Slices
    from mcp_progress_monitor.recording.timeline import Timeline
    from mcp_progress_monitor.snapshots.servers import ServerSnapshot
    from mcp_progress_monitor.tracker.snapshot import JobSnapshot

MOST_CHARACTERS: Final = 2_000  # of a message that is quoted
_LINE: Final = 300
_FIRST: Final = 3
_LAST: Final = 5
_FINDINGS: Final = 20
_READ: Final = 64 * 1024  # bytes of a message: redacted before it is cut


def issue_text(finding: ReportedResult, frame: Frame | None, redaction: Redaction) -> str:
    """The finding and its first message."""
    advice = ADVICE[finding.rule]
    lines = [f"# {_plain(finding_texts.rule_title(finding.rule), redaction)}", ""]
    for section in finding_texts.sections(finding):
        if section.is_code:
            language = section.heading.lower()
            lines += [f"{section.heading}:", "", *_fenced(section.text, language), ""]
        else:
            lines += [f"**{section.heading}:** {_plain(section.text, redaction)}", ""]
    if frame is not None:
        quoted, more = _quoted(frame, redaction)
        number = formatting.number(frame.number)
        lines += [f"Message no. {number}{more}:", "", *quoted, ""]
    revision = finding.revision or "revision unknown"
    lines.append(
        f"Rule {finding.rule} ({finding.level.value}, since {advice.since}); protocol {revision}. "
        f"Found by MCP Progress Monitor {__version__}."
    )
    return "\n".join(lines) + "\n"


def job_issue(source: ExportSource, job: JobSnapshot, redaction: Redaction) -> Slices[str]:
    """A job that failed: versions, the exchange, findings, standard error. Bounded in length."""
    evidence = yield from gather(source, job)
    servers = source.servers.snapshots()
    server = next((each for each in servers if each.name == job.server), None)
    name, state = _plain(job_texts.name(job), redaction), job.state.value.lower()
    lines = [f"# {name}: {state}", ""]
    lines += [
        f"- {head}: {text}" for head, text in _facts(job, server, evidence, redaction) if text
    ]
    lines += ["", "## Messages", "", *_exchange(source.timeline, job, evidence, redaction)]
    if job.marks:
        lines += ["## Findings", "", *_findings(job, redaction), ""]
    if evidence.stderr:
        before = evidence.stderr_before
        more = f", the last {len(evidence.stderr)} lines" if before else ""
        texts = (formatting.visible(redaction.text(each.text))[:_LINE] for each in evidence.stderr)
        lines += [f"## Standard error{more}", "", *_fenced("\n".join(texts), "text"), ""]
    lines.append(f"Recorded by MCP Progress Monitor {__version__}, without secrets.")
    return "\n".join(lines) + "\n"


def _facts(
    job: JobSnapshot, server: ServerSnapshot | None, evidence: JobFrames, redaction: Redaction
) -> Iterator[tuple[str, str]]:
    yield "What happened", _plain(job_texts.message(job), redaction)
    yield "Call", _plain(f"{job.method} {job.name}".strip(), redaction)
    yield "Duration", job_texts.elapsed(job)
    ticks = (job_texts.ticks(job), job_texts.count(job))
    yield "Progress", _plain(", ".join(filter(None, ticks)), redaction)
    if evidence.close is not None:
        code = evidence.close.exit_code
        exited = "" if code is None else f", exit code {code}"
        yield "Connection", _plain(f"closed: {evidence.close.reason}{exited}", redaction)
    if server is not None:
        info = server.server_info
        named = (str(info.get(key) or "") for key in ("name", "version"))
        yield "Server", _plain(" ".join(filter(None, named)) or job.server, redaction)
        over = "HTTP" if isinstance(server.definition, HttpDefinition) else "stdio"
        yield "Protocol", f"{server.revision or 'revision unknown'} over {over}"
    client = job.watched_client or f"MCP Progress Monitor {__version__}"
    yield "Client", _plain(client, redaction)
    yield "System", f"{platform.system()} {platform.release()}, {platform.machine()}"


def _exchange(
    timeline: Timeline, job: JobSnapshot, evidence: JobFrames, redaction: Redaction
) -> Iterator[str]:
    """The first and the last messages, and between them how many are left out."""
    every = sorted((*evidence.messages, *evidence.ticks[:1], *evidence.ticks[1:][-1:]))
    omitted = len(every) - _FIRST - _LAST
    shown = [*every[:_FIRST], *every[-_LAST:]] if omitted > 0 else every
    for at, place in enumerate(shown):
        if at == _FIRST and omitted > 0:
            yield f"{formatting.count(omitted, 'more message')} not shown."
            yield ""
        frame = timeline.frame(place, _READ)
        if frame is not None:
            quoted, more = _quoted(frame, redaction)
            way = "Client to server" if frame.channel is Channel.SENT else "Server to client"
            yield f"{way}, {formatting.since(frame.at - job.started_at)} s{more}:"
            yield ""
            yield from quoted
            yield ""
    ticks = len(evidence.ticks) - 2
    if ticks > 0:
        yield f"Between the first and the last: {formatting.count(ticks, 'progress notification')}."
        yield ""


def _findings(job: JobSnapshot, redaction: Redaction) -> Iterable[str]:
    for mark in job.marks[:_FINDINGS]:
        times = f" ({formatting.count(mark.count, 'time')})" if mark.count > 1 else ""
        yield f"- {mark.finding.rule.id}: {_plain(mark.text, redaction)[:_LINE]}{times}"


def _quoted(frame: Frame, redaction: Redaction) -> tuple[list[str], str]:
    """The message as a block of code, and what to say if it is cut."""
    shown = redaction.raw(frame.raw).decode(errors="replace")
    more = ", truncated" if len(shown) > MOST_CHARACTERS else ""
    return _fenced(formatting.visible(shown[:MOST_CHARACTERS]), "json"), more


def _plain(text: str, redaction: Redaction) -> str:
    """A server's text on one line, with Markdown escaped."""
    return formatting.markdown(" ".join(redaction.text(text).split()))


def _fenced(code: str, language: str) -> list[str]:
    fence = "```"
    while fence in code:
        fence += "`"
    return [f"{fence}{language}", code, fence]
