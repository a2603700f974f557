"""The palette over a program: commands, servers, tools, jobs and recordings by their names."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from mcp_progress_monitor.gui.calls.form import CallDialog
from mcp_progress_monitor.gui.command_palette.palette import Palette
from mcp_progress_monitor.gui.common.settings_form import SettingsForm
from mcp_progress_monitor.gui.preferences import Preferences
from mcp_progress_monitor.gui.program import Program
from mcp_progress_monitor.gui.settings.dialog import SettingsDialog
from mcp_progress_monitor.gui.window_commands import PALETTE
from mcp_progress_monitor.snapshots.definitions import demo_definition
from tests.gui.programs import until
from tests.gui.saved import running

pytestmark = pytest.mark.anyio


def opened(program: Program) -> Palette:
    program.window.do[PALETTE].trigger()
    (palette,) = program.window.findChildren(Palette)
    return palette


def titles(palette: Palette) -> list[str]:
    model = palette.model
    found = [model.entry(row) for row in range(model.rowCount())]
    return [f"{each.kind}: {each.title}" for each in found if each is not None]


def choose(palette: Palette, text: str) -> None:
    QTest.keyClicks(palette.edit, text)
    QTest.keyClick(palette.edit, Qt.Key.Key_Return)


async def test_a_command_is_run_and_is_first_the_next_time(data_dir: Path) -> None:
    async with running(data_dir) as program:
        choose(opened(program), "go traffic")
        assert program.window.traffic_pane.isAncestorOf(program.window.focusWidget())
        assert titles(opened(program))[0] == "Go to: Traffic"
        assert "Jobs: Cancel" not in titles(opened(program))  # nothing to cancel
        program.palette.forget()
        assert titles(opened(program))[0] != "Go to: Traffic"


async def test_keys_of_a_pane_are_offered_while_it_is_in_front(data_dir: Path) -> None:
    async with running(data_dir) as program:
        program.window.late.stderr.pane()
        program.window.open_dock("traffic")
        await until(lambda: "Traffic: Filter messages" in titles(opened(program)))
        assert "stderr: Find" not in titles(opened(program))
        program.window.open_dock("stderr")
        await until(lambda: "stderr: Find" in titles(opened(program)))
        assert "Traffic: Filter messages" not in titles(opened(program))


async def test_what_is_chosen_is_not_remembered_when_that_is_not_wanted(data_dir: Path) -> None:
    kept = Preferences(data_dir)
    kept.keep_json("settings/privacy", {"palette": False})
    kept.save()
    async with running(data_dir) as program:
        choose(opened(program), "go traffic")
        assert titles(opened(program))[0] != "Go to: Traffic"


async def test_tools_servers_jobs_and_recordings_are_found(data_dir: Path) -> None:
    async with running(data_dir, demo_definition()) as program:
        await until(lambda: "Tool: known_total" in titles(opened(program)))
        assert f"Server: {demo_definition().name}" in titles(opened(program))
        palette = opened(program)
        palette.edit.setText("tool known")
        assert "Tool: known_total" in titles(palette)
        palette.edit.clear()
        choose(palette, "tool known_total")
        (dialog,) = program.window.findChildren(CallDialog)
        assert dialog.form.offer is not None
        assert dialog.form.offer.name == "known_total"
        dialog.form.send()
        await until(lambda: bool(program.engine.jobs.ids()))
        await until(lambda: any(each.startswith("Job: ") for each in titles(opened(program))))
        choose(opened(program), "job known")
        assert program.window.job_pane.job == program.engine.jobs.ids()[0]
        palette = opened(program)
        await until(lambda: any(each.startswith("Recording: ") for each in titles(palette)))
        dialog.close()


async def test_themes_and_settings_are_found(data_dir: Path) -> None:
    async with running(data_dir) as program:
        window = program.window
        choose(opened(program), "theme dark")
        assert window.theme.chosen == "dark"
        choose(opened(program), "tray icon")
        await until(lambda: bool(window.findChildren(SettingsDialog)))
        (dialog,) = window.findChildren(SettingsDialog)
        await until(dialog.isVisible)
        page = dialog.page("general")
        assert isinstance(page, SettingsForm)
        assert dialog.focusWidget() is page.control_of("shows_tray")
        program.settings_dialog.open_setting("privacy", "forget_palette")
        page = dialog.page("privacy")
        assert isinstance(page, SettingsForm)
        assert dialog.focusWidget() is page.control_of("forget_palette")
        dialog.close()
