"""Questions of servers on the command line: answered from a file, or with a no that says why."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from mcp_progress_monitor.paths import SERVER_SETTINGS
from mcp_progress_monitor.sessions.settings_file import SettingsFile
from mcp_progress_monitor.snapshots.definitions import demo_definition
from mcp_progress_monitor.snapshots.settings import QuestionRule, QuestionRules, ServerSettings
from tests.eras import IN_SHORT
from tests.integration.asking_server import SOURCE
from tests.integration.commands import Run, calling, run

BY_KIND = {
    "fields": {"name": "Ada", "age": 36, "size": "large"},
    "form": {"accept": {}},
    "url": {"accept": True},
    "sampling": {"text": "Rain falls", "model": "poet"},
    "roots": {"accept": [{"uri": "file:///tmp"}]},
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the answers of a test lie."""
    return tmp_path / "answers.json"


def call(tmp_path: Path, *arguments: str) -> Run:
    """Call a tool of the demo server, or of the test server."""
    return run(*calling("--data-dir", str(tmp_path / "data"), *arguments))


def reported(ran: Run) -> list[dict[str, Any]]:
    """What the demo server tells of the answers it got."""
    found: list[dict[str, Any]] = json.loads(ran.out.splitlines()[-1])
    return found


@pytest.mark.parametrize("era", IN_SHORT)
def test_nobody_to_ask_is_a_no_and_nothing_hangs(tmp_path: Path, era: str) -> None:
    ran = call(tmp_path, "--era", era, "ask_form")
    assert ran.code == 0
    assert reported(ran)[0]["reply"]["result"] == {"action": "decline"}
    assert "demo asks (form): Please tell us about yourself." in ran.err
    assert "declined: no terminal to ask on." in ran.err
    assert "--answers FILE" in ran.err


@pytest.mark.parametrize("era", IN_SHORT)
def test_a_form_is_filled_in_by_the_names_of_its_fields(
    tmp_path: Path, file: Path, era: str
) -> None:
    file.write_text(json.dumps({"fields": {"name": "Ada", "nothing": 0}}))
    ran = call(tmp_path, "--era", era, "ask_form", "--arg", "fields=name", "--answer", str(file))
    assert ran.code == 0
    assert reported(ran)[0]["reply"]["result"] == {"action": "accept", "content": {"name": "Ada"}}
    assert f"accepted: by {file}, $.fields" in ran.err


@pytest.mark.parametrize("era", IN_SHORT)
def test_questions_are_events_and_answered_from_the_file(
    tmp_path: Path, file: Path, era: str
) -> None:
    file.write_text('{"form": {"cancel": true}, "sampling": {"text": "Rain"}}')
    ran = call(tmp_path, "--era", era, "ask_together", "--json", "--answer", str(file))
    assert ran.code == 0
    questions, answers = ran.only("question"), ran.only("answered")
    assert [each["job"] for each in questions] == [1, 1]
    assert {each["method"] for each in questions} == {
        "elicitation/create",
        "sampling/createMessage",
    }
    assert questions[0]["params"]["message"]
    assert {each["question"] for each in answers} == {each["question"] for each in questions}
    assert {each["action"] for each in answers} == {"cancel", "result"}
    assert all((each["key"] is None) is (era == "handshake") for each in questions)
    kinds = [event["event"] for event in ran.events()]
    assert kinds.index("question") < kinds.index("answered") < kinds.index("result")
    assert kinds.count("result") == 1


def test_a_model_that_refuses_is_an_error_for_the_server(tmp_path: Path) -> None:
    ran = call(tmp_path, "--era", "handshake", "ask_sampling", "--json")
    assert ran.code == 0
    assert ran.only("answered")[0]["action"] == "refuse"


def test_where_a_refusal_cannot_be_said_it_ends_the_call(tmp_path: Path) -> None:
    ran = call(tmp_path, "--era", "per-request", "ask_sampling", "--json")
    assert ran.code == 5
    assert ran.only("error")[0]["message"] == "Refused: User rejected sampling request"


@pytest.mark.parametrize("era", IN_SHORT)
def test_rounds_are_answered_in_order(tmp_path: Path, file: Path, era: str) -> None:
    file.write_text('[{"decline": true}, {"cancel": true}, {"decline": true}]')
    ran = call(tmp_path, "--era", era, "ask_rounds", "--json", "--answer", str(file))
    assert [each["action"] for each in ran.only("answered")] == ["decline", "cancel", "decline"]
    assert len(ran.only("result")) == 1
    assert ran.err == ""


@pytest.mark.parametrize("era", IN_SHORT)
def test_an_answer_that_does_not_fit_is_reported_with_its_path(
    tmp_path: Path, file: Path, era: str
) -> None:
    file.write_text('[{"accept": {"name": "A", "age": "old"}}]')
    ran = call(tmp_path, "--era", era, "ask_form", "--answer", str(file))
    assert reported(ran)[0]["reply"]["result"] == {"action": "decline"}
    assert f"An answer from the file does not fit its question ({file}, $[0])" in ran.err
    assert "\nage: " in ran.err
    assert "\nname: " in ran.err


