"""The log is private, without secrets, bounded, and never a reason to fail."""

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_progress_monitor import program_log as module
from mcp_progress_monitor.crash_reports import LOG_NAME
from mcp_progress_monitor.program_log import log_to_file, program_log
from tests.unit.test_crash_reports import SECRET, mode_of, raised


@pytest.fixture(autouse=True)
def _logging_given_back() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.mark.announces_log("odd|failed|after the end")
def test_the_log_says_when_the_program_ran_and_what_was_wrong(tmp_path: Path) -> None:
    logger = logging.getLogger("mcp_progress_monitor.test")
    with program_log(tmp_path, "warning"):
        logger.warning("odd \x1b thing, token=%s", SECRET)
        logger.info("usual")
        logger.error("a session failed", exc_info=raised("our mistake"))
    logger.warning("after the end")
    text = (tmp_path / LOG_NAME).read_text()
    lines = text.splitlines()
    assert "started, version" in lines[0]
    assert "odd \\x1b thing" in lines[1]
    assert SECRET not in text
    assert "usual" not in text
    assert "ValueError: invalid literal" in text
    assert lines[-1].endswith("ended")
    if os.name == "posix":
        assert mode_of(tmp_path / LOG_NAME) == 0o600


@pytest.mark.announces_log("message")
def test_a_full_log_is_continued_in_another_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_LOG_BYTES", 500)
    log = log_to_file(tmp_path, "warning")
    for number in range(100):
        logging.getLogger("mcp_progress_monitor.test").warning("message %d", number)
    log.close()
    parts = sorted(path.name for path in tmp_path.iterdir())
    assert parts == [LOG_NAME, f"{LOG_NAME}.1", f"{LOG_NAME}.2", f"{LOG_NAME}.3"]
    assert all(path.stat().st_size <= 500 for path in tmp_path.iterdir())
    assert os.name != "posix" or {mode_of(path) for path in tmp_path.iterdir()} == {0o600}


@pytest.mark.announces_log("nobody reads this")
def test_a_folder_that_takes_no_files_is_survived(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with program_log(tmp_path / "none", "warning"):
        logging.getLogger("mcp_progress_monitor.test").warning("nobody reads this")
    assert capsys.readouterr().err == ""
