"""The tap around a server's command: what a client runs instead, and the command inside.

The entry in a client's configuration keeps working when this program is uninstalled: on POSIX, a
shell starts the tap only if it exists, and otherwise the server alone. The path is absolute,
because graphical clients do not have the PATH of the user's shell.
"""

from __future__ import annotations

import itertools
import re
import shlex
import site
import sys
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor import bundle
from mcp_progress_monitor.path_checks import is_there
from mcp_progress_monitor.paths import APPLICATION, default_data_dir, import_root, program_command
from mcp_progress_monitor.tap.environment import HANDED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SHELL: Final = "/bin/sh"
_MOST_LINES: Final = 1700  # of 76 characters: no variable can hold more than 128 KB
_HAND_OVER: Final = (
    "trap 't \"$@\"' 0; "  # also where no process can be started, which ends a shell
    f"{HANDED}=$(command -p base64 /proc/$$/environ 2>/dev/null); "
    f"f() {{ [ $# -lt {_MOST_LINES} ]; }}; f ${HANDED} || {HANDED}=; export {HANDED}; exit; "
)
"""Hands the environment as the shell was given it to the tap, for the server.

Clients expand `${…}`, so that the length is found by counting the lines.
"""
_SCRIPT: Final = re.compile(
    r"(?:(?P<older>t=\$0; )?)"
    r'\[ -x "\$[t0]" \] && (?:\[ -e (?P<needed>.+?) \] && )?'
    r"(?P<handing>\{ t\(\) \{ )?"
    r'exec (?P<interpreter>.*?)"\$[t0]" (?P<options>.*?) -- "\$@"; '
    rf'(?(handing)\}}; {re.escape(_HAND_OVER)}\}}; )exec "\$@"',
    re.DOTALL,
)
_TAP: Final = "tap"
REQUESTS_PROGRESS: Final = "--request-progress"
_END: Final = "--"
_UNUSUAL: Final = re.compile(r"[^\w .,:@+/-]")
"""Characters to avoid in a name on a command line: clients expand `${…}` and `%…%`."""
_LONGEST_NAME: Final = 60
_DEEPEST: Final = 20  # levels of taps within taps


class TapProgram(NamedTuple):
    """The command with which a client starts this program.

    `command` starts with an absolute path, and `interpreter`, if it is not empty, has to run that
    file. `needed` is another file that it requires, or empty; `data_dir` is where it records, None
    for the default. `has_proc` says that the system shows the environment of a process as a file.
    With `requests_progress`, taps ask for progress where the client does not.
    """

    command: tuple[str, ...]
    needed: str = ""
    data_dir: Path | None = None
    is_windows: bool = False
    interpreter: tuple[str, ...] = ()
    has_proc: bool = False
    requests_progress: bool = False


class Launch(NamedTuple):
    """A command with its arguments."""

    command: str
    args: tuple[str, ...] = ()


class EntryTap(NamedTuple):
    """A tap found around a command.

    `lead` is the number of arguments before the server's command. `name` and `client` are the
    values of its options. `is_older` marks the form that earlier versions wrote, with which a shell
    may change the server's environment.
    """

    program: str
    lead: int
    name: str | None = None
    client: str | None = None
    data_dir: Path | None = None
    is_older: bool = False
    requests_progress: bool = False

    @property
    def is_there(self) -> bool:
        """True if the program still exists; if not, the server runs untapped."""
        return is_there(self.program)


def this_program(data_dir: Path | None = None) -> TapProgram:
    """This installation; `data_dir` is the folder for the recordings of taps.

    It is written into the entry unless it is the default in a client without our environment.
    """
    command = tuple(program_command())
    is_script = sys.platform != "win32" and not bundle.is_bundled() and len(command) == 1
    # A script often breaks because its Python was upgraded or removed. Once the shell has tried to
    # start it, it cannot start the server any more, so it checks first.
    needed = "" if bundle.is_bundled() else (sys.executable if len(command) == 1 else command[-1])
    is_usual = data_dir is None or data_dir == _bare_default()
    return TapProgram(
        command,
        needed,
        None if is_usual else data_dir,
        sys.platform == "win32",
        (sys.executable, _isolation()) if is_script else (),
        sys.platform == "linux",
    )


def _isolation() -> str:
    """The option with which Python ignores the server's variables, such as PYTHONHOME."""
    is_users = site.ENABLE_USER_SITE and import_root().is_relative_to(site.getusersitepackages())
    return "-EP" if is_users else "-I"  # which ignores packages installed for the user alone


def _bare_default() -> Path | None:
    """The data folder if no environment variable sets another one."""
    if sys.platform in {"win32", "darwin"}:
        return default_data_dir()
    return Path.home() / ".local" / "share" / APPLICATION


