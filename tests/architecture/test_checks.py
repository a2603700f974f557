"""The source keeps the rules in ``checks``, and each check tells a bad sample from a good one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.architecture import checks
from tests.architecture.source import modules, parsed

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.architecture.source import Module

    Check = Callable[[Module], list[str]]

GUI = "app/mcp_progress_monitor/gui"
EVERYWHERE: list[Check] = [checks.loose_tasks, checks.too_long]
IN_THE_APPLICATION: list[Check] = [
    checks.nested_loops,
    checks.leaking_connections,
    checks.unescaped_tips,
]


@pytest.mark.parametrize("check", EVERYWHERE)
def test_the_repository_keeps_the_rule(check: Check) -> None:
    assert [e for m in modules("app", "tests", "packaging") for e in check(m)] == []


@pytest.mark.parametrize("check", IN_THE_APPLICATION)
def test_the_application_keeps_the_rule(check: Check) -> None:
    assert [e for m in modules("app") for e in check(m)] == []


def test_shipped_files_are_found_only_through_paths() -> None:
    # The demo servers import nothing of the application, so not paths either; and the program that
    # is started by its path imports nothing before it has found itself.
    finding = {"paths.py", "demo", "__main__.py"}
    asking = [m for m in modules("app") if m.path.parts[2] not in finding]

    assert [e for m in asking for e in checks.own_resource_paths(m)] == []


def test_one_module_spells_the_names_of_the_protocol() -> None:
    # The demo servers and the stdio tap import nothing of the application.
    speller, alone = "protocol/messages.py", {"demo", "tap"}
    others = [
        m
        for m in modules("app")
        if m.path.parts[2] not in alone and not m.path.as_posix().endswith(speller)
    ]

    assert [e for m in others for e in checks.wire_names(m)] == []


def test_no_modules_import_each_other_in_a_ring() -> None:
    assert checks.import_cycle(modules("app")) == []


def test_a_ring_of_imports_is_found_also_where_it_is_for_types_or_late() -> None:
    one = parsed("if TYPE_CHECKING:\n    from pkg import two", "app/pkg/one.py")
    two = parsed("def f():\n    import pkg.three", "app/pkg/two.py")
    three = parsed("from pkg.one import One", "app/pkg/three.py")
    ring = checks.import_cycle([one, two, three])
    assert set(ring) == {"pkg.one", "pkg.two", "pkg.three"}
    assert checks.import_cycle([one, two]) == []


def test_models_know_no_widgets() -> None:
    models = [m for m in modules(GUI) if checks.is_named(m, "model")]

    assert len(models) > 5
    assert [e for m in models for e in checks.widgets_in_models(m)] == []


def test_only_controllers_start_tasks() -> None:
    assert [e for m in modules(GUI) for e in checks.tasks_in_views(m)] == []


def test_a_controller_may_start_tasks_and_a_view_may_not() -> None:
    starting = "import anyio.to_thread\nfrom asyncio import run"
    for name in ("jobs/controller", "servers/doctor_controller", "aio", "lifetime"):
        assert checks.tasks_in_views(parsed(starting, f"{GUI}/{name}.py")) == []
    for name in ("jobs/pane", "jobs/controllers", "models"):
        assert len(checks.tasks_in_views(parsed(starting, f"{GUI}/{name}.py"))) > 1


BAD = [
    (checks.nested_loops, "dialog.exec()"),
    (checks.nested_loops, "self.menu.exec_(point)"),
    (checks.nested_loops, "QMessageBox(self).exec()"),
    (checks.leaking_connections, "button.clicked.connect(lambda: self.go())"),
    (checks.leaking_connections, "button.clicked.connect(partial(self.go, 1))"),
    (checks.leaking_connections, "button.clicked.connect(functools.partial(go, 1))"),
    (checks.leaking_connections, "def f():\n    def g(): ...\n    s.connect(g)"),
    (checks.leaking_connections, "def f():\n    g = lambda: 1\n    s.connect(g)"),
    (checks.leaking_connections, "def f():\n    async def g(): ...\n    s.connect(g)"),
    (checks.loose_tasks, "asyncio.create_task(work())"),
    (checks.loose_tasks, "asyncio.get_running_loop().create_task(work())"),
    (checks.loose_tasks, "loop.create_task(work())"),
    (checks.loose_tasks, "asyncio.ensure_future(work())"),
    (checks.loose_tasks, "@asyncSlot()\nasync def f(): ..."),
    (checks.loose_tasks, "@qasync.asyncSlot()\nasync def f(): ..."),
    (checks.too_long, "x = 1\n" * 801),
    (checks.own_resource_paths, "icon = Path(__file__).parent / 'icon.svg'"),
    (checks.own_resource_paths, "from importlib.resources import files"),
    (checks.own_resource_paths, "import importlib.resources"),
    (checks.unescaped_tips, "button.setToolTip(tip)"),
    (checks.unescaped_tips, "button.setToolTip('Remove {}'.format(name))"),
    (checks.unescaped_tips, "button.setToolTip(f'{tip} ({key})')"),
    (checks.unescaped_tips, "item.setToolTip(0, one_line(name, 200))"),
    (checks.unescaped_tips, "action.setStatusTip(why if why else '')"),
    (checks.unescaped_tips, "QToolTip.showText(event.globalPos(), index.data(), view)"),
    (checks.wire_names, "call('tools/call')"),
    (checks.wire_names, "params['_meta']"),
    (checks.wire_names, "KEY = b'\"progressToken\"'"),
    (checks.wire_names, "f'notifications/{kind}/list_changed'"),
    (checks.wire_names, "path = 'params._meta.progressToken'"),
    (checks.wire_names, "if method == 'initialize': ..."),
    (checks.wire_names, "key = 'io.modelcontextprotocol/related-task'"),
    (checks.widgets_in_models, "from PySide6.QtWidgets import QLabel"),
    (checks.widgets_in_models, "from PySide6 import QtGui"),
    (checks.widgets_in_models, "import PySide6.QtGui"),
    (checks.tasks_in_views, "def f():\n    import anyio"),
    (checks.tasks_in_views, "from asyncio import TaskGroup"),
]

GOOD = [
    (checks.nested_loops, "application.exec()\nself._application.execute()\nexec('1')"),
    (checks.leaking_connections, "def f(self):\n    button.clicked.connect(self._on_clicked)"),
    (checks.leaking_connections, "def go(): ...\nbutton.clicked.connect(go)"),
    (checks.leaking_connections, "sqlite3.connect(path)\nsqlite3.connect(str(path))"),
    (checks.loose_tasks, "self._group.create_task(work())\ngroup.start_soon(work)"),
    (checks.loose_tasks, "anyio.create_task_group()"),
    (checks.too_long, "x = 1\n" * 800),
    (
        checks.own_resource_paths,
        "from mcp_progress_monitor.paths import resource\nresource('icons/app.svg')",
    ),
    (checks.unescaped_tips, "button.setToolTip('')\nself.setToolTip('Go (F5)')"),
    (checks.unescaped_tips, "button.setToolTip(plain_tip('Remove {}'.format(name)))"),
    (checks.unescaped_tips, "QToolTip.showText(place, plain_tip(words), view)"),
    (checks.unescaped_tips, "b.setToolTip('On' if is_on else 'Off')"),
    (checks.wire_names, "call(CALL_TOOL)\nsay('tools/call was refused')"),
    (checks.wire_names, 'def f():\n    """Sends tools/call."""'),
    (checks.widgets_in_models, "from PySide6.QtCore import Qt\nfrom PySide6 import QtCore"),
    (checks.tasks_in_views, "from mcp_progress_monitor.gui.aio import BackgroundTasks"),
]


@pytest.mark.parametrize(("check", "text"), BAD)
def test_a_bad_sample_is_found(check: Check, text: str) -> None:
    assert check(parsed(text)) != []


@pytest.mark.parametrize(("check", "text"), GOOD)
def test_a_good_sample_passes(check: Check, text: str) -> None:
    assert check(parsed(text)) == []


def test_an_offence_says_where_it_is() -> None:
    found = checks.nested_loops(
        parsed("\n\ndialog.exec()", "app/mcp_progress_monitor/gui/calls/form.py")
    )

    assert found == ["app/mcp_progress_monitor/gui/calls/form.py:3: dialog.exec()"]
