"""What may be loaded where, seen by really loading it with the forbidden libraries taken away."""

import ast
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.architecture.source import APP, ROOT, modules

WITH_A_FACE = frozenset({"gui"})
_OFFSCREEN = "This plugin does not support propagateSizeHints()\n"

_LOAD = """
import importlib, sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"PySide6", "shiboken6", "qasync"}:
            raise ImportError(f"{name} is blocked")

sys.meta_path.insert(0, Blocked())
for name in sys.argv[1:]:
    importlib.import_module(name)
"""


def _load_without_qt(names: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return _run(_LOAD, *names)


def _run(code: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def _core_modules() -> list[str]:
    files = [f.relative_to(APP.parent).with_suffix("") for f in sorted(APP.rglob("*.py"))]
    return [
        ".".join(f.parts).removesuffix(".__init__")
        for f in files
        if f.parts[1] not in WITH_A_FACE and f.name != "__main__"
    ]


def test_the_core_and_the_command_line_load_where_qt_cannot_be_imported() -> None:
    names = _core_modules()
    done = _load_without_qt(names)

    assert {
        "mcp_progress_monitor.cli.entry",
        "mcp_progress_monitor.engine.engine",
        "mcp_progress_monitor.tracker",
    } <= set(names)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_blockade_stops_a_module_that_needs_qt() -> None:
    done = _load_without_qt(["mcp_progress_monitor.gui.aio"])

    assert done.returncode == 1
    assert "is blocked" in done.stderr


def test_the_window_and_sessions_load_nothing_that_few_need() -> None:
    code = (
        "import sys\n"
        "import mcp_progress_monitor.engine.engine\n"
        "import mcp_progress_monitor.gui.program\n"
        "import mcp_progress_monitor.cli.calls.call, mcp_progress_monitor.catalogue.writing\n"
        "late = {'httpx', 'httpx2', 'keyring', 'mcp', 'mcp_types', 'watchfiles',\n"
        "    'jsonschema_rs',\n"
        "    'tomlkit', 'jinja2', 'markupsafe'}\n"
        "sys.exit(' '.join(sorted(late & set(sys.modules))) or 0)"
    )
    done = _run(code)

    assert (done.returncode, done.stderr) == (0, "")


_PAINTED = """
import os, sys
from importlib.util import find_spec
from mcp_progress_monitor.cli import desktop, entry

def require_and_watch():
    require()
    from mcp_progress_monitor.gui.startup import WindowStartup
    paint = WindowStartup.paint

    def paint_and_look(opening):
        paint(opening)
        loaded = set(sys.modules)
        assert opening.window.isVisible() and not opening.window.isMinimized()
        assert all(find_spec(name) for name in late), "a name of what is no module"
        sys.stderr.write(" ".join(sorted(late & loaded)))
        sys.stderr.flush()
        os._exit(7)

    WindowStartup.paint = paint_and_look

late = set(sys.argv[2:])
require, desktop.require_toolkit = desktop.require_toolkit, require_and_watch
entry.main(["--data-dir", sys.argv[1]])
"""
_OF_LOOPS = ("asyncio", "qasync", "anyio._core._synchronization", "ssl", "concurrent.futures")
_AFTER_PAINTING = (
    *("pydantic", "filelock", "regex", "lark", "statistics", "difflib", "html", "msgspec"),
    *("sqlite3", "hmac", "logging.handlers", "PySide6.QtNetwork"),
    *_OF_LOOPS,
)
_OURS_AFTER_PAINTING = (
    *("engine.engine", "gui.aio", "gui.program", "tracker.tracker", "store.resumes"),
    *("cli.calls.target", "exports.secret_patterns", "file_association", "program_log"),
    *("filtering.language", "filtering.search", "sessions.transport.stdio"),
    *("sessions.connection.manager", "sessions.connection.session"),
    *("sessions.connection.connection", "gui.jobs.pane", "gui.console.pane"),
    *("gui.server_log.pane", "gui.questions.panel", "gui.traffic.details"),
    *("gui.traffic.filter_help", "gui.calls.form"),
)


def test_what_an_empty_window_does_not_need_is_loaded_once_it_is_painted(tmp_path: Path) -> None:
    ours = (f"mcp_progress_monitor.{name}" for name in _OURS_AFTER_PAINTING)
    arguments = (str(tmp_path), *_AFTER_PAINTING, *ours)
    done = _run(_PAINTED, *arguments, QT_QPA_PLATFORM="offscreen", QT_LOGGING_RULES="*=false")

    assert (done.returncode, done.stderr.replace(_OFFSCREEN, "")) == (7, "")


_LISTED = """
import sys, tempfile
from importlib.util import find_spec
from mcp_progress_monitor.cli.entry import main
with tempfile.TemporaryDirectory() as folder:
    code = main([*sys.argv[2:], *(["--data-dir", folder] if "--help" not in sys.argv else [])])
unwanted = sys.argv[1].split()
assert all(find_spec(name) for name in unwanted), "a name of what is no module"
sys.exit(" ".join(name for name in unwanted if name in sys.modules) or code)
"""
_OF_ENGINE = (
    "engine.engine", "engine.calls", "engine.requests", "recording.recorder", "tracker.tracker",
    "checking.judge", "sessions.connection.session", "sessions.connection.manager",
    "sessions.transport.stdio", "cli.calls.visit", "cli.calls.call",
    "cli.asking.asker", "cli.output.front",
)  # fmt: skip
_OF_SERVERS = ("catalogue.catalogue", "catalogue.reading", "snapshots.definitions")
_OF_SAVED_JOBS = ("store.resumes", "sqlite3", "filelock", "asyncio")
_NOT_OF_VISITS = (
    *("checking.judge", "sessions.doctor", "catalogue.reading", "catalogue.catalogue"),
    *("sessions.transport.http.client", "exports.secret_patterns", "cli.asking.answer_file"),
    *("catalogue.trust", "cli.asking.approval", "engine.followed_tap", "recording.reader"),
)
_NOT_OF_LISTS = (
    *("catalogue.reading", "protocol.outline", "anyio.to_thread", "msgspec", "tomllib"),
    "importlib.metadata",  # pydantic reads it for plugins
)
_HEAVY = (
    "pydantic", "pydantic_core", "mcp", "mcp_types", "httpx2", "PySide6", "jsonschema_rs", "rich",
    "regex", "lark", "jinja2", "watchfiles", "keyring", "tomlkit",
)  # fmt: skip

_OF_NO_MODEL = tuple(name for name in _HEAVY if not name.startswith("pydantic"))
_OF_NO_CALL = tuple(name for name in _OF_NO_MODEL if name != "jsonschema_rs")  # checks arguments


@pytest.mark.parametrize(
    ("arguments", "unwanted"),
    [
        (["--help"], (*_HEAVY, *_OF_ENGINE, *_OF_SERVERS, *_OF_SAVED_JOBS, "anyio", "logging")),
        (["call", "--help"], (*_HEAVY, *_OF_ENGINE, *_OF_SERVERS, *_OF_SAVED_JOBS, "anyio")),
        (["servers", "list"], (*_OF_NO_MODEL, *_OF_ENGINE, *_OF_SAVED_JOBS, *_NOT_OF_LISTS)),
        (["resume", "--list"], (*_HEAVY, *_OF_ENGINE, *_OF_SERVERS)),
        (["tools", "--demo"], (*_OF_NO_MODEL, *_NOT_OF_VISITS, "sqlite3", "tomllib")),
        (["call", "--demo", "burst", "--arg", "count=1"], (*_OF_NO_CALL, *_NOT_OF_VISITS)),
    ],
    ids=["help", "help of call", "servers list", "resume --list", "tools", "call"],
)
def test_a_command_loads_only_what_it_uses(arguments: list[str], unwanted: tuple[str, ...]) -> None:
    """Each of these costs from 10 to 150 ms of a command that takes 150 in all."""
    outside = {*_HEAVY, *_OF_SAVED_JOBS, "anyio", "anyio.to_thread", "logging", "msgspec"}
    outside = outside - {"store.resumes"} | {"importlib.metadata", "tomllib"}
    names = [name if name in outside else f"mcp_progress_monitor.{name}" for name in unwanted]
    done = _run(_LISTED, " ".join(names), *arguments)

    assert done.returncode == 0, done.stderr


def test_modules_are_imported_without_reading_their_source() -> None:
    code = (
        "import builtins, sys\n"
        "from mcp_progress_monitor.cli.desktop import require_toolkit\n"
        "require_toolkit()\n"
        "sys.exit(0 if builtins.__import__ is builtins.__orig_import__ else 'PySide6 imports')"
    )
    done = _run(code, QT_QPA_PLATFORM="offscreen")

    assert (done.returncode, done.stderr) == (0, "")


def test_the_demo_servers_need_the_standard_library_alone() -> None:
    demo = modules("app/mcp_progress_monitor/demo")
    foreign = {
        f"{module.path}: {name}"
        for module in demo
        for name in module.imported
        if name.partition(".")[0] not in sys.stdlib_module_names
        and not name.startswith("mcp_progress_monitor.demo")
    }

    assert len(demo) > 1
    assert foreign == set()


def test_only_what_assembles_the_window_knows_it() -> None:
    # Controllers get the pane that they serve: see the contract rooms-apart.
    knowing = {
        module.path.stem
        for module in modules("app")
        for node in module.nodes
        if isinstance(node, ast.ImportFrom)
        and node.module == "mcp_progress_monitor.gui.main_window"
    }
    assert knowing == {"navigation", "program", "recording_program", "startup", "window_program"}
