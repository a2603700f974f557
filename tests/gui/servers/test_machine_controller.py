"""Watching another machine in the whole program: asked for, saved, restored, stopped, removed."""

import json
import os
import signal
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import Qt

from mcp_progress_monitor.catalogue.catalogue import CatalogueEntry
from mcp_progress_monitor.gui.program import Program
from mcp_progress_monitor.gui.servers import commands
from mcp_progress_monitor.gui.servers.consent import ConsentDialog
from mcp_progress_monitor.gui.servers.machine_dialog import MachineDialog
from mcp_progress_monitor.gui.window_commands import WATCH_MACHINE
from mcp_progress_monitor.snapshots.definitions import StdioDefinition
from tests.gui.programs import until
from tests.gui.saved import reported, running
from tests.taps import HandTap
from tests.unit.engine.test_machines import stream_command

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform == "win32", reason="the machines are commands of a shell"),
]


@pytest.fixture
def there(tmp_path: Path) -> Path:
    """The data folder of the other machine."""
    return tmp_path / "there"


def _rows(program: Program) -> list[str]:
    model = program.window.watched.view.model()
    role = Qt.ItemDataRole.AccessibleTextRole
    return [model.index(row, 0).data(role) for row in range(model.rowCount())]


def _begun(there: Path) -> HandTap:
    tap = HandTap(there / "recordings" / "live", client="Cursor")
    tap.write(tap.opened(), tap.handshake(), tap.call())
    return tap


def _line(there: Path) -> str:
    return " ".join(stream_command(there))


async def test_a_machine_is_watched_saved_and_restored(data_dir: Path, there: Path) -> None:
    tap = _begun(there)
    async with running(data_dir) as program:
        program.window.do[WATCH_MACHINE].trigger()
        (dialog,) = program.window.findChildren(MachineDialog)
        assert not dialog.watch.isEnabled()
        dialog.command.setText(_line(there))
        dialog.name.setText("box")
        dialog.watch.click()
        await until(lambda: len(_rows(program)) == 2)
        await until(lambda: _rows(program)[0] == "Watched · box, Live · 1 server")
        assert _rows(program)[1].startswith("local-db, Cursor · Live")
        assert not program.window.findChildren(MachineDialog) or dialog.isHidden()
    saved = json.loads((data_dir / "machines.json").read_text())
    assert saved["machines"][0]["name"] == "box"
    tap.write(tap.tick(3))
    async with running(data_dir) as program:
        await until(lambda: len(_rows(program)) == 2)
        await until(lambda: _rows(program)[0] == "Watched · box, Live · 1 server")
        program.window.commands.run(commands.MACHINE_STOP, "box")
        await until(lambda: _rows(program)[0] == "Watched · box, Stopped")
        program.window.commands.run(commands.MACHINE_CONNECT, "box")
        await until(lambda: "Live" in _rows(program)[0])
        program.window.commands.run(commands.MACHINE_REMOVE, "box")
        await until(lambda: not any("Watched ·" in row for row in _rows(program)))
    assert json.loads((data_dir / "machines.json").read_text()) == {"machines": []}


async def test_a_killed_connection_counts_down(data_dir: Path, there: Path) -> None:
    tap = _begun(there)
    async with running(data_dir) as program:
        program._machines._on_watch_requested(  # noqa: SLF001
            "box", ("/bin/sh", "-c", f'echo $$ > "{there}/pid"; exec {_line(there)} "$@"', "sh")
        )
        await until(lambda: "Live · 1" in "".join(_rows(program)[:1]))
        os.kill(int((there / "pid").read_text()), signal.SIGKILL)
        await until(lambda: "Tries again in 1 s: The command ended" in _rows(program)[0])
        tap.write(tap.tick(5))
        await until(lambda: "Live · 1" in _rows(program)[0])


async def test_a_changed_command_runs_only_once_it_is_approved(data_dir: Path, there: Path) -> None:
    tap = _begun(there)
    entry = {"name": "box", "command": [*stream_command(there)]}
    (data_dir / "machines.json").write_text(json.dumps({"machines": [entry]}))
    async with running(data_dir) as program:
        await until(lambda: bool(_rows(program)))
        assert _rows(program) == ["Watched · box, Stopped: Not approved"]
        program.window.commands.run(commands.MACHINE_CONNECT, "box")
        (dialog,) = program.window.findChildren(ConsentDialog)
        dialog.accept()
        await until(lambda: "Live" in _rows(program)[0])
    tap.end()


async def test_an_approval_is_kept_as_long_as_a_server_or_machine_has_it(data_dir: Path) -> None:
    command = ("/bin/sh", "-c", "exit 1")
    server = StdioDefinition(name="same", command=command[0], args=command[1:])
    async with running(data_dir) as program:
        approvals = program.servers.approvals
        program._machines._on_watch_requested("box", command)  # noqa: SLF001
        program.servers.saved.catalogue.add(CatalogueEntry(server))
        program.servers.refresh()
        program.window.commands.run(commands.MACHINE_REMOVE, "box")
        assert approvals.is_approved(server)
        program._machines._on_watch_requested("box", command)  # noqa: SLF001
        program.servers.saved.catalogue.remove("same")
        program.servers.refresh()
        approvals.forget(server)
        assert approvals.is_approved(server)
        program.window.commands.run(commands.MACHINE_REMOVE, "box")
        assert not approvals.is_approved(server)


async def test_a_file_that_cannot_be_read_is_not_overwritten(data_dir: Path, there: Path) -> None:
    (data_dir / "machines.json").write_text('{"machines": [')
    async with running(data_dir) as program:
        await until(lambda: "Cannot read the saved machines" in reported(program))
        program._machines._on_watch_requested("box", ("/bin/sh", "-c", "exit 1"))  # noqa: SLF001
        await until(lambda: "The machine is not saved" in reported(program))
        assert "Watched · box" in _rows(program)[0]
    assert (data_dir / "machines.json").read_text() == '{"machines": ['


def test_the_dialog_proposes_a_name_and_examples(appearance: object, qtbot: object) -> None:
    dialog = MachineDialog(appearance)  # type: ignore[arg-type]
    qtbot.addWidget(dialog)  # type: ignore[attr-defined]
    dialog.examples[0].click()
    assert dialog.command.selectedText() == "HOST"
    dialog.command.setText("ssh -p 22 ada@build.example mcp-progress-monitor tap stream")
    assert dialog.name.text() == "build.example"
    dialog.command.setText('ssh "')
    assert not dialog.watch.isEnabled()
