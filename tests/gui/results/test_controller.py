"""Parts of a real result: read, copied, saved, and opened as files that run nothing."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QMessageBox

from mcp_progress_monitor.engine.call import Call
from mcp_progress_monitor.gui.program import Program
from mcp_progress_monitor.gui.results import commands
from mcp_progress_monitor.gui.results.commands import ShownPart
from mcp_progress_monitor.gui.results.controller import PageQuestion, SavePartDialog
from mcp_progress_monitor.gui.results.view import ResultView
from mcp_progress_monitor.wording.results import block_part
from tests.gui.programs import until
from tests.gui.saved import running
from tests.servers.definition import server_definition

pytestmark = pytest.mark.anyio


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[QUrl]:
    found: list[QUrl] = []

    def note(url: QUrl) -> bool:
        found.append(url)
        return True

    monkeypatch.setattr(QDesktopServices, "openUrl", note)
    return found


@asynccontextmanager
async def with_result(folder: Path) -> AsyncIterator[tuple[Program, ResultView]]:
    async with running(folder) as program:
        program.engine.servers.add(server_definition())
        await program.engine.servers.connect("demo")
        params = {"name": "result_parts", "arguments": {"rows": 3}}
        await program.engine.calls.make(Call("demo", "tools/call", params))
        window = program.window
        await until(lambda: window.job_list.select(1))
        window.open_dock("job")
        pane = window.job_pane
        pane.show_job(1)
        pane.tabs.setCurrentWidget(pane.result)
        await until(lambda: pane.result.list.count() > 1)
        yield program, pane.result


def content(path: Path) -> str | None:
    return path.read_text(encoding="utf-8")[:4] if path.exists() else None


def is_private(folder: Path) -> bool:
    return os.name == "nt" or folder.stat().st_mode & 0o077 == 0


def choose(view: ResultView, title: str) -> None:
    titles = [view.list.item(row).text() for row in range(view.list.count())]
    view.list.setCurrentRow(titles.index(title))


async def test_a_linked_resource_is_read_from_its_server(data_dir: Path) -> None:
    async with with_result(data_dir) as (program, view):
        choose(view, "Slow report")
        view.buttons[commands.READ.id].click()
        await until(lambda: program.window.job_pane.job == 2)
        assert program.window.job_list.selected() == (2,)
        await until(lambda: view.text.text.startswith("## Section 1"))
        detail = program.engine.jobs.detail(2)
        assert detail is not None
        assert detail.snapshot.method == "resources/read"
        assert detail.params["uri"] == "demo://report"


async def test_each_kind_is_copied_as_other_programs_paste_it(data_dir: Path) -> None:
    async with with_result(data_dir) as (program, view):
        clipboard = QGuiApplication.clipboard()
        choose(view, "Image")
        view.buttons[commands.COPY.id].click()
        assert clipboard.image().width() == 160
        choose(view, "orders")
        view.on_parts[commands.COPY].trigger()
        assert clipboard.text().splitlines()[:2] == [
            '"order"\t"shop"\t"total"',
            '"1000"\t"north"\t"0.0"',
        ]
        choose(view, "Text")
        view.buttons[commands.COPY.id].click()
        assert clipboard.text().startswith("# Nightly report")
        assert program.exports.row.text == "Copied Text"


async def test_a_drawing_is_opened_as_plain_text_in_a_folder_of_ours(
    data_dir: Path, opened: list[QUrl]
) -> None:
    async with with_result(data_dir) as (_program, view):
        choose(view, "demo://circle.svg")
        view.buttons[commands.OPEN.id].click()
        await until(lambda: bool(opened))
        path = Path(opened[0].toLocalFile())
        assert path.name == "circle.svg.txt"
        assert content(path) == "<svg"
        assert is_private(path.parent)
    assert content(path) is None


async def test_what_is_broken_is_neither_opened_nor_copied(
    data_dir: Path, opened: list[QUrl]
) -> None:
    async with with_result(data_dir) as (program, view):
        view.list.setCurrentRow(6)
        for command, what in ((commands.OPEN, "open"), (commands.COPY, "copy")):
            view.buttons[command.id].click()
            assert program.window.notices.errors()[-1].what == f"Cannot {what} the image"
        assert not opened


async def test_a_table_is_saved_as_csv_that_no_spreadsheet_evaluates(
    data_dir: Path, tmp_path: Path
) -> None:
    async with with_result(data_dir) as (program, view):
        choose(view, "orders")
        view.buttons[commands.SAVE.id].click()
        dialog = program.window.findChild(SavePartDialog)
        assert isinstance(dialog, SavePartDialog)
        assert [Path(name).name for name in dialog.selectedFiles()] == ["orders.csv"]
        dialog.close()
        rows: list[Any] = [{"=1+1": "=HYPERLINK(1)"}]
        (part,) = view._chosen()  # noqa: SLF001
        program.results.save(part.part._replace(value=rows), tmp_path / "a.csv")
        await until(lambda: (tmp_path / "a.csv").exists())
        assert (tmp_path / "a.csv").read_bytes() == b'"\'=1+1"\n"\'=HYPERLINK(1)"\n'


async def test_data_that_is_not_base64_is_reported_and_saves_nothing(
    data_dir: Path, tmp_path: Path
) -> None:
    async with with_result(data_dir) as (program, _view):
        part = block_part({"type": "image", "data": "!", "mimeType": "image/png"})
        program.results.save(part, tmp_path / "a.png")
        await until(lambda: bool(program.window.notices.errors()))
        assert program.window.notices.errors()[-1].what == "Cannot save it"
        assert not (tmp_path / "a.png").exists()


async def test_a_link_is_opened_only_after_a_question(data_dir: Path, opened: list[QUrl]) -> None:
    async with with_result(data_dir) as (program, view):
        view.link_clicked.emit("https://e.example/a?b=%20" + "c" * 2_000)
        question = program.window.findChild(PageQuestion)
        assert isinstance(question, PageQuestion)
        assert question.text().startswith("Open a page of e.example in your browser?")
        assert max(map(len, question.text().splitlines())) <= 80
        question.reject()
        assert not opened
        view.link_clicked.emit("https://e.example/a")
        question = next(q for q in program.window.findChildren(PageQuestion) if q.isVisible())
        for button in question.buttons():
            if question.buttonRole(button) is QMessageBox.ButtonRole.AcceptRole:
                button.click()
        assert [url.toString() for url in opened] == ["https://e.example/a"]
        for refused in ("javascript:alert(1)", "file:///etc/passwd", "a/b", "mailto:x@y"):
            view.link_clicked.emit(refused)
            assert program.window.notices.errors()[-1].what == "Cannot open the page"
        assert len(opened) == 1


async def test_a_part_of_a_server_that_is_gone_says_so(data_dir: Path) -> None:
    async with with_result(data_dir) as (program, _view):
        link = block_part({"type": "resource_link", "uri": "a://b", "name": "b"})
        program.results.read(ShownPart(link, "elsewhere"))
        await until(lambda: bool(program.window.notices.errors()))
        assert "elsewhere" in str(program.window.notices.errors()[-1])
