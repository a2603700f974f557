"""A report as SARIF 2.1.0 for code hosts."""

from __future__ import annotations

import json
import urllib.parse
from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor.checking.report import UNTESTED, by_level
from mcp_progress_monitor.findings.advice import ADVICE
from mcp_progress_monitor.findings.rules import RULES

if TYPE_CHECKING:
    from mcp_progress_monitor.checking.report import (
        CheckedFile,
        Report,
        ReportedResult,
        SourcePlace,
    )

_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_SPECIFICATION: Final = "https://modelcontextprotocol.io/specification"
_ROOT: Final = "%SRCROOT%"
_FINGERPRINT: Final = "mcpFinding/v1"


def as_sarif(report: Report) -> str:
    places = {id_: place for place, id_ in enumerate(ADVICE)}
    run = {
        "tool": {
            "driver": {
                "name": report.program,
                "version": report.version,
                "informationUri": _SPECIFICATION,
                "rules": [_rule(id_) for id_ in ADVICE],
            }
        },
        "columnKind": "utf16CodeUnits",
        "originalUriBaseIds": {
            _ROOT: {"description": {"text": "The repository of the server's code"}}
        },
        "artifacts": [
            {"location": _uri(file), "description": {"text": "Recording of a session"}}
            for file in report.files
        ],
        "invocations": [{"executionSuccessful": not report.untested, **_notifications(report)}],
        "results": [
            _result(result, file, index, places[result.rule], report.place(result))
            for index, file in enumerate(report.files)
            for result in by_level(file.results)
        ],
    }
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, ensure_ascii=False, indent=2) + "\n"


def _notifications(report: Report) -> dict[str, Any]:
    """Notes on the files, and on results that were left out."""
    found: list[dict[str, Any]] = []
    for index, file in enumerate(report.files):
        artifact = {"artifactLocation": {**_uri(file), "index": index}}
        locations = [{"physicalLocation": artifact}]
        found += [
            {
                "level": "error" if text == UNTESTED else "note",
                "message": {"text": text},
                "locations": locations,
            }
            for text in file.notes
        ]
    dropped = sum(file.dropped for file in report.files)
    if dropped:
        text = f"{dropped:,} more results were counted but not listed."
        found.append({"level": "warning", "message": {"text": text}})
    return {"toolExecutionNotifications": found} if found else {}


def _rule(id_: str) -> dict[str, Any]:
    advice = ADVICE[id_]
    level = next(rule.level for rule in RULES if rule.id == id_)
    examples = [
        f"{name}: `{call}`"
        for name, call in (("Python", advice.python), ("TypeScript", advice.typescript))
        if call
    ]
    paragraphs = [advice.due, f"Since: {advice.since}.", advice.fix]
    return {
        "id": id_,
        "name": "".join(word[:1].upper() + word[1:] for word in _letters(advice.title).split()),
        "shortDescription": {"text": advice.title},
        "fullDescription": {"text": advice.due},
        "help": {
            "text": " ".join([*paragraphs, *examples]),
            "markdown": "\n\n".join([*paragraphs, *examples]),
        },
        "defaultConfiguration": {"level": level.value},
        "properties": {"since": advice.since, "certainty": advice.certainty.value},
    }


def _letters(title: str) -> str:
    return "".join(char if char.isalnum() else " " for char in title)


def _result(
    result: ReportedResult, file: CheckedFile, index: int, rule: int, place: SourcePlace | None
) -> dict[str, Any]:
    message: dict[str, Any] = {
        "artifactLocation": {**_uri(file), "index": index},
        "region": {"startLine": result.line},
    }
    code = place and {"artifactLocation": _located(place.path), "region": {"startLine": place.line}}
    number = result.frames[0]
    related = {"id": 0, "message": {"text": f"Message {number}"}, "physicalLocation": message}
    return {
        "ruleId": result.rule,
        "ruleIndex": rule,
        "level": result.level.value,
        "message": {"text": f"{result.text} ({result.by}: {result.place})"},
        "locations": [
            {
                "physicalLocation": code or message,
                "logicalLocations": [
                    {
                        "name": result.title or result.server,
                        "fullyQualifiedName": f"{result.server}/{result.place}",
                        "kind": "function" if result.title else "module",
                    }
                ],
            }
        ],
        **({"relatedLocations": [related]} if code else {}),
        "partialFingerprints": {_FINGERPRINT: result.fingerprint},
        "occurrenceCount": result.times,
        "baselineState": "new" if result.is_new else "unchanged",
        "properties": {
            "source": result.source,
            "by": result.by,
            "server": result.server,
            "job": result.job,
            "firstFrame": number,
            "lastFrame": result.last,
        },
    }


def _uri(file: CheckedFile) -> dict[str, str]:
    return _located(file.artifact)


def _located(path: str) -> dict[str, str]:
    return {"uri": urllib.parse.quote(path), "uriBaseId": _ROOT}
