"""From a wish in a pane to a file, and to its report."""

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QFileDialog, QMainWindow

from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.exports.formats import CSV, HAR, JSONL, ExportOptions
from mcp_progress_monitor.filtering.filter import TrafficFilter
from mcp_progress_monitor.gui.aio import BackgroundTasks
from mcp_progress_monitor.gui.common.work_bar import WorkBar
from mcp_progress_monitor.gui.export_controller import ExportController, ExportDialog
from tests.gui.programs import until
from tests.patience import PATIENCE_S
from tests.unit.exports.sessions import Session


class Window(QMainWindow):
    """Has the dialogs of exports."""

    def dialog(self) -> ExportDialog:
        """The one dialog that is open."""
        (found,) = [d for d in self.findChildren(ExportDialog) if d.isVisible()]
        return found


class Reports:
    """The errors shown to the user, and an event for the first."""

    def __init__(self) -> None:
        self.errors: list[ErrorDetails] = []
        self.ended = anyio.Event()

    def tell(self, error: ErrorDetails) -> None:
        self.errors.append(error)
        self.ended.set()


class Bench:
    """A window with its exports."""

    def __init__(self, tasks: BackgroundTasks, source: Session, reported: Reports) -> None:
        self.window = Window()
        self.source = source
        self.reported = reported
        self.exports = ExportController(
            self.window, self.window.statusBar(), source, tasks, reported.tell, "night.mcprec"
        )
        for update in source.updates:
            self.exports.add_findings(update.changes.marked)
        self.exports.saved.connect(self._on_saved)

    def _on_saved(self, _path: Path) -> None:
        self.reported.ended.set()

    async def ended(self) -> None:
        """Wait for the file, or for what is reported instead."""
        with anyio.fail_after(PATIENCE_S):
            await self.reported.ended.wait()

    async def save_as(self, path: Path, choice: int = 0) -> None:
        """Agree to the open dialog, and wait until what it leads to is there."""
        dialog = self.window.dialog()
        dialog.setOption(QFileDialog.Option.DontConfirmOverwrite)
        dialog.selectNameFilter(dialog.nameFilters()[choice])
        dialog.selectFile(str(path))
        dialog.accept()
        await self.ended()

    def said(self) -> str:
        return self.exports.row.text


def _session() -> Session:
    session = Session()
    session.called("login <b>", password="hunter2")
    session.ticked(1, total=2)
    session.ticked(1, total=2)
    session.refused(-1, "no")
    return session


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def _no_bug(error: BaseException) -> None:
    raise error


@pytest.fixture
async def bench(qapp: QApplication) -> AsyncIterator[Bench]:
    qapp.setQuitOnLastWindowClosed(False)  # as the program does: it would end the loop
    reported = Reports()
    async with BackgroundTasks(reported.tell, _no_bug) as tasks:
        made = Bench(tasks, _session(), reported)
        made.window.show()
        yield made
        made.window.close()
    made.window.deleteLater()


async def test_the_report_of_a_job_is_saved_and_it_is_reported_where(
    bench: Bench, tmp_path: Path
) -> None:
    bench.exports.ask_for_report(1)
    assert Path(bench.window.dialog().selectedFiles()[0]).name == "login--b-1-report.html"
    await bench.save_as(tmp_path / "r.html")
    written = (tmp_path / "r.html").read_text(encoding="utf-8")

    assert "login &lt;b&gt;" in written
    assert "Progress did not increase" in written
    assert "hunter2" not in written
    assert bench.said() == "Saved r.html, without secrets"
    assert bench.exports.row.toolTip() == str(tmp_path / "r.html")


async def test_secrets_stay_only_where_that_is_chosen(bench: Bench, tmp_path: Path) -> None:
    bench.exports.ask_for_report(1)
    await bench.save_as(tmp_path / "r.html", choice=1)

    assert "hunter2" in (tmp_path / "r.html").read_text(encoding="utf-8")
    assert bench.said().endswith("including secrets")


async def test_the_ticks_of_a_job_are_saved(bench: Bench, tmp_path: Path) -> None:
    bench.exports.ask_for_ticks(1)
    await bench.save_as(tmp_path / "t.csv")

    assert len((tmp_path / "t.csv").read_text().splitlines()) == 3


