"""The doctor's report as text."""

import pytest

from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.exports.redaction import doctor_text
from mcp_progress_monitor.snapshots.doctor import DoctorReport, EndKind, HttpNote, Searched
from mcp_progress_monitor.snapshots.servers import Health, Retry, ServerState
from mcp_progress_monitor.wording.doctor import Line, Look, happened, sections
from tests.doctor_stand_ins import CRASHED, NOT_FOUND, REFUSED

pytestmark = pytest.mark.usefixtures("qapp")


def lines(report: DoctorReport, title: str) -> tuple[Line, ...]:
    return next((each.lines for each in sections(report) if title in each.title), ())


def texts(report: DoctorReport, title: str) -> list[str]:
    return [line.text for line in lines(report, title)]


def test_causes_come_first_each_with_what_to_try() -> None:
    assert sections(NOT_FOUND)[0].title == "What to try"
    assert texts(NOT_FOUND, "try")[:2] == [
        "1. The command is in no folder of PATH",
        "Install Node.js, or give the whole path.",
    ]
    assert texts(CRASHED, "try")[0] == "A Python module is missing: httpx"


def test_without_causes_the_errors_own_hint_is_there() -> None:
    report = NOT_FOUND._replace(causes=())
    assert texts(report, "try") == ["Install it."]


def test_the_command_is_reported_as_run_and_each_folder_that_was_searched() -> None:
    assert texts(NOT_FOUND, "URL") == [
        "npx -y 'a server' '~/files'",
        "Program not found",
        "Folder: /srv/work",
    ]
    assert lines(NOT_FOUND, "PATH") == (
        Line("/usr/local/bin — not found", Look.MUTED),
        Line("/opt/gone/bin — does not exist", Look.BAD),
        Line("/usr/bin — not found", Look.MUTED),
    )
    assert texts(NOT_FOUND, "variables") == ["API_KEY, HOME, PATH"]


def test_a_folder_where_the_program_is_is_never_left_out() -> None:
    many = tuple(Searched(f"/{at}", exists=True, found=None) for at in range(200))
    report = NOT_FOUND._replace(searched=(*many, Searched("/bin", exists=True, found="/bin/npx")))
    assert "/bin — found: /bin/npx" in texts(report, "PATH")
    assert texts(report, "PATH")[-1] == "and 140 more folders"


def test_how_it_ended_and_what_it_wrote_is_reported() -> None:
    assert "Exit code 1" in texts(CRASHED, "Status")
    assert "Restarted 2 times" in texts(CRASHED, "Status")
    assert texts(CRASHED, "standard error")[-1] == "ModuleNotFoundError: No module named 'httpx'"
    signal = CRASHED._replace(exit_code=-9, ending="The server was killed by SIGKILL")
    assert Line("Ended by signal 9", Look.BAD) in lines(signal, "Status")


def test_what_we_ended_is_not_reported_as_the_servers_own_end() -> None:
    late = CRASHED._replace(
        exit_code=-15, ending="The server did not answer within 3 s", end_kind=EndKind.CLIENT
    )
    assert Line("Ended by this program with signal 15", Look.PLAIN) in lines(late, "Status")


def test_first_bytes_are_dumped_in_hex_and_as_text() -> None:
    (row,) = texts(CRASHED, "First bytes")
    assert row == "0000  4c 6f 61 64 69 6e 67 e2 80 a6 0a 00 3c 62 3e     Loading.....<b>"


def test_exchanges_are_reported_the_newest_first() -> None:
    found = texts(REFUSED, "HTTP")
    assert found[:3] == [
        "POST https://hub.example.org/mcp",
        "401 Unauthorized",
        'www-authenticate: Bearer realm="hub"',
    ]
    assert found[-3:] == ["", "GET https://hub.example.org/.well-known/x", "200 OK"]


@pytest.mark.parametrize(("status", "look"), [(204, Look.GOOD), (307, Look.PLAIN), (404, Look.BAD)])
def test_only_what_went_well_looks_well(status: int, look: Look) -> None:
    report = REFUSED._replace(http=(HttpNote("POST x", status, "So"),))
    assert lines(report, "HTTP")[1] == Line(f"{status} So", look)


def test_a_request_without_a_response_says_why() -> None:
    report = REFUSED._replace(http=(HttpNote("POST x", None, "No such host"),))
    assert lines(report, "HTTP")[1] == Line("No such host", Look.BAD)


def test_whatever_a_server_said_is_visible_and_bounded() -> None:
    hostile = "\u202e\x00" * 5_000
    report = CRASHED._replace(
        stderr_tail=(hostile,) * 500,
        http=(HttpNote(hostile, 500, hostile, ((hostile, hostile),) * 100, hostile * 3),),
        ending=hostile,
        error=ErrorDetails(hostile, hostile, hostile, hostile),
    )
    text = doctor_text(report, 0.0)
    assert "\u202e" not in text
    assert "\x00" not in text
    assert len(text) < 200_000
    assert "440 earlier lines omitted" in text


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({}, "The server exited while it was being connected"),
        (
            {"state": ServerState.WAITING, "retry": Retry(2, 5, 14.0)},
            "Restarting in 4 s (2 of 5): The server exited while it was being connected",
        ),
        ({"error": None}, "The server exited with exit code 1"),
        (
            {"state": ServerState.CONNECTED, "error": None},
            "The server is connected, and no error is known.",
        ),
        (
            {"state": ServerState.CONNECTED, "health": Health(1.0, None, is_hung=True)},
            "Calls are pending, and the server does not answer pings: it is hung.",
        ),
    ],
)
def test_what_happened_is_one_sentence(changes: dict[str, object], sentence: str) -> None:
    report = CRASHED._replace(**changes)  # type: ignore[arg-type]  # of many types
    assert happened(report, 10.0) == sentence


def test_the_whole_can_be_copied() -> None:
    text = doctor_text(NOT_FOUND, 0.0)
    assert text.startswith("files: Failed\nThe command npx was not found\n\nWhat to try\n  1. ")


def test_what_is_copied_has_no_secrets() -> None:
    report = CRASHED._replace(
        command=("run-it", "--token", "abcdef123"),
        stderr_tail=("API_KEY=verysecret", "value hunter22 was wrong"),
        first_bytes=b"it is hunter22!",
        secrets=("hunter22",),
    )
    text = doctor_text(report, 0.0)
    for secret in ("abcdef123", "verysecret", "hunter22", "68 75 6e 74 65 72"):
        assert secret not in text
    assert "run-it --token (removed)" in text
    assert "value (removed) was wrong" in text
