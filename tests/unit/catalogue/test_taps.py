"""The words of a tap around a command: what a shell makes of them, and what is found inside."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor import paths
from mcp_progress_monitor.catalogue.taps import (
    EntryTap,
    Launch,
    TapProgram,
    entry_tap,
    shown_name,
    tap_of,
    this_program,
    unwrapped,
    unwrapped_entry,
    wrapped_like,
    wrapper,
)

POSIX = TapProgram(("/opt/it's/mcp-progress-monitor",), "/opt/py thon")
WINDOWS = TapProgram(("D:\\Programs\\a b\\mcp-progress-monitor.exe",), is_windows=True)
CHECKOUT = TapProgram(("/usr/bin/python3", "-I", "/src/app/__main__.py"), "/src/app/__main__.py")
SCRIPT = TapProgram(
    ("/opt/bin/mcp-progress-monitor",),
    "/opt/bin/python",
    interpreter=("/opt/bin/python", "-I"),
    has_proc=True,
)
_WORD = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
_COMMAND = _WORD.filter(bool)
needs_shell = pytest.mark.skipif(sys.platform == "win32", reason="no /bin/sh")


def wrap(program: TapProgram, command: str, *args: str, name: str = "files") -> Launch:
    lead = wrapper(program, name, "Claude Code")
    return Launch(lead.command, (*lead.args, command, *args))


def script(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    path.chmod(0o755)
    return path


def run(launch: Launch, shell: str) -> list[str]:
    command: list[str] = [shell, *launch.args]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


SHELLS = [found for name in ("sh", "dash", "bash", "zsh", "ksh") if (found := shutil.which(name))]


def test_the_entry_is_the_one_that_is_promised() -> None:
    program = TapProgram(("/opt/bin/mcp-progress-monitor",))
    assert wrapper(program, "files", "cursor") == (
        "/bin/sh",
        (
            "-c",
            '[ -x "$0" ] && exec "$0" tap --name files --client cursor -- "$@"; exec "$@"',
            "/opt/bin/mcp-progress-monitor",
        ),
    )
    assert wrapper(SCRIPT, "files", "cursor").args[1] == (
        '[ -x "$0" ] && [ -e /opt/bin/python ] && { t() { '
        'exec /opt/bin/python -I "$0" tap --name files --client cursor -- "$@"; }; '
        "trap 't \"$@\"' 0; "
        "MCP_TAP_ENVIRON=$(command -p base64 /proc/$$/environ 2>/dev/null); "
        "f() { [ $# -lt 1700 ]; }; f $MCP_TAP_ENVIRON || MCP_TAP_ENVIRON=; "
        'export MCP_TAP_ENVIRON; exit; }; exec "$@"'
    )
    assert wrap(WINDOWS, "npx", "-y") == (
        "D:\\Programs\\a b\\mcp-progress-monitor.exe",
        ("tap", "--name", "files", "--client", "Claude Code", "--", "npx", "-y"),
    )


@needs_shell
@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_starts_the_tap_with_every_word_as_it_is(tmp_path: Path, shell: str) -> None:
    folder = tmp_path / "a 'b\" c"
    folder.mkdir()
    program = script(folder, "mcp-progress-monitor", '#!/bin/sh\nprintf "%s\\n" "$@"\n')
    given = TapProgram((str(program),), sys.executable, folder)
    arguments = ("it's", 'say "x"', "$HOME", "a b", "", "--", "*", "`id`", "\\n")
    assert run(wrap(given, "/bin/echo", *arguments, name="my server"), shell) == [
        *("tap", "--name", "my server", "--client", "Claude Code"),
        *("--data-dir", str(folder), "--", "/bin/echo", *arguments),
    ]


@needs_shell
@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("what", ["uninstalled", "without its Python", "not executable"])
def test_a_shell_starts_the_server_alone(tmp_path: Path, shell: str, what: str) -> None:
    program = tmp_path / "mcp-progress-monitor"
    needed = tmp_path / "python"
    if what == "without its Python":
        script(tmp_path, program.name, f"#!{needed}\n")
        needed.symlink_to(tmp_path / "python of an older version")
    if what == "not executable":
        program.write_text("")
        needed.write_text("")
    launch = wrap(TapProgram((str(program),), str(needed)), "printf", "%s|", "a b", "$x")
    assert run(launch, shell) == ["a b|$x|"]


@needs_shell
def test_the_server_is_the_very_process_that_the_client_started(tmp_path: Path) -> None:
    launch = wrap(TapProgram((str(tmp_path / "gone"),)), "/bin/sh", "-c", "echo $$")
    with subprocess.Popen(launch[:1] + launch.args, stdout=subprocess.PIPE, text=True) as process:
        assert process.communicate()[0].strip() == str(process.pid)


@needs_shell
def test_a_command_that_is_not_there_fails_as_without_a_tap(tmp_path: Path) -> None:
    launch = wrap(TapProgram((str(tmp_path / "gone"),)), "no-such-command-anywhere")
    done = subprocess.run([launch.command, *launch.args], capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (127, b"")


@given(
    st.sampled_from(
        [
            *(POSIX, WINDOWS, CHECKOUT, CHECKOUT._replace(is_windows=True)),
            *(
                SCRIPT,
                SCRIPT._replace(interpreter=("/a b/it's", "-EP")),
                POSIX._replace(has_proc=True),
            ),
        ]
    ),
    _COMMAND,
    st.lists(_WORD, max_size=3),
    _WORD,
    st.integers(1, 3),
)
def test_the_server_is_found_inside_any_number_of_taps(
    program: TapProgram, command: str, args: list[str], name: str, times: int
) -> None:
    inner = unwrapped(command, args)
    launch = inner
    for _ in range(times):
        launch = wrap(program, launch.command, *launch.args, name=name)
        tap = tap_of(*launch)
        assert tap is not None
        assert tap.program == program.command[0]
        assert (tap.name, tap.client) == (shown_name(name), "Claude Code")
    assert unwrapped(*launch) == inner


@pytest.mark.parametrize(
    "script",
    [
        't=$0; [ -x "$t" ] && exec "$t" tap --name a --client b -- "$@"; exec "$@"',
        't=$0; [ -x "$t" ] && [ -e / ] && exec "$t" /x tap --name a --client b -- "$@"; exec "$@"',
    ],
)
def test_a_tap_of_an_earlier_version_is_found(script: str) -> None:
    tap = tap_of("/bin/sh", ["-c", script, "/opt/monitor", "npx"])
    assert tap == EntryTap("/opt/monitor", 3, "a", "b", is_older=True)
    now = tap_of(*wrap(SCRIPT, "npx"))
    assert now is not None
    assert not now.is_older


@needs_shell
@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_changes_no_variable_of_a_server_that_it_starts_alone(
    tmp_path: Path, shell: str
) -> None:
    launch = wrap(SCRIPT._replace(command=(str(tmp_path / "gone"),)), "/bin/sh", "-c", "echo $t$f")
    done = subprocess.run(
        [shell, *launch.args], env={"t": "1", "f": "2"}, capture_output=True, check=True
    )
    assert done.stdout == b"12\n"


def test_what_a_tap_was_reported_is_found_in_its_own_text() -> None:
    launch = wrap(POSIX._replace(data_dir=Path("/da ta")), "npx")
    tap = tap_of(*launch)
    assert tap is not None
    assert (tap.data_dir, tap.lead, tap.is_there) == (Path("/da ta"), 3, False)


@pytest.mark.parametrize(
    "launch",
    [
        Launch("npx", ("-y", "x")),
        Launch("/bin/sh", ("-c", 'exec "$@"', "/opt/mcp-progress-monitor", "npx")),
        Launch("/bin/sh", ("-c", wrapper(POSIX, "a", "b").args[1], "/opt/it")),
        Launch("mcp-progress-monitor", ("--demo",)),
        Launch("mcp-progress-monitor", ("tap", "--name", "x", "--")),
        Launch("other", ("tap", "--", "npx")),
        Launch("python3", ("-I", "other.py", "tap", "--", "npx")),
        Launch(
            "/bin/sh",
            (
                "-c",
                't=$0; [ -x "$t" ] && exec "$t" tap --name x ; other -- "$@"; exec "$@"',
                "/opt/mcp-progress-monitor",
                "npx",
            ),
        ),
    ],
)
def test_other_commands_are_no_taps(launch: Launch) -> None:
    assert tap_of(*launch) is None
    assert unwrapped(*launch) == launch


@pytest.mark.parametrize("args", [None, "x", [1], ["-c", None]])
def test_arguments_that_are_no_strings_are_no_tap(args: Any) -> None:
    assert tap_of("/bin/sh", args) is None


def test_a_tap_that_was_typed_by_hand_is_one() -> None:
    assert unwrapped("mcp-progress-monitor", ("tap", "--", "npx", "--", "x")) == (
        "npx",
        ("--", "x"),
    )


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("my server", "my server"),
        ("a/b.c@1", "a/b.c@1"),
        ("${input:x}%PATH%", "__input:x__PATH_"),
        ("…", "_"),
        ("Größe", "Größe"),
        ("", "server"),
        ("n" * 99, "n" * 60),
    ],
)
def test_names_have_nothing_that_a_client_would_expand(name: str, shown: str) -> None:
    assert shown_name(name) == shown


def test_an_entry_keeps_everything_but_the_tap() -> None:
    launch = wrap(POSIX, "npx", "-y", "x")
    entry = {"type": "stdio", "command": launch.command, "args": list(launch.args), "env": {"A": 1}}
    assert unwrapped_entry(entry) == {
        "type": "stdio",
        "command": "npx",
        "args": ["-y", "x"],
        "env": {"A": 1},
    }
    older = {"command": {"path": launch.command, "args": list(launch.args)}, "settings": {}}
    assert unwrapped_entry(older) == {
        "command": {"path": "npx", "args": ["-y", "x"]},
        "settings": {},
    }


def test_an_entry_that_takes_the_place_of_a_tapped_one_is_tapped() -> None:
    launch = wrap(POSIX, "npx")
    held = {"command": launch.command, "args": list(launch.args)}
    new = wrapped_like(held, {"command": "uvx", "args": ["y"], "cwd": "/"})
    assert entry_tap(new) == entry_tap(held)
    assert unwrapped_entry(new) == {"command": "uvx", "args": ["y"], "cwd": "/"}
    for other in (None, {}, {"command": "npx"}):
        assert wrapped_like(other, {"command": "uvx"}) == {"command": "uvx"}
    assert wrapped_like(held, {"url": "https://x"}) == {"url": "https://x"}


def test_this_program_is_started_by_its_absolute_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = this_program()
    assert Path(program.command[0]).is_absolute()
    assert Path(program.needed).exists()
    assert program.data_dir is None
    assert this_program(tmp_path).data_dir == tmp_path
    # Clients start servers with few variables: a folder that one of them named is written down.
    if sys.platform not in {"win32", "darwin"}:
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
        assert this_program(paths.default_data_dir()).data_dir == tmp_path / paths.APPLICATION
        monkeypatch.delenv("XDG_DATA_HOME")
        assert this_program(paths.default_data_dir()).data_dir is None


def test_json_can_hold_every_word() -> None:
    launch = wrap(POSIX, "npx")
    assert json.loads(json.dumps(launch)) == [launch.command, list(launch.args)]


@pytest.mark.parametrize("program", [POSIX, SCRIPT])
def test_requested_progress_is_written_and_recognised(program: TapProgram) -> None:
    lead = wrapper(program._replace(requests_progress=True), "files", "Cursor")
    tap = tap_of(lead.command, [*lead.args, "server"])
    assert tap is not None
    assert tap.requests_progress
    assert (tap.name, tap.client) == ("files", "Cursor")
    plain = wrapper(program, "files", "Cursor")
    found = tap_of(plain.command, [*plain.args, "server"])
    assert found is not None
    assert not found.requests_progress