def test_a_file_that_is_of_no_use_ends_before_anything_runs(tmp_path: Path, file: Path) -> None:
    file.write_text('[{"accept": {}, "kind": "sampling"}]')
    ran = run("call", "x", "--answer", str(file), "--", "/no/such/server")
    assert ran.code == 2
    assert f"Invalid answers ({file}, $[0])" in ran.err
    assert "/no/such/server" not in ran.err
    ran = run("resume", "1", "--answer", str(file / "x"), "--data-dir", str(tmp_path))
    assert ran.code == 2
    assert "Cannot read the answer file" in ran.err


def test_answers_that_nothing_asked_for_are_reported(tmp_path: Path, file: Path) -> None:
    file.write_text('[{"message": "something else", "decline": true}]')
    ran = call(tmp_path, "ask_form", "--answer", str(file))
    assert ran.code == 0
    assert f"Some answers matched no question ({file})\n$[0]\n" in ran.err
    assert f"declined: no matching answer in {file}" in ran.err


def test_many_calls_at_once_are_answered_each(tmp_path: Path, file: Path) -> None:
    file.write_text('{"fields": {"name": "Ada"}}')
    arguments = (
        "ask_form",
        "--arg",
        "fields=name",
        "--repeat",
        "5",
        "--json",
        "--answer",
        str(file),
    )
    ran = call(tmp_path, *arguments)
    assert ran.code == 0
    assert {each["action"] for each in ran.only("answered")} == {"accept"}
    assert len(ran.only("result")) == 5


def test_a_question_that_the_server_cancels_hurts_nothing(tmp_path: Path) -> None:
    ran = call(tmp_path, "--era", "handshake", "question_cancelled", "--arg", "after_s=0", "--json")
    assert ran.code == 0


@pytest.mark.parametrize("fault", ["schema_is_text", "nested_object", "message_missing"])
@pytest.mark.parametrize("era", IN_SHORT)
def test_a_faulty_question_gets_an_answer_and_the_call_its_end(
    tmp_path: Path, file: Path, era: str, fault: str
) -> None:
    file.write_text('{"accept": {"x": 1}}')
    arguments = ("wrong_question", "--arg", f"fault={fault}", "--json", "--answer", str(file))
    ran = call(tmp_path, "--era", era, *arguments)
    assert ran.only("question")[0]["problem"]
    assert ran.only("result")


@pytest.mark.parametrize("era", IN_SHORT)
@pytest.mark.parametrize(
    ("tool", "message"),
    [
        ("form", "accept Person(name='Ada', age=36, size='large')"),
        ("sampling", '"text":"Rain falls"'),
        ("roots", "file:///tmp"),
        ("together", "accept 1 poet"),
    ],
)
def test_a_server_of_the_official_sdk_understands_the_answers(
    tmp_path: Path, file: Path, era: str, tool: str, message: str
) -> None:
    file.write_text(json.dumps(BY_KIND))
    options = ("--data-dir", str(tmp_path / "data"), "--connect-timeout", "30", "--era", era)
    command = (sys.executable, "-c", SOURCE)
    ran = run("call", tool, *options, "--answer", str(file), "--", *command)
    assert ran.code == 0, ran.err
    assert message in ran.out


def set_rules(tmp_path: Path, rules: QuestionRules) -> None:
    """What the user has set for the demo server in the window."""
    (tmp_path / "data").mkdir()
    settings = SettingsFile(tmp_path / "data" / SERVER_SETTINGS)
    settings.put(demo_definition().fingerprint, ServerSettings(rules=rules))


@pytest.mark.parametrize("era", IN_SHORT)
def test_rules_that_were_set_in_the_window_answer_and_are_reported(
    tmp_path: Path, file: Path, era: str
) -> None:
    set_rules(
        tmp_path, QuestionRules(form=QuestionRule(mode="answer", answer={"name": "Rule", "age": 5}))
    )
    arguments = ("--era", era, "ask_form")
    ran = call(tmp_path, *arguments)
    assert reported(ran)[0]["reply"]["result"]["content"] == {"name": "Rule", "age": 5}
    assert "by this server's rule in the window" in ran.err
    events = call(tmp_path, *arguments, "--json")
    (question,) = events.only("question")
    (answered,) = events.only("answered")
    assert (answered["question"], answered["action"]) == (question["question"], "accept")
    file.write_text(json.dumps({"fields": {"name": "File", "age": 6}}))
    ran = call(tmp_path, *arguments, "--answer", str(file))
    assert reported(ran)[0]["reply"]["result"]["content"]["name"] == "File"
    file.write_text(json.dumps([{"message": "Question not found", "accept": {"name": "File"}}]))
    ran = call(tmp_path, *arguments, "--answer", str(file))
    assert reported(ran)[0]["reply"]["result"]["content"] == {"name": "Rule", "age": 5}


def test_what_a_rule_tells_servers_not_to_ask_is_not_declared(tmp_path: Path, file: Path) -> None:
    set_rules(tmp_path, QuestionRules(sampling=QuestionRule(mode="undeclared")))
    declared = '"sampling":{"tools":{}}'
    recording = tmp_path / "a.mcprec"
    call(tmp_path, "ask_form", "--record", str(recording))
    assert declared not in recording.read_text()
    file.write_text(json.dumps([{"text": "It rains."}]))
    other = tmp_path / "b.mcprec"
    call(tmp_path, "ask_form", "--record", str(other), "--answer", str(file))
    assert declared in other.read_text()
