"""What a command answers questions with: a file, the user at the terminal, both or nothing."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from mcp_progress_monitor.cli.asking.answer_file import read_answers
from mcp_progress_monitor.cli.asking.dialogue import Dialogue
from mcp_progress_monitor.cli.asking.keyboard import terminal_of_user
from mcp_progress_monitor.cli.output import Output

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_progress_monitor.cli.asking.answer_file import AnswerFile


class Means(NamedTuple):
    """Where answers come from: the file first, then the user, if there is one."""

    answers: AnswerFile | None = None
    dialogue: Dialogue | None = None


NO_MEANS = Means()
"""Every question is declined."""


def means_of(path: Path | None, *, as_json: bool) -> Means:
    """The file that `--answer` names, and the terminal unless events are written.

    `CommandFailed` when the file is of no use.
    """
    answers = None if path is None else read_answers(path)
    keyboard = None if as_json else terminal_of_user()
    dialogue = None if keyboard is None else Dialogue(Output(sys.stderr), keyboard)
    return Means(answers, dialogue)
