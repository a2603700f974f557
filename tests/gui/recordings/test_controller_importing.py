"""Another program's file is imported beside the window, which says how far it is."""

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from PySide6.QtWidgets import QApplication

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.gui.common import work_bar
from mcp_progress_monitor.gui.common.work_bar import WorkBar
from mcp_progress_monitor.gui.recordings import controller
from mcp_progress_monitor.gui.recordings.controller import import_file
from mcp_progress_monitor.imports.convert import HAR, MCP_REC
from tests.unit.imports.imported import SAMPLES

pytestmark = pytest.mark.anyio
_FILE = SAMPLES / "mcp-rec-0.1.jsonl"


def _life(*, is_over: bool = False) -> Any:
    return SimpleNamespace(is_over=is_over)


async def test_the_recording_is_there_and_no_window_is_left(
    qapp: QApplication, tmp_path: Path
) -> None:
    target = tmp_path / "a.mcprec"

    assert await import_file(_FILE, MCP_REC, target, _life())
    assert target.stat().st_size > 100
    assert not any(
        isinstance(each, WorkBar) and each.isVisible() for each in qapp.topLevelWidgets()
    )


@pytest.mark.parametrize("is_quit", [False, True])
async def test_cancelling_and_quitting_leave_nothing(
    qapp: QApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_quit: bool
) -> None:
    monkeypatch.setattr(work_bar, "_PATIENCE_S", 0.0)
    monkeypatch.setattr(controller, "_LOOK_S", 0.005)

    def endless(
        _path: Path, _form: object, _target: Path, on_share: Callable[[float], None]
    ) -> None:
        while True:
            on_share(0.5)

    monkeypatch.setattr(controller, "convert", endless)

    async with anyio.create_task_group() as group:
        if not is_quit:
            group.start_soon(_cancel_once_shown, qapp)
        assert not await import_file(_FILE, MCP_REC, tmp_path / "a", _life(is_over=is_quit))
    assert not os.listdir(tmp_path)  # noqa: PTH208  # in a coroutine


async def _cancel_once_shown(qapp: QApplication) -> None:
    """As the user does, and in the thread of the widgets: elsewhere they crash some test later."""
    while True:
        for each in qapp.topLevelWidgets():
            if isinstance(each, WorkBar) and each.isVisible():
                each.cancel_requested.emit()
                return
        await anyio.sleep(0.005)


async def test_a_file_that_cannot_be_imported_is_reported(
    qapp: QApplication, tmp_path: Path
) -> None:
    (tmp_path / "a.har").write_text('{"log": {"entries": []}}')
    with pytest.raises(UserError, match="has no MCP messages"):
        await import_file(tmp_path / "a.har", HAR, tmp_path / "a.mcprec", _life())
    assert qapp is QApplication.instance()
