"""Causes read from what servers print."""

from typing import Any

import pytest

from mcp_progress_monitor.sessions import doctor
from mcp_progress_monitor.snapshots.doctor import DoctorReport
from mcp_progress_monitor.snapshots.servers import ServerState


def report(*stderr: str, first: bytes = b"", **fields: Any) -> DoctorReport:
    found = {"state": ServerState.FAILED, "address": "run", **fields}
    return DoctorReport("s", stderr_tail=stderr, first_bytes=first, **found)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("ModuleNotFoundError: No module named 'mcp'", "A Python module is missing"),
        ("/usr/bin/python3: No module named weather", "A Python module is missing"),
        ("Error: Cannot find module '/srv/dist/index.js'", "A Node.js module is missing"),
        ("code: 'ERR_MODULE_NOT_FOUND'", "A Node.js module is missing"),
        ("Error: listen EADDRINUSE: address already in use :::3000", "Its port"),
        ("OSError: [Errno 98] Address already in use", "Its port"),
        ("Server listening on http://localhost:3000", "It serves HTTP, not stdio"),
        ("INFO: Uvicorn running on http://127.0.0.1:8000", "It serves HTTP, not stdio"),
        ("Error: BRAVE_API_KEY environment variable is required", "An API key or token"),
        ("missing GITHUB_TOKEN", "An API key or token"),
        ("the input device is not a TTY", "It needs a terminal"),
        (
            "ERROR: Package 'x' requires a different Python: 3.8.1 not in '>=3.10'",
            "It requires anoth",
        ),
        ("npm WARN EBADENGINE Unsupported engine {", "It requires another Node.js version"),
        (
            "npm ERR! 404 Not Found - GET https://example.org/none",
            "The package name or version does not exist",
        ),
        ("Cannot connect to the Docker daemon at unix:///var/run/docker.sock.", "Docker is not"),
        ("server.py: error: unrecognized arguments: --fast", "It does not accept these arguments"),
        ("sh: 1: uv: not found", "A program that it starts was not found"),
        ("python: can't open file '/srv/none.py': [Errno 2]", "A file is missing"),
        ("PermissionError: [Errno 13] Permission denied: '/etc/x'", "Permission denied"),
        ("FATAL ERROR: JavaScript heap out of memory", "It ran out of memory"),
        ("Error: getaddrinfo ENOTFOUND api.example.org", "It cannot reach another machine"),
    ],
)
def test_usual_words_have_a_cause_that_quotes_them(line: str, message: str) -> None:
    found = [cause for cause in doctor.output_causes(report("hello", line)) if cause.hint]
    assert any(c.text.startswith(message) and line.strip()[:40] in c.text for c in found)


@pytest.mark.parametrize("name", ["ModuleNotFoundError", "FileNotFoundError"])
def test_an_errors_name_is_not_taken_for_another_one_within_it(name: str) -> None:
    found = doctor.output_causes(report("hello", f"{name}: No module or such file: x.y"))
    assert not any("cannot reach" in cause.text for cause in found)


@pytest.mark.parametrize(
    "line",
    [
        "Starting weather server",
        "connected to the database",
        "using key file /srv/key.pem",
        "usage statistics are off",
        "Traceback (most recent call last):",
    ],
)
def test_words_without_a_meaning_have_no_cause(line: str) -> None:
    assert list(doctor.output_causes(report(line))) == []


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        (b"Welcome to my server!\n", "other output than messages"),
        (b"Content-Length: 52\r\n\r\n", "header before each message"),
        ("{}".encode("utf-16"), "UTF-16"),
        (b"\x80\x81\x82\x83" * 4, "80 81 82 83"),
    ],
)
def test_first_bytes_that_are_no_messages_are_quoted(first: bytes, expected: str) -> None:
    (cause,) = doctor.output_causes(report(first=first))
    assert expected in cause.text


@pytest.mark.parametrize("first", [b"", b'{"jsonrpc"', b' \n[{"a"', b'\xef\xbb\xbf{"jsonrpc"'])
def test_messages_are_no_cause(first: bytes) -> None:
    assert list(doctor.output_causes(report(first=first))) == []


def test_what_is_printed_on_stdout_is_read_as_well() -> None:
    found = list(doctor.output_causes(report(first=b"Listening on http://localhost:3000\n")))
    assert [cause.text.partition(":")[0] for cause in found] == [
        "It prints other output than messages to stdout",
        "It serves HTTP, not stdio",
    ]


def test_a_download_that_goes_on_is_a_slow_start() -> None:
    found = doctor.slow_start(report("Resolved 12 packages in 4s"))
    assert found is not None
    assert "Resolved 12 packages" in found.text
    assert "still downloading" in found.text


@pytest.mark.parametrize(("command", "is_slow"), [("/usr/bin/npx", True), ("python3", False)])
def test_an_installer_that_says_nothing_may_be_downloading(command: str, is_slow: bool) -> None:
    found = doctor.slow_start(report(command=(command, "x")))
    assert (found is not None) is is_slow


def test_who_has_sent_messages_does_not_start_slowly() -> None:
    assert doctor.slow_start(report("Downloading x", first=b"{")) is None


def test_what_is_quoted_is_visible_and_bounded() -> None:
    assert doctor.quoted("a\x1b[31m" + "b" * 500).startswith('"a')
    assert "\x1b" not in doctor.quoted("a\x1b[31m")
    assert len(doctor.quoted("b" * 500)) < 170
    assert doctor.quoted_bytes("ä".encode() * 200).count("ä") > 50
