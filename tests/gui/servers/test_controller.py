"""Saved servers in the whole program: nothing runs before consent, edits of the file are seen."""

import json
import os
import sys
from pathlib import Path

import pytest
from PySide6.QtWidgets import QMessageBox

from mcp_progress_monitor.catalogue.trust import Trust
from mcp_progress_monitor.engine.call import Call
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.gui.launch_options import WindowOptions
from mcp_progress_monitor.gui.program import Program
from mcp_progress_monitor.gui.servers import commands as on_servers
from mcp_progress_monitor.gui.servers.draft import EnteredValue, ValueKind
from mcp_progress_monitor.gui.servers.editor import ServerEditor
from mcp_progress_monitor.gui.window_commands import ADD_COMMAND
from mcp_progress_monitor.snapshots.definitions import StdioDefinition, demo_definition
from mcp_progress_monitor.snapshots.servers import ServerState
from tests.gui.programs import application, until, until_quit
from tests.gui.saved import (
    approve,
    asked,
    demo_entry,
    names_shown,
    reported,
    running,
    save,
    state,
    written_by,
)

pytestmark = pytest.mark.anyio


async def test_an_empty_start_makes_no_file_of_servers(data_dir: Path) -> None:
    async with running(data_dir) as program:
        assert program.window.welcome.isVisible()
    assert not (data_dir / "servers.json").exists()
    assert not (data_dir / "trusted-servers.json").exists()


async def test_a_command_from_a_file_runs_only_after_consent(
    data_dir: Path, tmp_path: Path
) -> None:
    mark = tmp_path / "ran"
    save(data_dir, evil=written_by(mark))
    async with running(data_dir) as program:
        program.window.commands.run(on_servers.CONNECT, "evil")
        await until(lambda: bool(asked(program)))
        with pytest.raises(UserError, match="not approved this server"):
            await program.engine.servers.connect("evil")
        with pytest.raises(UserError, match="not approved this server"):
            await program.engine.servers.restart("evil")
        assert not mark.exists()
        assert state(program, "evil") is ServerState.IDLE
        asked(program)[0].reject()
        assert not mark.exists()
        program.window.commands.run(on_servers.CONNECT, "evil")
        await until(lambda: bool(asked(program)))
        approve(asked(program)[0])
        await until(mark.exists)
        await until(lambda: not state(program, "evil").is_up)


async def test_what_was_approved_runs_after_a_restart_of_the_program_without_a_question(
    data_dir: Path,
) -> None:
    save(data_dir, demo=demo_entry(connectAtStart=True))
    async with running(data_dir) as program:
        await until(lambda: bool(asked(program)))
        assert state(program, "demo") is ServerState.IDLE
        approve(asked(program)[0])
        await until(lambda: state(program, "demo") is ServerState.CONNECTED)
    async with running(data_dir) as program:
        await until(lambda: state(program, "demo") is ServerState.CONNECTED)
        assert asked(program) == []


async def test_a_changed_command_asks_again_and_the_server_goes_on_as_it_was(
    data_dir: Path, tmp_path: Path
) -> None:
    mark = tmp_path / "ran"
    save(data_dir, demo=demo_entry(connectAtStart=True))
    async with running(data_dir) as program:
        await until(lambda: bool(asked(program)))
        approve(asked(program)[0])
        await until(lambda: state(program, "demo") is ServerState.CONNECTED)
        save(data_dir, demo=written_by(mark))
        await until(lambda: "takes effect when the server is connected again" in reported(program))
        assert state(program, "demo") is ServerState.CONNECTED
        program.window.commands.run(on_servers.RESTART, "demo")
        await until(lambda: bool(asked(program)))
        assert state(program, "demo") is ServerState.CONNECTED
        asked(program)[0].reject()
        await program.engine.servers.restart("demo")  # whoever does so: it is the command agreed to
        assert state(program, "demo") is ServerState.CONNECTED
        assert not mark.exists()
        program.window.commands.run(on_servers.RESTART, "demo")
        await until(lambda: bool(asked(program)))
        approve(asked(program)[0])
        await until(mark.exists)


