"""Saved servers and those of files, as a user meets them: nothing runs before somebody agrees."""

import json
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.integration.commands import DEMO, ROOT, linux_only, run
from tests.integration.terminals import Terminal
from tests.patience import PATIENCE_S

MARKER = "import sys, pathlib; pathlib.Path(sys.argv[1]).touch()"


@pytest.fixture
def demo_file(tmp_path: Path) -> Path:
    """A configuration with the demo server, and another one whose running leaves a trace."""
    file = tmp_path / "mcp.json"
    servers = {
        "demo": {"command": DEMO[0], "args": DEMO[1:]},
        "evil": {"command": DEMO[0], "args": ["-c", MARKER, str(tmp_path / "ran")]},
    }
    file.write_text(json.dumps({"mcpServers": servers}))
    return file


def test_a_file_runs_nothing_before_consent_and_what_was_approved_afterwards(
    demo_file: Path, data_dir: Path
) -> None:
    options = ("--config", str(demo_file), "--data-dir", str(data_dir))
    for command in (("tools",), ("call", "burst")):
        ran = run(*command, "--server", "evil", *options)
        assert ran.code == 2
        assert "have not approved" in ran.err
    assert not (demo_file.parent / "ran").exists()
    assert run("servers", "trust", "demo", "--yes", *options).code == 0
    assert run("tools", "--server", "demo", *options).code == 0
    assert run("tools", "--server", "evil", *options).code == 2
    demo_file.write_text(
        demo_file.read_text().replace(
            '"mcp_progress_monitor.demo"', '"mcp_progress_monitor.demo", "--x"'
        )
    )
    assert run("tools", "--server", "demo", *options).code == 2


def test_the_command_that_is_reported_is_the_one_that_helps(
    demo_file: Path, data_dir: Path
) -> None:
    options = ("--config", str(demo_file), "--data-dir", str(data_dir))
    advice = run("tools", "--server", "demo", *options).err.splitlines()[-1]
    typed = [*shlex.split(advice.partition("approve it: ")[2]), "--yes"]
    assert subprocess.run(typed, cwd=ROOT, timeout=PATIENCE_S, check=False).returncode == 0
    assert run("tools", "--server", "demo", *options).code == 0


def test_an_import_a_consent_and_a_call(demo_file: Path, data_dir: Path) -> None:
    folder = ("--data-dir", str(data_dir))
    imported = run("servers", "import", str(demo_file), "demo", *folder)
    assert imported.code == 0
    assert run("call", "--server", "demo", "burst", "--arg", "count=3", *folder).code == 2
    assert run("servers", "trust", "demo", "--yes", *folder).code == 0
    called = run("call", "--server", "demo", "burst", "--arg", "count=3", "--json", *folder)
    assert called.code == 0
    assert len(called.only("progress")) == 3


def test_what_is_added_by_hand_is_used_at_once(data_dir: Path) -> None:
    folder = ("--data-dir", str(data_dir))
    assert run("servers", "add", "mine", *folder, "--", *DEMO).code == 0
    assert "burst" in run("tools", "--server", "mine", *folder).out
    assert run("servers", "disable", "mine", *folder).code == 0
    assert run("tools", "--server", "mine", *folder).code == 2


def test_a_variable_that_is_not_set_is_reported_instead_of_running(data_dir: Path) -> None:
    folder = ("--data-dir", str(data_dir))
    added = ("servers", "add", "mine", *folder, "--env", "A=${env:NO_SUCH_VARIABLE}", "--", *DEMO)
    assert run(*added).code == 0
    ran = run("tools", "--server", "mine", *folder)
    assert ran.code == 3
    assert "NO_SUCH_VARIABLE" in ran.err


def test_arguments_may_refer_to_variables(data_dir: Path) -> None:
    folder = ("--data-dir", str(data_dir))
    arguments = (DEMO[0], "-m", "${env:DEMO_MODULE}")
    assert run("servers", "add", "mine", *folder, "--", *arguments).code == 0
    assert (
        run("tools", "--server", "mine", *folder, DEMO_MODULE="mcp_progress_monitor.demo").code == 0
    )


