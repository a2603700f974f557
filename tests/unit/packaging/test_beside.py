import os
import sys
from pathlib import Path

import pytest

from beside import Beside


def _beside(code: str, folder: Path) -> Beside:
    return Beside("tests", [sys.executable, "-c", code], folder, os.environ)


def test_what_it_prints_is_shown_when_it_has_ended_well(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _beside("print('3 passed')", tmp_path).succeeds()

    out, err = capsys.readouterr()
    assert out == f"3 passed{os.linesep}"
    assert err.startswith("-- tests\n-- tests: ok, ")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other priorities")
def test_it_can_let_others_go_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wanted = min(os.nice(0) + 5, 19)  # the lowest there is: the tests themselves may give way
    code = f"import os, time\nwhile os.nice(0) != {wanted}: time.sleep(0.01)\nprint('told')"
    part = _beside(code, tmp_path)
    part.give_way()
    assert part.succeeds()
    assert capsys.readouterr().out == "told\n"


def test_its_end_can_be_asked_for(tmp_path: Path) -> None:
    part = _beside("import sys; sys.stdin.read()", tmp_path)
    part.stop()
    assert part.has_ended()


def test_a_failure_is_reported_with_its_code_and_all_it_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not _beside("import sys; print('1 failed'); sys.exit('why')", tmp_path).succeeds()

    out, err = capsys.readouterr()
    assert "1 failed" in out
    assert "why" in out
    assert "-- tests: FAILED (exit code 1)" in err


def test_after_an_interrupt_it_may_say_what_it_was_at(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _beside("print('interrupted in test_one')", tmp_path).stop()

    assert "interrupted in test_one" in capsys.readouterr().out


def test_one_that_goes_on_after_an_interrupt_is_ended(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("beside._PATIENCE_S", 0)
    _beside("import threading; threading.Event().wait()", tmp_path).stop()

    assert capsys.readouterr() == ("", "-- tests\n")
