"""Rules set in the window: kept by commands, but for what a file of answers may be for."""

import json
from pathlib import Path
from typing import Any

from mcp_progress_monitor.cli.asking.answer_file import AnswerFile, read_answers
from mcp_progress_monitor.cli.asking.asker import RuledAnswer, WindowRules
from mcp_progress_monitor.paths import SERVER_SETTINGS
from mcp_progress_monitor.sessions.settings_file import SettingsFile
from mcp_progress_monitor.snapshots.definitions import StdioDefinition
from mcp_progress_monitor.snapshots.questions import Accept, Decline
from mcp_progress_monitor.snapshots.settings import (
    QuestionRule,
    QuestionRules,
    Root,
    ServerSettings,
)

DEMO = StdioDefinition(name="demo", command="é").fingerprint
ANOTHER = StdioDefinition(name="demo", command="f").fingerprint
ROOTS = (Root(uri="file:///srv"),)
RULES = QuestionRules(
    form=QuestionRule(mode="answer", answer={"name": "Ada"}),
    url=QuestionRule(mode="decline", delay_s=2),
    sampling=QuestionRule(mode="undeclared"),
)


def kept(folder: Path, answers: AnswerFile | None = None) -> WindowRules:
    """Rules of one server, as the window has written them."""
    settings = ServerSettings(rules=RULES, roots=ROOTS, log_level="debug")
    SettingsFile(folder / SERVER_SETTINGS).put(DEMO, settings)
    return WindowRules(folder, answers)


def answers(folder: Path, content: Any) -> AnswerFile:
    path = folder / "answers.json"
    path.write_text(json.dumps(content))
    return read_answers(path)


def test_without_a_file_of_answers_they_hold_as_they_are(tmp_path: Path) -> None:
    rules = kept(tmp_path)
    assert rules.of(DEMO) == ServerSettings(rules=RULES, roots=ROOTS)
    assert rules.of(ANOTHER) == ServerSettings()
    assert rules.automatic(DEMO, "form") == RuledAnswer(Accept({"name": "Ada"}), 0)
    assert rules.automatic(DEMO, "url") == RuledAnswer(Decline(), 2)
    assert rules.automatic(ANOTHER, "form") is None


def test_kinds_in_the_answer_file_take_precedence_over_the_rule(tmp_path: Path) -> None:
    rules = kept(tmp_path, answers(tmp_path, [{"decline": True}, {"kind": "roots", "accept": []}]))
    found = rules.of(DEMO).rules
    assert (found.form, found.sampling, found.roots) == (
        QuestionRule(),
        QuestionRule(),
        QuestionRule(),
    )
    assert found.url == RULES.url  # it is open for two seconds, in which the file answers
    assert rules.automatic(DEMO, "form") == RuledAnswer(Accept({"name": "Ada"}), 0)
    only_urls = kept(tmp_path, answers(tmp_path, [{"kind": "url", "decline": True}]))
    assert only_urls.of(DEMO).rules == RULES


def test_nothing_is_ever_written(tmp_path: Path) -> None:
    rules = kept(tmp_path)
    before = (tmp_path / SERVER_SETTINGS).read_bytes()
    rules.put(DEMO, ServerSettings())
    assert rules.of(DEMO) == ServerSettings()
    assert (tmp_path / SERVER_SETTINGS).read_bytes() == before


def test_a_file_that_cannot_be_read_is_reported_and_without_a_folder_nothing_is_set(
    tmp_path: Path,
) -> None:
    (tmp_path / SERVER_SETTINGS).write_text("{")
    error = WindowRules(tmp_path, None).error
    assert error is not None
    assert error.where == str(tmp_path / SERVER_SETTINGS)
    nothing = WindowRules(None, None)
    assert (nothing.error, nothing.of(DEMO)) == (None, ServerSettings())


def test_another_era_makes_no_other_server(tmp_path: Path) -> None:
    rules = kept(tmp_path)
    for era in ("handshake", "per-request"):
        asked = StdioDefinition.model_validate({"name": "x", "command": "é", "era": era})
        assert rules.of(asked.fingerprint).rules == RULES
