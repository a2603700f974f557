"""From a server's connection to a watched job: its page opens, and Call leads to the form."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QWidget

from mcp_progress_monitor.engine.call import Call
from mcp_progress_monitor.gui.calls.form import CallDialog
from mcp_progress_monitor.gui.calls.server_page import ServerPage
from mcp_progress_monitor.gui.jobs.commands import COPY_COMMAND, COPY_CURL
from mcp_progress_monitor.gui.preferences import Preferences
from mcp_progress_monitor.gui.program import Program
from mcp_progress_monitor.gui.servers import commands as on_servers
from mcp_progress_monitor.protocol.messages import CALL_TOOL
from mcp_progress_monitor.snapshots.definitions import demo_definition
from mcp_progress_monitor.snapshots.limits import DefaultLimits
from tests.gui.programs import until
from tests.gui.saved import running

pytestmark = pytest.mark.anyio
DEMO = demo_definition()


async def page_of(program: Program) -> ServerPage:
    """The page that opens by itself, once the tools are listed."""
    window = program.window
    await until(lambda: isinstance(window.middle.page, ServerPage))
    page = window.middle.page
    assert isinstance(page, ServerPage)
    await until(lambda: page.offers.rowCount() > 3)
    return page


def shown(program: Program) -> QWidget:
    return program.window.middle.page


def form_of(program: Program) -> CallDialog:
    (dialog,) = program.window.findChildren(CallDialog)
    return dialog


async def test_call_and_send_lead_to_a_watched_job(data_dir: Path) -> None:
    async with running(data_dir, DEMO) as program:
        window = program.window
        page = await page_of(program)
        assert page.server == DEMO.name
        program.engine.calls.default_limits = DefaultLimits(90, 60, 33)
        page.details.call.click()
        form = form_of(program).form
        hints = [field.placeholderText() for field in form.options.findChildren(QLineEdit)]
        assert "90 (default)" in hints
        assert form.offer is not None
        assert form.offer.name == "known_total"
        assert form.form.isAncestorOf(form.window().focusWidget())
        form.send()
        assert shown(program) is window.job_list
        await until(lambda: bool(program.engine.jobs.ids()))
        found = program.engine.jobs.snapshot(program.engine.jobs.ids()[0])
        assert found is not None
        assert found.clocks is not None
        assert (found.clocks.idle_s, found.clocks.total_s) == (90, 33)
        # The user asks for the page: jobs do not take it away.
        window.commands.run(on_servers.OPEN, DEMO.name)
        assert shown(program) is page
        assert page.isAncestorOf(window.focusWidget())
        program.palette.job_chosen.emit(program.engine.jobs.ids()[0])
        assert shown(program) is window.job_list
        window.commands.run(on_servers.OPEN, DEMO.name)
        form_of(program).close()
        QTest.keyClick(page.list, Qt.Key.Key_Escape)
        assert shown(program) is window.job_list
        assert window.job_list.isAncestorOf(window.focusWidget())


async def test_a_page_that_opened_automatically_makes_room_for_jobs(data_dir: Path) -> None:
    async with running(data_dir, DEMO) as program:
        window = program.window
        await page_of(program)
        program.servers.start_demo()
        await until(lambda: window.middle.page is window.job_list)


async def test_the_page_goes_with_its_server(data_dir: Path) -> None:
    async with running(data_dir, DEMO) as program:
        page = await page_of(program)
        program.servers.disconnect_server(DEMO.name)
        await until(lambda: not page.connect_button.isHidden())
        assert not page.details.call.isEnabled()
        program.servers.remove(DEMO.name, ())
        await until(lambda: program.window.middle.page is program.window.welcome)


async def test_no_page_opens_where_that_is_not_wanted(data_dir: Path) -> None:
    kept = Preferences(data_dir)
    kept.keep_json("settings/general", {"opens_page": False})
    kept.keep_json("settings/privacy", {"arguments": False})
    kept.save()
    async with running(data_dir, DEMO) as program:
        await until(lambda: bool(program.engine.servers.snapshot(DEMO.name).tools))
        program.calls.show_new_servers()
        program.calls.new_call_of(DEMO.name, "tools/call", "known_total")
        form_of(program).form.send()
        assert program.window.middle.page is program.window.job_list
        form_of(program).close()
    assert Preferences(data_dir).json_of("calls")["arguments"] == []


async def test_the_call_of_a_job_is_copied_for_a_terminal(data_dir: Path) -> None:
    async with running(data_dir, DEMO) as program:
        await page_of(program)
        arguments = {"steps": 2, "interval_s": 0.01}
        params = {"name": "known_total", "arguments": arguments}
        await program.engine.calls.make(Call(DEMO.name, CALL_TOOL, params))
        job = program.engine.jobs.ids()[0]
        program.window.commands.run(COPY_COMMAND, job)
        copied = QGuiApplication.clipboard().text()
        assert copied.startswith("mcp-progress-monitor call known_total --args ")
        assert '"steps":' in copied
        assert "progressToken" not in copied
        program.window.commands.run(COPY_CURL, job)
        assert QGuiApplication.clipboard().text() == copied
        assert "curl can call only" in program.window.notices.errors()[-1].what
