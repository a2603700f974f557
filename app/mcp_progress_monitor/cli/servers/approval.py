"""Approval of servers on the command line: asked on the terminal, saved on disk."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Any

import anyio

from mcp_progress_monitor.catalogue.secrets import bare_url, replaced
from mcp_progress_monitor.catalogue.trust import FILE_NAME, EarlierApproval, Trust
from mcp_progress_monitor.cli.asking.terminal import Dialogue, HungUpError, terminal_of_user
from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode, failing
from mcp_progress_monitor.cli.output.stdout import StandardOutput, own_command, show_warnings
from mcp_progress_monitor.formatting import one_line
from mcp_progress_monitor.paths import data_dir
from mcp_progress_monitor.protocol.secrets import is_secret_setting
from mcp_progress_monitor.snapshots.definitions import StdioDefinition
from mcp_progress_monitor.wording import approval

if TYPE_CHECKING:
    from mcp_progress_monitor.catalogue.entry import CatalogueEntry
    from mcp_progress_monitor.cli.asking.terminal import Keyboard
    from mcp_progress_monitor.cli.options import CommonOptions
    from mcp_progress_monitor.errors import ErrorDetails
    from mcp_progress_monitor.snapshots.definitions import HttpDefinition, ServerDefinition

_HIDDEN = "(hidden)"


def address(definition: ServerDefinition) -> str:
    """The command or the URL on one line, with secrets hidden."""
    if isinstance(definition, StdioDefinition):
        shown = replaced(definition, _hide, is_secret_setting)
        return shlex.join([definition.command, *getattr(shown, "args", ())])
    return bare_url(definition.url)[0]


def document(entry: CatalogueEntry, *, is_trusted: bool) -> dict[str, Any]:
    """A saved server as JSON, without the values of variables and headers."""
    definition = entry.definition
    return {
        "name": entry.name,
        "transport": definition.transport,
        **_reached(definition),
        "era": definition.era,
        "disabled": entry.is_disabled,
        "connectAtStart": entry.connects_at_start,
        "trusted": is_trusted,
        "origin": entry.origin or None,
    }


def _reached(definition: ServerDefinition) -> dict[str, Any]:
    if isinstance(definition, StdioDefinition):
        shown = replaced(definition, _hide, is_secret_setting)
        return {
            "command": definition.command,
            "args": list(getattr(shown, "args", ())),
            "cwd": definition.cwd,
            "env": sorted(definition.env),
        }
    return _of_url(definition)


def _of_url(definition: HttpDefinition) -> dict[str, Any]:
    return {
        "url": bare_url(definition.url)[0],
        "headers": sorted(definition.headers),
        "auth": definition.auth,
    }


def _hide(_name: str, _value: str) -> str:
    return _HIDDEN


_LONGEST_NAME = 100


def trust_of(common: CommonOptions) -> Trust:
    """The approvals in the data folder; `CommandFailed` if that folder cannot be used."""
    with failing(ExitCode.USAGE):
        return Trust(data_dir(common.data_dir) / FILE_NAME)


def require_approval(
    definition: ServerDefinition,
    common: CommonOptions,
    source: str,
    hint: str | None = None,
    note: str = "",
) -> None:
    """Require the user's approval of exactly this definition; ask for it on a terminal.

    `source` says where the definition is from, `hint` how to approve it without a terminal, if it
    is not among the saved servers or in a file, `note` what it is for. `CommandFailed` without
    approval.
    """
    trust = trust_of(common)
    if trust.is_trusted(definition):
        return
    show_warnings(trust.problem)
    keyboard = terminal_of_user()
    earlier = earlier_of(trust, definition)
    if keyboard is None:
        raise CommandFailed(ExitCode.USAGE, _not_agreed(definition, common, source, earlier, hint))
    if not asked(definition, source, keyboard, earlier, note):
        raise CommandFailed(ExitCode.USAGE, approval.not_approved(definition.name, ""))
    approve(trust, definition)


def earlier_of(trust: Trust, definition: ServerDefinition) -> EarlierApproval | None:
    """What the user approved before under the same name, if it differs."""
    return trust.earlier([definition])[0]


def asked(
    definition: ServerDefinition,
    source: str,
    keyboard: Keyboard,
    earlier: EarlierApproval | None,
    note: str = "",
) -> bool:
    """Whether the user approves; hanging up means no."""
    dialogue = Dialogue(StandardOutput(sys.stderr), keyboard)
    try:
        return anyio.run(_answer, dialogue, definition, source, earlier, note)
    except HungUpError:
        return False


async def _answer(
    dialogue: Dialogue,
    definition: ServerDefinition,
    source: str,
    earlier: EarlierApproval | None,
    note: str,
) -> bool:
    dialogue.begin(approval.question(definition, source))
    if note:
        dialogue.say_whole(note)
    dialogue.say_whole(f"Server: {one_line(definition.name, _LONGEST_NAME)}")
    for line in approval.lines(definition, earlier):
        dialogue.say_whole(line)
    dialogue.say(approval.PROMISE)
    return await dialogue.choose("Approve?", ("yes", "no")) == "yes"


def approve(trust: Trust, definition: ServerDefinition) -> None:
    """Save the user's approval; `CommandFailed` if it cannot be written."""
    with failing(ExitCode.UNWRITABLE):
        trust.approve(definition)


def _not_agreed(
    definition: ServerDefinition,
    common: CommonOptions,
    source: str,
    earlier: EarlierApproval | None,
    hint: str | None,
) -> ErrorDetails:
    hint = hint or f"To review and approve it: {trusting_command(definition.name, common)}"
    shown = "\n".join(f"  {line}" for line in approval.lines(definition, earlier))
    return approval.not_approved(definition.name, hint, source, shown)


def trusting_command(name: str, common: CommonOptions) -> str:
    """The command that shows a server and asks for approval, quoted for a shell."""
    is_like_option = name.startswith("-")
    arguments = ["servers", "trust", *([] if is_like_option else [name])]
    if common.config is not None:
        arguments += ["--config", str(common.config)]
    if common.data_dir is not None:
        arguments += ["--data-dir", str(common.data_dir)]
    return own_command(*arguments, *(["--", name] if is_like_option else []))
