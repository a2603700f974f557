"""Log records are lines; tracebacks go to a file."""

import contextlib
import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_progress_monitor.cli.diagnostics import log_to_stderr


@contextlib.contextmanager
def fresh_logging() -> Iterator[None]:
    """The root logger as a program finds it: without handlers, pytest's among them."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    root.handlers.clear()
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture
def data_dir_option(monkeypatch: pytest.MonkeyPatch, data_dir: Path) -> Path:
    monkeypatch.setattr(sys, "argv", ["program", "--data-dir", str(data_dir)])
    return data_dir


def test_records_from_the_level_on_are_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with fresh_logging():
        log_to_stderr(None)
        logging.getLogger("app.x").warning("odd \x1b thing")
        logging.getLogger("app.x").info("usual")
    assert capsys.readouterr().err == "WARNING app.x: odd \\x1b thing\n"


def test_the_traceback_of_a_defect_goes_to_a_file(
    data_dir_option: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with fresh_logging():
        log_to_stderr("error")
        logging.getLogger("app.x").error("a session failed", exc_info=ValueError("our mistake"))
    said = capsys.readouterr().err
    (written,) = data_dir_option.iterdir()
    assert len(said.splitlines()) == 1
    assert str(written) in said
    assert "our mistake" in written.read_text()