async def test_an_open_question_follows_the_file_of_servers(data_dir: Path, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    save(data_dir, demo=demo_entry())
    async with running(data_dir) as program:
        program.window.commands.run(on_servers.CONNECT, "demo")
        await until(lambda: bool(asked(program)))
        (dialog,) = asked(program)
        save(data_dir, demo=written_by(mark))
        await until(lambda: "demo was changed" in dialog.news.text())
        assert "write_text" in str(dialog.definitions)
        save(data_dir)
        await until(lambda: "demo was removed" in dialog.news.text())
        assert dialog.definitions == ()
        dialog.reject()
    assert not mark.exists()


async def test_a_server_without_approval_does_not_reconnect_with_another_command(
    data_dir: Path, tmp_path: Path
) -> None:
    mark = tmp_path / "ran"
    soon = {"restart": {"firstDelay": 0.01, "longestDelay": 0.01}}
    save(data_dir, demo=demo_entry(connectAtStart=True, **soon))
    async with running(data_dir) as program:
        await until(lambda: bool(asked(program)))
        approve(asked(program)[0])
        await until(lambda: state(program, "demo") is ServerState.CONNECTED)
        approved = program.engine.servers.newest("demo")
        save(data_dir, demo={**written_by(mark), "mcpProgressMonitor": soon})
        await until(lambda: "takes effect when the server is connected again" in reported(program))
        program.servers.approvals.forget(approved)  # kept as long as a saved server has it
        pid = program.engine.servers.snapshot("demo").pid
        assert pid is not None
        os.kill(pid, 9)
        await until(lambda: state(program, "demo") is ServerState.FAILED)
        await until(lambda: program.engine.servers.snapshot("demo").retry is None)
        assert not mark.exists()
        # Nor by what is connected with no wish of the window's.
        save(data_dir)
        await until(lambda: "demo" not in program.engine.servers.names())
        program.engine.servers.add(StdioDefinition(name="demo", **written_by(mark)))
        with pytest.raises(UserError, match="not approved this server"):
            await program.engine.servers.connect("demo")
        assert not mark.exists()


async def test_servers_that_others_add_to_the_file_and_take_out_of_it_are_noticed(
    data_dir: Path,
) -> None:
    async with running(data_dir) as program:
        save(data_dir, one=demo_entry(), two=demo_entry(disabled=True))
        await until(lambda: names_shown(program) == ["one", "two"])
        assert program.engine.servers.names() == ("one",)
        save(data_dir, two=demo_entry())
        await until(lambda: names_shown(program) == ["two"])
        assert program.engine.servers.names() == ("two",)
        assert reported(program) == ""


async def test_a_file_that_names_no_server_any_more_is_reported(data_dir: Path) -> None:
    save(data_dir, one=demo_entry(), two=demo_entry())
    async with running(data_dir) as program:
        save(data_dir)
        await until(lambda: names_shown(program) == [])
        assert "Removed: one, two." in reported(program)


@pytest.mark.skipif(sys.platform == "win32", reason="rights of POSIX")
async def test_consents_that_others_could_have_given_are_reported_and_asked_for_again(
    data_dir: Path,
) -> None:
    save(data_dir, demo=demo_entry(connectAtStart=True))
    Trust(data_dir / "trusted-servers.json").approve(demo_definition())
    (data_dir / "trusted-servers.json").chmod(0o666)
    async with running(data_dir) as program:
        await until(lambda: bool(asked(program)))
        assert state(program, "demo") is ServerState.IDLE
        await until(lambda: "other users can write to it" in reported(program))


async def test_a_file_that_is_broken_meanwhile_is_reported_and_changes_nothing(
    data_dir: Path,
) -> None:
    save(data_dir, one=demo_entry())
    broken = '{"mcpServers": {"one": }}'
    async with running(data_dir) as program:
        (data_dir / "servers.json").write_text(broken)
        await until(lambda: "line 1" in reported(program))
        assert names_shown(program) == ["one"]
        program.servers.clone("one")
        assert (data_dir / "servers.json").read_text() == broken


async def test_a_disabled_server_is_listed_and_never_connected(
    data_dir: Path, tmp_path: Path
) -> None:
    mark = tmp_path / "ran"
    off = {**written_by(mark), "mcpProgressMonitor": {"disabled": True, "connectAtStart": True}}
    save(data_dir, off=off)
    async with running(data_dir) as program:
        assert names_shown(program) == ["off"]
        program.servers.connect_server("off")
        assert "disabled" in reported(program)
        assert asked(program) == []
        assert not mark.exists()


async def test_disabling_ends_a_server_and_enabling_lists_it_again(data_dir: Path) -> None:
    async with running(data_dir, demo_definition()) as program:
        await until(lambda: state(program, "demo") is ServerState.CONNECTED)
        program.window.commands.run(on_servers.KEEP, "demo")
        assert list(program.servers.saved.entries) == ["demo"]
        program.window.commands.run(on_servers.DISABLE, "demo")
        await until(lambda: "demo" not in program.engine.servers.names())
        assert names_shown(program) == ["demo"]
        program.window.commands.run(on_servers.ENABLE, "demo")
        await until(lambda: "demo" in program.engine.servers.names())
        assert state(program, "demo") is ServerState.IDLE


async def test_servers_of_the_command_line_are_connected_and_not_saved(data_dir: Path) -> None:
    async with running(data_dir, demo_definition()) as program:
        await until(lambda: state(program, "demo") is ServerState.CONNECTED)
        assert asked(program) == []
    assert not (data_dir / "servers.json").exists()


async def test_a_saved_server_named_on_the_command_line_is_that_one(data_dir: Path) -> None:
    save(data_dir, demo=demo_entry())
    async with running(data_dir, demo_definition()) as program:
        await until(lambda: state(program, "demo") is ServerState.CONNECTED)
        assert program.engine.servers.names() == ("demo",)


async def test_adding_a_server_saves_trusts_and_connects_it(data_dir: Path) -> None:
    demo = demo_definition()
    async with running(data_dir) as program:
        program.window.do[ADD_COMMAND].trigger()
        (editor,) = program.window.findChildren(ServerEditor)
        editor.server.command.setText(f"{demo.command} {' '.join(demo.args)}")
        editor.server.name.setText("mine")
        editor.server.at_start.setChecked(True)
        for name, value in demo.env.items():
            editor.server.variables.add_button.click()
            row = editor.server.variables.rows()[-1]
            row.name.setText(name)
            row.value.setText(value)
        editor.connect_button.click()
        await until(lambda: "mine" in program.engine.servers.names())
        await until(lambda: state(program, "mine") is ServerState.CONNECTED)
        assert asked(program) == []
        await until(lambda: not program.window.findChildren(ServerEditor))
    async with running(data_dir) as program:
        await until(lambda: state(program, "mine") is ServerState.CONNECTED)


async def test_what_is_edited_while_connected_counts_from_the_next_connection(
    data_dir: Path,
) -> None:
    async with running(data_dir, demo_definition()) as program:
        await until(lambda: state(program, "demo") is ServerState.CONNECTED)
        program.window.commands.run(on_servers.EDIT, "demo")
        (editor,) = program.window.findChildren(ServerEditor)
        editor.server.command.setText(editor.server.command.text() + " --era handshake")
        editor.save_button.click()
        await until(lambda: "next connection" in reported(program))
        assert state(program, "demo") is ServerState.CONNECTED
        assert program.servers.saved.entries["demo"].definition.address.endswith("handshake")
        program.window.commands.run(on_servers.RESTART, "demo")
        await until(
            lambda: "handshake" in program.engine.servers.snapshot("demo").definition.address
        )
        await until(lambda: state(program, "demo") is ServerState.CONNECTED)
        assert asked(program) == []


async def test_a_connected_server_is_not_renamed_and_the_editor_says_why(data_dir: Path) -> None:
    async with running(data_dir, demo_definition()) as program:
        await until(lambda: state(program, "demo") is ServerState.CONNECTED)
        program.catalogue_dialogs.edit("demo")
        (editor,) = program.window.findChildren(ServerEditor)
        editor.server.name.setText("other")
        editor.save_button.click()
        await until(lambda: "Cannot rename" in editor.note.text())
        assert editor.isVisible()
        await program.engine.servers.disconnect("demo")
        editor.save_button.click()
        await until(lambda: program.engine.servers.names() == ("other",))
        assert names_shown(program) == ["other"]


async def test_a_keyring_that_fails_keeps_the_editor_open(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_name: str, _secret: str) -> None:
        raise UserError(ErrorDetails("The keyring is locked"))

    async with running(data_dir) as program:
        monkeypatch.setattr(program.servers.keyring, "get", {}.get)
        monkeypatch.setattr(program.servers.keyring, "put", refuse)
        program.catalogue_dialogs.ask_for_command()
        (editor,) = program.window.findChildren(ServerEditor)
        editor.server.command.setText("some-server")
        editor.server.variables.add(EnteredValue("A", ValueKind.KEYRING)).value.setText("hush")
        editor.save_button.click()
        await until(lambda: "The keyring is locked" in editor.note.text())
        assert editor.isVisible()
        assert program.engine.servers.names() == ()
    assert not (data_dir / "servers.json").exists()


async def test_servers_are_put_in_another_order(data_dir: Path) -> None:
    save(data_dir, one=demo_entry(), two=demo_entry(), three=demo_entry())
    async with running(data_dir) as program:
        program.servers.move("three", 0)
        assert names_shown(program) == ["three", "one", "two"]
    async with running(data_dir) as program:
        assert names_shown(program) == ["three", "one", "two"]


async def test_a_saved_server_is_removed_only_when_that_is_meant(data_dir: Path) -> None:
    save(data_dir, one=demo_entry())
    async with running(data_dir) as program:
        program.window.commands.run(on_servers.REMOVE, "one")
        (question,) = program.window.findChildren(QMessageBox)
        assert names_shown(program) == ["one"]
        question.accept()
        await until(lambda: names_shown(program) == [])
    assert json.loads((data_dir / "servers.json").read_text())["mcpServers"] == {}


async def test_a_removed_server_is_back_in_its_place_and_approved_once_that_is_undone(
    data_dir: Path,
) -> None:
    async with running(data_dir, demo_definition()) as program:
        await until(lambda: state(program, "demo") is ServerState.CONNECTED)
        program.window.commands.run(on_servers.KEEP, "demo")
        program.window.commands.run(on_servers.CLONE, "demo")
        before = names_shown(program)
        program.settings.stop_asking("remove")
        program.window.commands.run(on_servers.REMOVE, "demo")
        await until(lambda: program.undo.text == "Removed demo.")
        await until(lambda: len(names_shown(program)) == len(before) - 1)
        program.undo.undo()
        await until(lambda: names_shown(program) == before)
        program.window.commands.run(on_servers.CONNECT, "demo")
        await until(lambda: state(program, "demo") is ServerState.CONNECTED)
        assert asked(program) == []


async def test_a_removed_server_of_this_run_is_back_once_that_is_undone(data_dir: Path) -> None:
    async with running(data_dir, demo_definition()) as program:
        program.window.commands.run(on_servers.REMOVE, "demo")
        await until(lambda: program.undo.text == "Removed demo.")
        await until(lambda: names_shown(program) == [])
        program.undo.undo()
        await until(lambda: names_shown(program) == ["demo"])
        assert program.servers.saved.entries == {}


async def test_secrets_that_only_a_removed_server_used_go_from_the_keyring_when_that_is_wanted(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = {name: f"${{keyring:{name}}}" for name in ("own", "shared", "for-now")}
    one = {"command": "c", "env": env}
    save(data_dir, one=one, two={"command": "c", "env": {"S": "${keyring:shared}"}})
    for_now = StdioDefinition(name="now", command="no-such", env={"S": "${keyring:for-now}"})
    forgotten: list[str] = []
    async with running(data_dir, for_now) as program:
        monkeypatch.setattr(program.servers.keyring, "forget", forgotten.append)
        program.window.commands.run(on_servers.REMOVE, "one")
        (question,) = program.window.findChildren(QMessageBox)
        question.checkBox().setChecked(True)
        question.accept()
        await until(lambda: bool(forgotten))
        program.servers.remove("two", ("another",))
        await until(lambda: names_shown(program) == ["now"])
    assert forgotten == ["own"]


async def test_a_file_of_the_command_line_asks_only_for_what_is_new(
    data_dir: Path, tmp_path: Path
) -> None:
    config = tmp_path / "mcp.json"
    options = WindowOptions(data_dir=data_dir, definitions=(demo_definition(),), config=config)
    async with until_quit(Program(application(), options)) as program:
        await until(lambda: bool(asked(program)))
        assert program.engine.servers.names() == ()
        approve(asked(program)[0])
        await until(lambda: state(program, "demo") is ServerState.CONNECTED)
    async with until_quit(Program(application(), options)) as program:
        await until(lambda: state(program, "demo") is ServerState.CONNECTED)
        assert asked(program) == []
        assert program.servers.saved.entries == {}


async def test_a_file_of_the_command_line_does_not_start_a_saved_server_of_its_name(
    data_dir: Path, tmp_path: Path
) -> None:
    mark = tmp_path / "ran"
    save(data_dir, demo=written_by(mark))
    config = tmp_path / "mcp.json"
    options = WindowOptions(data_dir=data_dir, definitions=(demo_definition(),), config=config)
    async with until_quit(Program(application(), options)) as program:
        await until(lambda: bool(asked(program)))
        approve(asked(program)[0])
        await until(lambda: len(program.engine.servers.names()) == 2)
        saved, for_now = program.engine.servers.names()
        await until(lambda: state(program, for_now) is ServerState.CONNECTED)
        assert state(program, saved) is ServerState.IDLE
        assert not mark.exists()


async def test_a_job_that_is_issued_again_runs_nothing_that_was_not_approved(
    data_dir: Path, tmp_path: Path
) -> None:
    mark = tmp_path / "ran"
    async with running(data_dir, demo_definition()) as program:
        await until(lambda: state(program, "demo") is ServerState.CONNECTED)
        params = {"name": "no_such_tool", "arguments": {}}
        await program.engine.calls.make(Call(server="demo", method="tools/call", params=params))
        (job,) = program.engine.jobs.ids()
        program.window.commands.run(on_servers.REMOVE, "demo")
        await until(lambda: not program.engine.servers.names())
        save(data_dir, demo=written_by(mark))
        await until(lambda: program.engine.servers.names() == ("demo",))
        with pytest.raises(UserError, match="not approved this server"):
            await program.engine.calls.reissue(job)
        assert not mark.exists()