@linux_only
class TestTerminal:
    def test_consent_is_asked_for_once_and_remembered(
        self, demo_file: Path, data_dir: Path
    ) -> None:
        arguments = ("tools", "--config", str(demo_file), "--server", "demo", "--data-dir")
        with Terminal(*arguments, str(data_dir)) as terminal:
            terminal.expect("Run this server?")
            shown = terminal.expect("[yes/no]")
            assert "-m mcp_progress_monitor.demo" in shown
            assert f"Folder:    {ROOT}" in shown
            terminal.type("y")
            terminal.expect("burst")
            assert terminal.end() == 0
        with Terminal(*arguments, str(data_dir)) as terminal:
            assert terminal.end() == 0
            assert "Run this server" not in terminal.shown

    @pytest.mark.parametrize("answer", ["n", "\x04"])
    def test_a_server_that_is_not_approved_does_not_run(
        self, demo_file: Path, data_dir: Path, answer: str
    ) -> None:
        arguments = ("tools", "--config", str(demo_file), "--server", "evil", "--data-dir")
        with Terminal(*arguments, str(data_dir)) as terminal:
            terminal.expect("[yes/no]")
            terminal.press(b"\x04") if answer == "\x04" else terminal.type(answer)
            terminal.expect("nothing was run")
            assert terminal.end() == 2
        assert not (demo_file.parent / "ran").exists()
        assert list(data_dir.glob("trusted*")) == []

    def test_an_import_asks_and_then_trust_asks(self, demo_file: Path, data_dir: Path) -> None:
        folder = ("--data-dir", str(data_dir))
        with Terminal("servers", "import", str(demo_file), *folder) as terminal:
            terminal.expect("Save 2 servers?")
            terminal.expect("[yes/no]")
            terminal.type("yes")
            terminal.expect("Saved: demo, evil")
            assert terminal.end() == 0
        with Terminal("servers", "trust", "demo", *folder) as terminal:
            terminal.expect("[yes/no]")
            terminal.type("maybe")
            terminal.expect("or its first letter")
            terminal.type("yes")
            terminal.expect("Approved demo")
            assert terminal.end() == 0

    def test_what_a_file_asks_for_is_typed_unseen(self, tmp_path: Path, data_dir: Path) -> None:
        file = tmp_path / "mcp.json"
        inputs = [{"id": "key", "description": "The key", "password": True}, {"id": "who"}]
        entry = {"command": "c", "args": ["${input:who}"], "env": {"K": "${input:key}"}}
        file.write_text(json.dumps({"inputs": inputs, "servers": {"a": entry}}))
        arguments = ("servers", "import", str(file), "--all", "--with-secrets", "--data-dir")
        with Terminal(*arguments, str(data_dir)) as terminal:
            terminal.expect("who")
            terminal.expect("who: value:")
            terminal.type("ada")
            terminal.expect("key: The key:")
            terminal.type("s3cret")
            terminal.expect("Saved: a")
            assert terminal.end() == 0
            assert "s3cret" not in terminal.shown
        saved = json.loads((data_dir / "servers.json").read_text())["mcpServers"]["a"]
        assert (saved["args"], saved["env"]) == (["ada"], {"K": "s3cret"})


def test_secrets_that_a_removed_server_leaves_are_asked_for_at_a_terminal(data_dir: Path) -> None:
    env = {"A": "${keyring:own}", "B": "${keyring:shared}"}
    servers = {"a": {"command": "c", "env": env}, "b": {"command": "c", "args": [env["B"]]}}
    (data_dir / "servers.json").write_text(json.dumps({"mcpServers": servers}))
    with Terminal("servers", "remove", "a", "--data-dir", str(data_dir)) as user:
        user.expect("Removed a.")
        user.expect("Delete these secrets from the system keyring?")
        assert "shared" not in user.expect("Delete? [yes/NO]")
        user.type("")
        user.expect("No saved server uses 1 secret")
        user.expect("own")
        assert user.end() == 0
    assert list(json.loads((data_dir / "servers.json").read_text())["mcpServers"]) == ["b"]
