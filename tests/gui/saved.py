"""A program on a folder with saved servers, and what is seen of them in it."""

import json
import sys
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from mcp_progress_monitor.gui.launch_options import WindowOptions
from mcp_progress_monitor.gui.program import Program
from mcp_progress_monitor.gui.servers.consent import ConsentDialog
from mcp_progress_monitor.gui.servers.model import ROW
from mcp_progress_monitor.snapshots.definitions import ServerDefinition, demo_definition
from mcp_progress_monitor.snapshots.servers import ServerState
from tests.gui.programs import application, until_quit


def running(folder: Path, *definitions: ServerDefinition) -> AbstractAsyncContextManager[Program]:
    """A program on `folder`, until the block ends."""
    return until_quit(
        Program(application(), WindowOptions(data_dir=folder, definitions=definitions))
    )


def written_by(mark: Path, name: str = "evil") -> dict[str, Any]:
    """The entry of a command that shows that it ran by writing a file."""
    code = f"import pathlib; pathlib.Path({str(mark)!r}).write_text({name!r})"
    return {"command": sys.executable, "args": ["-c", code]}


def demo_entry(**extras: object) -> dict[str, Any]:
    """The demo server as it stands in the file of saved servers."""
    demo = demo_definition()
    entry = {"command": demo.command, "args": list(demo.args), "env": dict(demo.env)}
    return {**entry, "mcpProgressMonitor": extras} if extras else entry


def save(folder: Path, **servers: object) -> None:
    """Write the file as another program does."""
    (folder / "servers.json").write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")


def reported(program: Program) -> str:
    return "\n".join(error.as_text() for error in program.window.notices.errors())


def asked(program: Program) -> list[ConsentDialog]:
    return [each for each in program.window.findChildren(ConsentDialog) if each.isVisible()]


def state(program: Program, name: str) -> ServerState:
    return program.engine.servers.snapshot(name).state


def names_shown(program: Program) -> list[str]:
    view = program.window.servers.view
    rows = view.model().rowCount()
    return [view.model().index(row, 0).data(ROW).name for row in range(rows)]


def approve(dialog: ConsentDialog) -> None:
    dialog.accept()
