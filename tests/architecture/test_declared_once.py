"""What comes in kinds is declared once: a new kind is found wherever kinds are listed.

Each test declares a fake kind in a process of its own, before anything reads the declarations.
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from mcp_progress_monitor.exports.formats import FORMATS
from tests.architecture.source import ROOT

_PREPARED = """
import json, sys
sys.path.insert(0, "packaging")
import click
from PySide6.QtWidgets import QApplication, QWidget
"""
_FORMAT = """
from mcp_progress_monitor.exports import formats
def pieces(export):
    yield b"all of it"
fake = formats.ExportFormat("fake", "Everything as fake", "a fake", "all of it", pieces)
formats.FORMATS = (*formats.FORMATS, fake)

import reference
from mcp_progress_monitor.cli.entry import main
application = QApplication(["test"])
from mcp_progress_monitor.gui.export_controller import ExportDialog, session_forms
code = main(["export", sys.argv[1], "--format", "fake", "-o", sys.argv[2]])
window = QWidget()
dialog = ExportDialog("Export", "name", session_forms("title", None), window)
print(json.dumps({
    "code": code,
    "manual": reference.command_line(),
    "dialog": dialog.nameFilters(),
}))
"""
_CLIENT = """
from mcp_progress_monitor.catalogue import clients
def write(entry):
    return {**entry.common(), "fake": True}
fake = clients.McpClient(
    "fake", "Fake Agent", next_step="Press F.", places=("{home}/.fake/agent.json",),
    container="fakeServers", write=write,
)
clients.KNOWN = (*clients.KNOWN, fake)
clients.FORMS = (*clients.FORMS, fake)

import io, reference
from pathlib import Path
from mcp_progress_monitor.cli.entry import main
file = Path.home() / ".fake" / "agent.json"
file.parent.mkdir()
file.write_text('{"fakeServers": {"a": {"command": "npx"}}}')
def said(*words):
    sys.stdout = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    main(words)
    sys.stdout.seek(0)
    said, sys.stdout = sys.stdout.read(), sys.__stdout__
    return said
listed = said("tap", "install")
shown = said("tap", "install", "fake", "--all", "--dry-run")
imported = said("servers", "import", str(file), "--all")
exported = said("servers", "export", "--client", "fake")
changed = said("tap", "install", "fake", "--all")
print(json.dumps({
    "listed": listed, "shown": shown, "imported": imported, "exported": exported,
    "changed": changed,
    "tapped": file.read_text(), "manual": reference.clients(), "commands": reference.command_line(),
}))
"""
_OPTION = """
from mcp_progress_monitor.cli import orders
class CallOrder(orders.CallOrder):
    fake = orders.option("--fake", metavar="X", help="Do a fake.")
orders.CallOrder = CallOrder

import reference
from mcp_progress_monitor.cli import entry
from mcp_progress_monitor.cli.calls import call
given = []
call.call_tool = lambda invocation, order: given.append(order.fake) or 0
entry.main(["call", "--demo", "burst", "--fake", "7"])
entry.main(["call", "--demo", "burst"])
print(json.dumps({"given": given, "manual": reference.command_line()}))
"""
_FIELD = """
from mcp_progress_monitor.filtering import fields
from mcp_progress_monitor.protocol.frames import FrameKind
fields.FIELDS["fake"] = fields.FieldDefinition(
    "fake", fields.FieldType.TEXT, "name of the called tool",
    members=fields.Members((FrameKind.REQUEST,), (("params", "name"),)),
)

import reference
from mcp_progress_monitor.cli.entry import main
from mcp_progress_monitor.filtering.completion import complete
recording, wanted, target = sys.argv[1:]
code = main(["export", recording, "--format", "jsonl", "--filter", wanted, "-o", target])
print(json.dumps({
    "code": code,
    "manual": reference.filter_fields(),
    "offered": [each.text for each in complete("fa", 2, None).candidates],
}))
"""


def found_by(script: str, *arguments: str) -> dict[str, Any]:
    """What a script prints as JSON, in a process of its own."""
    command = [sys.executable, "-c", f"{_PREPARED}{script}", *arguments]
    ran = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE)
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def test_an_export_format_is_declared_once(tmp_path: Path) -> None:
    recording = next((ROOT / "tests" / "recordings").rglob("*.mcprec"))
    target = tmp_path / "all.fake"
    found = found_by(_FORMAT, str(recording), str(target))

    assert found["code"] == 0
    assert target.read_bytes() == b"all of it"
    assert "fake|parquet|mcprec]" in found["manual"].replace("\\", "")
    assert "a fake (all of it)" in found["manual"]
    assert "Everything as fake (*.fake)" in found["dialog"]
    assert "Everything as fake, including secrets (*.fake)" in found["dialog"]


def test_the_manual_describes_each_export_format() -> None:
    page = (ROOT / "docs" / "recordings.md").read_text("utf-8")

    assert set(re.findall(r"^- `(\w+)`: ", page, re.MULTILINE)) == {form.key for form in FORMATS}


def test_a_client_is_declared_once(isolated_home: Path) -> None:
    found = found_by(_CLIENT)

    assert "Fake Agent  a" in found["listed"]
    assert "Fake Agent" in found["shown"]
    assert "a" in found["imported"]
    assert '"fake": true' in found["exported"]
    assert "Press F." in found["changed"]
    assert " tap " in (isolated_home / ".fake" / "agent.json").read_text()
    assert "| Fake Agent | `fake` | Press F. |" in found["manual"]
    assert "fake]" in found["commands"]


def test_an_option_is_declared_once() -> None:
    found = found_by(_OPTION)

    assert found["given"] == ["7", None]
    assert "| `--fake X` | Do a fake. |" in found["manual"]


def test_a_field_of_messages_is_declared_once(tmp_path: Path) -> None:
    recording, target = ROOT / "tests" / "recordings" / "version-2.mcprec", tmp_path / "calls.jsonl"
    found = found_by(_FIELD, str(recording), "fake matches '.'", str(target))

    assert found["code"] == 0
    assert all(json.loads(line)["kind"] == "request" for line in target.read_text().splitlines())
    assert target.stat().st_size > 0
    assert "| `fake` | name of the called tool |" in found["manual"]
    assert "fake" in found["offered"]
