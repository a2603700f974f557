"""The approval of servers that are named, not typed: what has it, and the question for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.catalogue.trust import FILE_NAME, EarlierApproval, Trust
from mcp_progress_monitor.cli.asking.terminal import confirm, terminal_of_user
from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode, failing
from mcp_progress_monitor.cli.output.stdout import own_command, show_warnings
from mcp_progress_monitor.formatting import one_line
from mcp_progress_monitor.paths import data_dir
from mcp_progress_monitor.wording import approval

if TYPE_CHECKING:
    from mcp_progress_monitor.cli.asking.terminal import Keyboard
    from mcp_progress_monitor.cli.common import CommonOptions
    from mcp_progress_monitor.snapshots.definitions import ServerDefinition

_LONGEST_NAME: Final = 100


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

    `source` says where the definition is from, and `note` what it is for. `hint` says how to
    approve a definition without a terminal that is neither saved nor in a file. `CommandFailed`
    without approval.
    """
    trust = trust_of(common)
    if trust.is_trusted(definition):
        return
    show_warnings(trust.error)
    keyboard = terminal_of_user()
    earlier = earlier_of(trust, definition)
    if keyboard is None:
        hint = hint or f"To review and approve it: {trust_command(definition.name, common)}"
        shown = "\n".join(f"  {line}" for line in approval.lines(definition, earlier))
        error = approval.not_approved(definition.name, hint, source, shown)
        raise CommandFailed(ExitCode.USAGE, error)
    if not ask_approval(definition, source, keyboard, earlier, note):
        raise CommandFailed(ExitCode.USAGE, approval.not_approved(definition.name, ""))
    approve(trust, definition)


def earlier_of(trust: Trust, definition: ServerDefinition) -> EarlierApproval | None:
    """Return the user's earlier approval under the same name, if it differs."""
    return trust.earlier([definition])[0]


def ask_approval(
    definition: ServerDefinition,
    source: str,
    keyboard: Keyboard,
    earlier: EarlierApproval | None,
    note: str = "",
) -> bool:
    """Ask the user; True if they approve."""
    lines = (
        *filter(None, [note]),
        f"Server: {one_line(definition.name, _LONGEST_NAME)}",
        *approval.lines(definition, earlier),
        approval.PROMISE,
    )
    return confirm(keyboard, approval.question(definition, source), lines, "Approve?")


def approve(trust: Trust, definition: ServerDefinition) -> None:
    """Save the user's approval; `CommandFailed` if it cannot be written."""
    with failing(ExitCode.UNWRITABLE):
        trust.approve(definition)


def trust_command(name: str, common: CommonOptions) -> str:
    """The command that shows a server and asks for approval, quoted for a shell."""
    is_like_option = name.startswith("-")
    arguments = ["servers", "trust", *([] if is_like_option else [name])]
    if common.config is not None:
        arguments += ["--config", str(common.config)]
    if common.data_dir is not None:
        arguments += ["--data-dir", str(common.data_dir)]
    return own_command(*arguments, *(["--", name] if is_like_option else []))
