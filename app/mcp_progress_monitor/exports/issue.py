"""A finding as the text of an issue: plain Markdown, without secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_progress_monitor import __version__, formatting
from mcp_progress_monitor.findings.advice import ADVICE
from mcp_progress_monitor.wording import findings as wording

if TYPE_CHECKING:
    from mcp_progress_monitor.checking.report import ReportedResult
    from mcp_progress_monitor.exports.redaction import Redaction
    from mcp_progress_monitor.protocol.frames import Frame

MOST_CHARACTERS: Final = 2_000  # of a message that is quoted
_INLINE: Final = str.maketrans({each: f"\\{each}" for each in "\\`*_{}[]<>#|~@"})


def issue_text(finding: ReportedResult, frame: Frame | None, redaction: Redaction) -> str:
    """The finding and its first message, as text for the server's issue tracker."""
    advice = ADVICE[finding.rule]
    lines = [f"# {_plain(wording.rule_title(finding.rule), redaction)}", ""]
    for section in wording.sections(finding):
        if section.is_code:
            language = section.heading.lower()
            lines += [f"{section.heading}:", "", *_fenced(section.text, language), ""]
        else:
            lines += [f"**{section.heading}:** {_plain(section.text, redaction)}", ""]
    if frame is not None:
        shown = redaction.raw(frame.raw).decode(errors="replace")
        cut = formatting.visible(shown[:MOST_CHARACTERS])
        more = ", truncated" if len(shown) > MOST_CHARACTERS else ""
        number = formatting.number(frame.number)
        lines += [f"Message no. {number}{more}:", "", *_fenced(cut, "json"), ""]
    revision = finding.revision or "revision unknown"
    lines.append(
        f"Rule {finding.rule} ({finding.level.value}, since {advice.since}); protocol {revision}. "
        f"Found by MCP Progress Monitor {__version__}."
    )
    return "\n".join(lines) + "\n"


def _plain(text: str, redaction: Redaction) -> str:
    """A server's text on one line, with Markdown escaped."""
    return formatting.visible(" ".join(redaction.text(text).split())).translate(_INLINE)


def _fenced(code: str, language: str) -> list[str]:
    fence = "```"
    while fence in code:
        fence += "`"
    return [f"{fence}{language}", code, fence]
