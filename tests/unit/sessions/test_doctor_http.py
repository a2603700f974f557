"""Causes read from the last requests over HTTP."""

import pytest

from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.sessions import doctor
from mcp_progress_monitor.snapshots.doctor import DoctorReport, HttpNote
from mcp_progress_monitor.snapshots.servers import ServerState

URL = "https://host.example/mcp"


def report(*notes: HttpNote, url: str = URL, error: ErrorDetails | None = None) -> DoctorReport:
    return DoctorReport("s", ServerState.FAILED, url, http=notes, error=error)


def note(status: int | None, message: str = "", body: str = "", **headers: str) -> HttpNote:
    named = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return HttpNote(f"POST {URL}", status, message, named, body)


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("[Errno -2] Name or service not known", "Unknown host name"),
        ("certificate verify failed: self-signed certificate", "not signed by a trusted authority"),
        ("Hostname mismatch, certificate is not valid for 'x'", "for another host name"),
        ("certificate verify failed: certificate has expired", "has expired"),
        ("certificate verify failed: unable to get local issuer certificate", "be verified"),
        ("[SSL: WRONG_VERSION_NUMBER] wrong version number", "One side speaks TLS"),
        ("proxy says 502", "The proxy"),
        ("[Errno 111] Connection refused", "Nothing is listening"),
        ("Network is unreachable", "No route to that host"),
        ("the read timed out", "does not respond"),
    ],
)
def test_what_kept_a_request_from_its_host_is_reported_and_quoted(message: str, text: str) -> None:
    (cause,) = doctor.http_causes(report(note(None, message)))
    assert text in cause.text
    assert message in cause.text


def test_without_a_request_the_error_tells() -> None:
    (cause,) = doctor.http_causes(
        report(error=ErrorDetails("no", "x", detail="Connection refused"))
    )
    assert cause.text.startswith("Nothing is listening")


@pytest.mark.parametrize("status", [401, 403, 404, 405, 406, 407, 415, 421, 429, 500, 503])
def test_a_status_has_a_cause_that_quotes_it(status: int) -> None:
    (cause,) = doctor.http_causes(report(note(status, "Words")))
    assert f"gave {status} Words" in cause.text


@pytest.mark.parametrize("status", [200, 202, 400])
def test_other_statuses_have_none(status: int) -> None:
    assert list(doctor.http_causes(report(note(status)))) == []


def test_headers_that_tell_something_are_quoted() -> None:
    (cause,) = doctor.http_causes(report(note(429, Retry_After="30", X_Other="no")))
    assert "Retry-After: 30" in cause.text
    assert "X-Other" not in cause.text


@pytest.mark.parametrize(
    ("target", "message"),
    [("https://other.example/mcp", "another host"), ("/mcp/", "another path"), ("", "path")],
)
def test_a_redirect_tells_where_to(target: str, message: str) -> None:
    (cause,) = doctor.http_causes(report(note(307, location=target)))
    assert message in cause.text


@pytest.mark.parametrize(
    ("kind", "body"), [("text/html; charset=utf-8", "hello"), ("", "<!DOCTYPE html><html>")]
)
def test_a_web_page_is_reported(kind: str, body: str) -> None:
    (cause,) = doctor.http_causes(report(note(200, body=body, content_type=kind)))
    assert cause.text.startswith("It returned a web page")


@pytest.mark.parametrize(
    ("url", "status", "hint"),
    [
        ("https://h.example/sse", 405, "legacy transport (HTTP+SSE) for this server"),
        ("https://h.example", 404, "The URL has no path"),
        ("https://h.example/mcp", 404, "path of MCP is often /mcp"),
    ],
)
def test_the_path_makes_the_hint_better(url: str, status: int, hint: str) -> None:
    (cause,) = doctor.http_causes(report(note(status), url=url))
    assert hint in cause.hint


def test_of_each_kind_the_newest_is_reported() -> None:
    notes = (note(503, "first"), note(401), note(503, "second"))
    found = [cause.text for cause in doctor.http_causes(report(*notes))]
    assert len(found) == 2
    assert "second" in found[0]


def test_the_fault_of_the_python_sdk_after_a_delete_is_known() -> None:
    plain = {"content_type": "text/plain; charset=utf-8"}
    arguments = ("Internal Server Error", "Internal Server Error")
    (cause,) = doctor.http_causes(report(note(500, *arguments, **plain)))
    assert "Python SDK 1.8 to 1.9.4" in cause.hint
    assert "1.10" in cause.hint


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (500, "Internal Server Error", "text/html"),
        (500, "Out of memory", "text/plain"),
        (502, "Internal Server Error", "text/plain"),
    ],
)
def test_other_failures_are_not_taken_for_it(status: int, body: str, kind: str) -> None:
    causes = doctor.http_causes(report(note(status, "", body, content_type=kind)))
    assert all("Python SDK" not in cause.hint for cause in causes)