def wrapper(program: TapProgram, name: str, client: str) -> Launch:
    """The command of a tapped entry, and the arguments before the server's command."""
    args = [*program.command[1:], _TAP, "--name", shown_name(name), "--client", client]
    if program.data_dir is not None:
        args += ["--data-dir", str(program.data_dir)]
    if program.requests_progress:
        args += [REQUESTS_PROGRESS]
    if program.is_windows:
        return Launch(program.command[0], (*args, _END))
    check = f"[ -e {shlex.quote(program.needed)} ] && " if program.needed else ""
    run = f'exec {_joined(program.interpreter)}"$0" {shlex.join(args)} -- "$@"'
    if program.has_proc:
        run = f"{{ t() {{ {run}; }}; {_HAND_OVER}}}"
    script = f'[ -x "$0" ] && {check}{run}; exec "$@"'
    return Launch(SHELL, ("-c", script, program.command[0]))


def _joined(words: Sequence[str]) -> str:
    """The words for a shell, each with a space after it."""
    return "".join(f"{shlex.quote(word)} " for word in words)


def shown_name(name: str) -> str:
    shown = _UNUSUAL.sub("_", name)[:_LONGEST_NAME].strip()
    return "server" if shown in {"", _END} else shown


def tap_of(command: object, args: object) -> EntryTap | None:
    """The outermost tap around a command; None if there is none."""
    if not isinstance(command, str) or not isinstance(args, list | tuple):
        return None
    words = [word for word in args if isinstance(word, str)]
    if len(words) != len(args):  # clients reject or convert other values; we never write them
        return None
    return _of_shell(command, words) or _of_program(command, words)


def unwrapped(command: str, args: Sequence[str]) -> Launch:
    for _ in range(_DEEPEST):
        tap = tap_of(command, args)
        if tap is None:
            break
        command, args = args[tap.lead], args[tap.lead + 1 :]
    return Launch(command, tuple(args))


def launch_keys(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """The keys that lead to an entry's command: Zed nested it in `command` until 2025."""
    return ("command",) if isinstance(entry.get("command"), dict) else ()


def launch_names(entry: Mapping[str, Any]) -> tuple[str, str]:
    return ("path", "args") if launch_keys(entry) else ("command", "args")


def entry_tap(entry: Mapping[str, Any]) -> EntryTap | None:
    """The tap around a client's entry, if there is one."""
    holder = entry["command"] if launch_keys(entry) else entry
    command, args = launch_names(entry)
    return tap_of(holder.get(command), holder.get(args, []))


def unwrapped_entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    """A client's entry with the server's own command; unchanged without a tap."""
    if entry_tap(entry) is None:
        return dict(entry)
    holder = dict(entry["command"] if launch_keys(entry) else entry)
    command, args = launch_names(entry)
    inner = unwrapped(holder[command], holder[args])
    holder |= {command: inner.command, args: list(inner.args)}
    return {**entry, "command": holder} if launch_keys(entry) else holder


def wrapped_like(held: object, entry: Mapping[str, Any]) -> dict[str, Any]:
    """An entry to replace `held`, wrapped in the same tap if `held` has one."""
    tap = entry_tap(held) if isinstance(held, dict) else None
    if tap is None or not isinstance(held, dict) or launch_keys(held) or launch_keys(entry):
        return dict(entry)
    if not isinstance(entry.get("command"), str) or not isinstance(entry.get("args", []), list):
        return dict(entry)
    lead = held["args"][: tap.lead]
    args = [*lead, entry["command"], *entry.get("args", [])]
    return {**entry, "command": held["command"], "args": args}


def _of_shell(command: str, words: list[str]) -> EntryTap | None:
    """`/bin/sh -c SCRIPT PROGRAM COMMAND [ARG…]`."""
    if PurePath(command).name != "sh" or len(words) < 4 or words[0] != "-c":
        return None
    script = _SCRIPT.fullmatch(words[1])
    if script is None:
        return None
    try:
        options, interpreter = shlex.split(script["options"]), shlex.split(script["interpreter"])
    except ValueError:
        return None
    is_plain = _joined(interpreter) == script["interpreter"]
    if _TAP not in options or shlex.join(options) != script["options"] or not is_plain:
        return None  # another script, or several commands
    tap = _with_options(words[2], 3, options[options.index(_TAP) + 1 :])
    return tap._replace(is_older=script["older"] is not None)


def _of_program(command: str, words: list[str]) -> EntryTap | None:
    """`PROGRAM tap [OPTIONS] -- COMMAND [ARG…]`, as written on Windows or by hand."""
    before = words[: words.index(_END)] if _END in words else []
    is_ours = PurePath(command.replace("\\", "/")).name in {APPLICATION, f"{APPLICATION}.exe"}
    if not is_ours and before[:1] == ["-I"]:  # this Python with a checkout
        is_ours = before[1:2] != [] and before[1].endswith("__main__.py")
        rest = before[2:]
    else:
        rest = before
    if not is_ours or rest[:1] != [_TAP] or len(words) < len(before) + 2:
        return None
    return _with_options(command, len(before) + 1, rest[1:])


def _with_options(program: str, lead: int, options: Sequence[str]) -> EntryTap:
    requests_progress = REQUESTS_PROGRESS in options
    pairs = dict(itertools.pairwise(each for each in options if each != REQUESTS_PROGRESS))
    folder = pairs.get("--data-dir")
    return EntryTap(
        program,
        lead,
        pairs.get("--name"),
        pairs.get("--client"),
        None if folder is None else Path(folder),
        requests_progress=requests_progress,
    )
