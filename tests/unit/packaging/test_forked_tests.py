import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

import forked_tests
from beside import Beside

pytestmark = pytest.mark.skipif(not forked_tests.CAN_FORK, reason="forks")


def _printing(arguments: list[str], _folder: Path, _environ: object, printed: int) -> NoReturn:
    os.write(printed, " ".join(arguments).encode())
    sys.exit(len(arguments))


def _failing(*_arguments: object) -> NoReturn:
    raise ZeroDivisionError


def _forked(
    monkeypatch: pytest.MonkeyPatch, run: Callable[..., NoReturn], *arguments: str
) -> Beside:
    monkeypatch.setattr(forked_tests, "_import_all", lambda: None)
    monkeypatch.setattr(forked_tests, "_run", run)
    command = ["python", "-m", "pytest", *arguments]
    return forked_tests.ForkedTests("tests", command, Path(), os.environ)


def test_arguments_arrive_and_the_exit_code_and_all_that_is_printed_come_back(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert not _forked(monkeypatch, _printing, "-q", "tests").succeeds()
    out, err = capfd.readouterr()
    assert out == "-q tests"
    assert "-- tests: FAILED (exit code 2)" in err
    assert _forked(monkeypatch, _printing).succeeds()


def test_an_error_of_the_run_itself_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert not _forked(monkeypatch, _failing).succeeds()
    assert "-- tests: FAILED (exit code 3)" in capfd.readouterr().err
