"""The rules that the user set in the window for a server's questions, as a command keeps them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_progress_monitor.sessions.definitions import in_all_eras
from mcp_progress_monitor.sessions.rules import QuestionRules, Rule
from mcp_progress_monitor.sessions.server_settings import ServerSettings
from mcp_progress_monitor.sessions.settings_file import FILE_NAME, SettingsFile

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_progress_monitor.cli.asking.answer_file import AnswerFile
    from mcp_progress_monitor.sessions.answers import Answer
    from mcp_progress_monitor.sessions.log_levels import LogLevel
    from mcp_progress_monitor.sessions.questions import Kind

KINDS: Final[tuple[Kind, ...]] = ("sampling", "form", "url", "roots")


class Ruled(NamedTuple):
    """What a rule says to a question, after so many seconds in which the user may answer."""

    answer: Answer
    delay_s: float


class WindowRules(SettingsFile):
    """Rules and roots of all servers as the window keeps them, read once and never written.

    The level of a server's log messages that is set in the window is the window's alone: a command
    has an option for it (`log_level`).
    A kind of question that the file of answers may be for is asked all the same, so that the file
    can answer; `automatic` is for those that it does not.
    """

    def __init__(
        self,
        folder: Path | None,
        answers: AnswerFile | None,
        log_level: LogLevel | None = None,
    ) -> None:
        """Read what is in the data folder; None has no rules. Ask servers for `log_level`."""
        super().__init__(None if folder is None else folder / FILE_NAME)
        self._path = None  # whatever is put here lasts as long as the command
        self._answers = answers
        self._log_level = log_level

    def of(self, fingerprint: str) -> ServerSettings:
        """The settings of one server."""
        kept = self._set_for(fingerprint)
        rules = {kind: self._asking(kind, kept.rules.of(kind)) for kind in KINDS}
        rules_now = QuestionRules(**rules)
        return ServerSettings(rules=rules_now, roots=kept.roots, log_level=self._log_level)

    def automatic(self, fingerprint: str, kind: Kind) -> Ruled | None:
        """What the rule for a kind of question says; None when the user is to be asked."""
        kept = self._set_for(fingerprint)
        answer = kept.rules.automatic(kind, kept.roots)
        return None if answer is None else Ruled(answer, kept.rules.of(kind).delay_s)

    def _set_for(self, fingerprint: str) -> ServerSettings:
        """What is set for a server; `--era` makes no other one of it."""
        nothing = ServerSettings()
        found = map(super().of, in_all_eras(fingerprint))
        return next((each for each in found if each != nothing), nothing)

    def _asking(self, kind: Kind, rule: Rule) -> Rule:
        """The rule, or one that leaves the question to the file of answers."""
        if self._answers is None or not self._answers.may_answer(kind):
            return rule
        is_open_first = rule.mode != "undeclared" and rule.delay_s > 0
        return rule if is_open_first else Rule()
