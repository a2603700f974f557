"""The man page, and completions for bash, zsh and fish, both made from the commands.

    python packaging/manual.py FOLDER

It runs in the project's own environment. Completions are click's: a script for each shell asks the
program at each press of Tab. One page for all commands, as `man` users search in it; click-man
would write one for each command, without the examples.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from reference import PROGRAM, context_of, exit_code_rows, help_of, leaves, option_sets, rows_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import click

    from reference import Row

COMPLETIONS: Final = {"bash": PROGRAM, "zsh": f"_{PROGRAM}", "fish": f"{PROGRAM}.fish"}
"""The file of each shell's completions, named as the shell looks for it."""
_VARIABLES: Final = {
    "NO_COLOR": "Print without colours.",
    "XDG_DATA_HOME": "Folder in which the data folder is, on Linux (default ~/.local/share).",
}


def write_man(folder: Path) -> None:
    """Write the man page of section 1 into a folder."""
    from mcp_progress_monitor import __version__
    from mcp_progress_monitor.cli.entry import program

    context = context_of(program, PROGRAM)
    own, shared = option_sets(program)
    lines = [
        f'.TH {_text(PROGRAM.upper())} 1 "" "{_text(PROGRAM)} {__version__}" "User Commands"',
        ".nh",
        ".ad l",
        ".SH NAME",
        rf"{_text(PROGRAM)} \- watch the progress of long-running MCP calls",
        ".SH SYNOPSIS",
        _text(context.get_usage().removeprefix("Usage: ")),
        ".SH DESCRIPTION",
        *_paragraphs(help_of(program)),
        ".PP",
        "Options can be given in any order before",
        r".BR \-\- .",
        ".SH OPTIONS",
        *_options(own),
        ".SH SHARED OPTIONS",
        "Options that commands share can also come before the name of the command.",
        *_options(shared),
        ".SH COMMANDS",
    ]
    for command, inner in leaves(program, PROGRAM):
        usage = inner.get_usage().removeprefix("Usage: ")
        lines += [
            f".SS {_text(inner.command_path.removeprefix(PROGRAM + ' '))}",
            *_verbatim(usage.splitlines()),
            *_paragraphs(help_of(command)),
            *_options(row for row in rows_of(command, inner) if row not in shared),
            *_epilog(command),
        ]
    codes = [line for code, text in exit_code_rows() for line in _item(str(code), text)]
    variables = [line for name, text in _VARIABLES.items() for line in _item(name, text)]
    lines += [".SH EXIT STATUS", *codes, ".SH ENVIRONMENT", *variables]
    lines += [".SH EXAMPLES", *_epilog(program)]
    folder.mkdir(parents=True, exist_ok=True)
    page = "\n".join(lines) + "\n"
    (folder / f"{PROGRAM}.1").write_text(page, encoding="utf-8", newline="\n")


def write_completions(folder: Path) -> None:
    """Write a folder for each shell, with the file that it loads."""
    from click.shell_completion import ShellComplete, get_completion_class

    from mcp_progress_monitor.cli.common import COMPLETING
    from mcp_progress_monitor.cli.entry import program

    for shell, name in COMPLETIONS.items():
        kind = get_completion_class(shell)
        assert kind is not None  # noqa: S101
        # The base's: bash's own looks for a bash 4.4 here, where the file is only made.
        script = ShellComplete.source(kind(program, {}, PROGRAM, COMPLETING))
        file = folder / shell / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(script.strip() + "\n", encoding="utf-8", newline="\n")


def _epilog(command: click.Command) -> list[str]:
    text = (command.epilog or "").replace("\b", "").strip("\n")
    return _verbatim(text.splitlines()) if text.strip() else []


def _options(rows: Iterable[Row]) -> list[str]:
    return [line for row in rows for line in _item(row.option, row.text)]


def _item(name: str, text: str) -> list[str]:
    breakable = _text(name).replace("|", r"|\:")
    return [".TP", rf"\fB{breakable}\fR", _text(" ".join(text.split()))]


def _paragraphs(text: str) -> list[str]:
    found = re.split(r"\n\s*\n", text.strip())
    return [line for each in found for line in (_text(" ".join(each.split())), ".PP")][:-1]


def _verbatim(lines: Sequence[str]) -> list[str]:
    return [".PP", ".nf", *map(_text, lines), ".fi", ".PP"]


def _text(text: str) -> str:
    """Escape what the formatter would read as its own."""
    escaped = text.replace("\\", r"\e").replace("-", r"\-").replace("'", r"\(aq")
    escaped = escaped.replace("`", r"\(ga").replace("~", r"\(ti").replace("^", r"\(ha")
    return rf"\&{escaped}" if escaped.startswith(".") else escaped


def main(arguments: Sequence[str]) -> int:
    """Write both below the folder that is named."""
    (folder,) = map(Path, arguments)
    write_man(folder / "man")
    write_completions(folder / "completions")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
