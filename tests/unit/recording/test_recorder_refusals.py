"""Whatever a disk answers becomes an error: what, where, what to try, and that all else goes on."""

import errno
from pathlib import Path

import pytest

from mcp_progress_monitor.recording.recorder import refusal, stuck, unfinished

PATH = Path("/data/a.mcprec")


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EDQUOT, "the disk is full"),
        (errno.EFBIG, "file size limit was reached"),
        (errno.EACCES, "no permission to write"),
        (errno.EROFS, "no permission to write"),
        (errno.ENOENT, "no longer exists"),
        (errno.EEXIST, "already exists"),
        (errno.EIO, "cannot be written"),
    ],
)
def test_each_answer_has_words_of_its_own(number: int, text: str) -> None:
    found = refusal(OSError(number, "as the system says"), PATH, has_begun=True)
    assert found.what.startswith("Recording stopped: ")
    assert text in found.what
    assert found.where == str(PATH)
    assert found.detail == "as the system says"
    assert "continues" in found.hint


def test_what_never_began_did_not_stop() -> None:
    found = refusal(OSError(errno.ENOENT, ""), PATH, has_begun=False)
    assert found.what == "The session is not being recorded: its file cannot be created"


def test_a_disk_that_takes_nothing_is_reported() -> None:
    assert "does not accept more data" in stuck(PATH).what
    assert "end of the recording is lost" in unfinished(PATH).what
    assert {stuck(PATH).where, unfinished(PATH).where} == {str(PATH)}


def test_an_error_without_a_text_is_shown_as_it_is() -> None:
    assert refusal(OSError("odd"), PATH, has_begun=True).detail == "odd"