async def test_an_ending_follows_what_is_chosen(bench: Bench, tmp_path: Path) -> None:
    bench.exports.ask_for_session()
    await bench.save_as(tmp_path / "all", choice=1)
    rows = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]

    assert [row["number"] for row in rows] == [1, 2, 3, 4]


async def test_a_file_that_nobody_agreed_to_lose_is_left_alone(
    bench: Bench, tmp_path: Path
) -> None:
    (tmp_path / "all.jsonl").write_text("mine")
    bench.exports.ask_for_session()
    await bench.save_as(tmp_path / "all.html", choice=1)

    assert _names(tmp_path) == ["all 1.jsonl", "all.jsonl"]
    assert (tmp_path / "all.jsonl").read_text() == "mine"


async def test_what_traffic_shows_is_saved_and_no_more(bench: Bench, tmp_path: Path) -> None:
    bench.exports.ask_for_shown(TrafficFilter("kind == error"))
    await bench.save_as(tmp_path / "shown.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "shown.jsonl").read_text().splitlines()]

    assert [row["kind"] for row in rows] == ["error"]


async def test_a_session_is_saved_as_a_report_by_default(bench: Bench, tmp_path: Path) -> None:
    bench.exports.ask_for_session()
    assert Path(bench.window.dialog().selectedFiles()[0]).name == "night.html"
    await bench.save_as(tmp_path / "s.html")

    assert "night.mcprec" in (tmp_path / "s.html").read_text(encoding="utf-8")


async def test_where_it_cannot_be_written_is_reported_with_a_message(
    bench: Bench, tmp_path: Path
) -> None:
    bench.exports.export(ExportOptions(CSV), tmp_path / "missing" / "t.csv")
    await bench.ended()

    assert bench.reported.errors[0].what == "Cannot write the file"


async def test_leaving_while_writing_leaves_no_half_file(tmp_path: Path) -> None:
    reported = Reports()
    async with BackgroundTasks(reported.tell, _no_bug) as tasks:
        bench = Bench(tasks, _session(), reported)
        for _ in range(3_000):
            bench.source.ticked(2, total=2)
        bench.exports.export(ExportOptions(JSONL), tmp_path / "all.jsonl")
        await anyio.lowlevel.checkpoint()

    assert (reported.errors, _names(tmp_path)) == ([], [])
    bench.window.deleteLater()


async def test_a_call_is_copied_as_a_program(bench: Bench) -> None:
    bench.exports.copy_snippet(1)

    assert "await client.call_tool('login <b>'" in QGuiApplication.clipboard().text()
    assert "Copied" in bench.said()


async def test_a_failed_job_is_copied_as_an_issue_without_secrets(bench: Bench) -> None:
    bench.exports.copy_issue_of(1)
    await until(lambda: "Copied as an issue" in bench.said())

    text = QGuiApplication.clipboard().text()
    assert text.startswith("# login \\<b\\>: failed\n")
    assert "hunter2" not in text


async def test_what_cannot_be_copied_is_reported_with_a_message(bench: Bench) -> None:
    bench.exports.copy_snippet(99)

    assert bench.reported.errors[0].where == "message 99"


async def test_har_of_a_session_without_http_is_refused_with_a_message(
    bench: Bench, tmp_path: Path
) -> None:
    path = tmp_path / "a.har"
    bench.exports.export(ExportOptions(HAR), path)
    await bench.ended()

    assert bench.reported.errors[0].what.startswith("Cannot export as HAR")
    assert not path.exists()


async def test_har_is_among_the_forms_of_a_session(bench: Bench) -> None:
    bench.exports.ask_for_session()
    assert any(text.endswith("(*.har)") for text in bench.window.dialog().nameFilters())


async def test_cancelling_leaves_no_file_and_says_so(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def endless(*_: object) -> Iterator[bytes]:
        while True:
            yield b"x"

    monkeypatch.setattr("mcp_progress_monitor.gui.export_controller.export_chunks", endless)
    bench.exports.export(ExportOptions(CSV), tmp_path / "t.csv", False)
    status = bench.window.statusBar()
    await until(lambda: bool(_names(tmp_path)))
    status.findChildren(WorkBar)[0].cancel_requested.emit()
    await until(lambda: bench.said().startswith("Cancelled"))

    assert _names(tmp_path) == []
    assert bench.reported.errors == []
