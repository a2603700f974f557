"""The saved jobs: all that the user must know to choose, and no token."""

import errno
import json
import math
from pathlib import Path
from typing import Any

import anyio
import pytest
from filelock import FileLock

from mcp_progress_monitor.cli.calls.saved_jobs import SavedJobs, document, listing
from mcp_progress_monitor.cli.entry import main
from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.store.chains import SavedChain, SavedProgress
from mcp_progress_monitor.store.resumes import FILE, ResumeStore
from mcp_progress_monitor.store.tasks import SavedTask, TaskStanding
from tests.unit.cli.chains import NOW, asked, chain


def entry(saved: SavedChain) -> dict[str, Any]:
    """The one job of the JSON document."""
    (only,) = json.loads(document(SavedJobs([saved]), None, NOW))["jobs"]
    assert isinstance(only, dict)
    return only


def test_the_table_has_a_row_for_each_job_and_its_last_lines_below() -> None:
    refused = chain(
        id=12,
        origin=asked("resources/read", uri="file:///a\x1b[2J"),
        is_usable=False,
        reason="The server refused the token: expired",
        standing=SavedProgress(),
        attempt_count=1,
    )
    elsewhere = chain(id=13, is_elsewhere=True)
    assert listing(SavedJobs([chain(), refused, elsewhere]), NOW).splitlines() == [
        "ID  SERVER    JOB               STOPPED   PROGRESS         ATTEMPTS  STATE",
        "3   local-db  export_orders     14 s ago  5 / 20 (25.0 %)  2         resumable",
        '    region="eu"',
        "    Chunk 5 of 20",
        r"12  local-db  file:///a\x1b[2J  14 s ago                   1         refused",
        "    The server refused the token: expired",
        "13  local-db  export_orders     14 s ago  5 / 20 (25.0 %)  2         in another program",
        '    region="eu"',
        "    Chunk 5 of 20",
    ]


def test_columns_stay_straight_beside_wide_characters() -> None:
    wide = chain(origin=chain().origin._replace(server="資料庫"))
    header, row = listing(SavedJobs([wide]), NOW).splitlines()[:2]
    assert header.index("JOB") == row.index("export_orders") + 3


def test_the_document_has_a_stable_shape() -> None:
    assert entry(chain()) == {
        "resume_id": 3,
        "server": "local-db",
        "client": None,
        "method": "tools/call",
        "name": "export_orders",
        "summary": 'region="eu"',
        "created": "2026-11-20T15:01:07.000Z",
        "updated": "2026-11-20T16:00:52.500Z",
        "age_s": 14.5,
        "progress": 5,
        "total": 20,
        "message": "Chunk 5 of 20",
        "attempts": 2,
        "reason": None,
        "usable": True,
        "elsewhere": False,
    }


def test_the_unknown_is_null_and_oddities_are_still_json() -> None:
    odd = entry(
        chain(
            standing=SavedProgress(math.inf, None, "half \ud800"),
            updated_when=NOW + 100,
            created_when=1e300,
        )
    )
    assert (odd["progress"], odd["total"], odd["message"]) == ("Infinity", None, "half \ud800")
    assert (odd["age_s"], odd["created"]) == (0.0, None)


def test_what_is_wrong_with_the_store_is_in_the_document() -> None:
    found = json.loads(document(SavedJobs(), ErrorDetails("Full", "/here", "Free some space"), NOW))
    error = {"what": "Full", "where": "/here", "hint": "Free some space", "detail": ""}
    assert found == {"jobs": [], "tasks": [], "problem": error}


def test_tokens_are_in_neither() -> None:
    assert "s3cret" not in document(SavedJobs([chain()]), None, NOW) + listing(
        SavedJobs([chain()]), NOW
    )


async def _saved(data_dir: Path) -> None:
    store = ResumeStore(data_dir)
    await store.open()
    saved = chain()
    await store.begin(
        saved.origin, "s3cret", saved.standing, started_when=NOW - 60, when=NOW - 14.5
    )
    await store.close()


class TestCommand:
    def test_saved_jobs_are_listed(
        self, data_dir: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        anyio.run(_saved, data_dir)
        assert main(["resume", "--list", "--data-dir", str(data_dir)]) == 0
        assert main(["--data-dir", str(data_dir), "resume", "--json", "--list"]) == 0
        said = capsys.readouterr()
        table, _, rest = said.out.partition("{\n")
        assert "export_orders" in table
        assert json.loads("{" + rest)["jobs"][0]["resume_id"] == 1
        assert said.err == ""

    def test_an_empty_store_is_no_failure(
        self, data_dir: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["resume", "--list", "--data-dir", str(data_dir)]) == 0
        assert capsys.readouterr() == ("No saved jobs.\n", "")

    def test_a_damaged_store_is_reported_and_where_it_lies(
        self, data_dir: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (data_dir / FILE).write_bytes(b"no database at all" * 100)
        assert main(["resume", "--list", "--json", "--data-dir", str(data_dir)]) == 0
        said = capsys.readouterr()
        assert json.loads(said.out)["problem"]["what"].startswith("The saved resume tokens were")
        assert f"{FILE}.damaged-" in said.err

    def test_a_store_that_cannot_be_opened_is_an_unreadable_file(
        self, data_dir: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (data_dir / FILE).symlink_to(data_dir / FILE)
        assert main(["resume", "--list", "--data-dir", str(data_dir)]) == 8
        said = capsys.readouterr()
        assert said.out == ""
        assert str(data_dir / FILE) in said.err

    @pytest.mark.parametrize("arguments", [["--list"], ["--list", "--json"], []])
    @pytest.mark.parametrize("is_there", [True, False])
    def test_a_store_that_can_only_be_read_is_never_said_to_be_empty(
        self,
        data_dir: Path,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
        arguments: list[str],
        is_there: bool,
    ) -> None:
        def refuse(*_: object) -> None:
            raise PermissionError(errno.EACCES, "Permission denied")

        if is_there:
            assert main(["resume", "--list", "--data-dir", str(data_dir)]) == 0
            capsys.readouterr()
        monkeypatch.setattr(
            "mcp_progress_monitor.store.database.DatabaseOpener._make_private", refuse
        )
        code = 8 if is_there else 0
        assert main(["resume", *arguments, "--data-dir", str(data_dir)]) == code
        said = capsys.readouterr()
        assert said.err.count("The saved resume tokens cannot be") == 1
        if is_there:
            assert said.out == ""
        elif "--json" in arguments:
            document = json.loads(said.out)
            assert document["jobs"] == []
            assert document["problem"]["where"] == str(data_dir / FILE)
        else:
            assert said.out == "No saved jobs.\n"

    def test_a_folder_that_cannot_be_made_is_wrong_usage(
        self, data_dir: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (data_dir / "file").touch()
        arguments = ["resume", "--list", "--data-dir", str(data_dir / "file" / "below")]
        assert main(arguments) == 2
        assert "Cannot create the data folder" in capsys.readouterr().err

    def test_without_an_id_those_there_are_are_shown(
        self, data_dir: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        anyio.run(_saved, data_dir)
        assert main(["resume", "--data-dir", str(data_dir)]) == 0
        said = capsys.readouterr()
        assert said.out.startswith("ID  SERVER")
        assert said.err == ""

    @pytest.mark.parametrize("option", ["--auto-resume", "--demo"])
    def test_without_an_id_nothing_is_resumed(
        self, option: str, data_dir: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["resume", option, "--data-dir", str(data_dir)]) == 2
        assert "resume --list" in capsys.readouterr().err


def saved_task(**changes: Any) -> SavedTask:
    """A task that was heard of 14.5 s before `NOW`, and is kept for an hour."""
    progress = SavedProgress(5, 20, "Chunk 5 of 20")
    plain = SavedTask(
        id=2,
        origin=chain().origin,
        task="T",
        is_flat=True,
        standing=TaskStanding("input_required", "Who?\n", "?", 3_600_000, 500, progress),
        started_when=NOW - 61,
        began_when=NOW - 60,
        updated_when=NOW - 14.5,
        is_elsewhere=False,
    )
    return plain._replace(**changes)


def test_tasks_have_rows_of_their_own() -> None:
    gone = saved_task(id=11, began_when=NOW - 3600.5)
    endless = saved_task(id=12, standing=TaskStanding("working"), is_elsewhere=True)
    what = "local-db  export_orders  14 s ago"
    assert listing(SavedJobs([], [saved_task(), gone, endless]), NOW).splitlines() == [
        "ID   SERVER    JOB            STOPPED   PROGRESS         ATTEMPTS  STATE",
        f"t2   {what}  5 / 20 (25.0 %)            task, input required, kept for 59 min 0 s",
        '    region="eu"',
        "    Who?\\n",
        f"t11  {what}  5 / 20 (25.0 %)            task, expired",
        '    region="eu"',
        "    Who?\\n",
        f"t12  {what}                             task, followed by another program",
        '    region="eu"',
    ]


def test_tasks_are_in_the_document() -> None:
    content = json.loads(document(SavedJobs([], [saved_task()]), None, NOW))
    assert content["jobs"] == []
    assert content["tasks"] == [
        {
            "resume_id": "t2",
            "server": "local-db",
            "client": None,
            "method": "tools/call",
            "name": "export_orders",
            "summary": 'region="eu"',
            "created": "2026-11-20T16:00:06.000Z",
            "updated": "2026-11-20T16:00:52.500Z",
            "age_s": 14.5,
            "taskId": "T",
            "status": "input_required",
            "statusMessage": "Who?\n",
            "expires": "2026-11-20T17:00:07.000Z",
            "progress": 5,
            "total": 20,
            "elsewhere": False,
        }
    ]


def test_what_can_be_resumed_is_named() -> None:
    saved = SavedJobs([chain(id=3), chain(id=4, is_usable=False)], [saved_task()])
    assert [str(each) for each in saved.usable()] == ["3", "t2"]


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_locked_store_is_never_said_to_be_empty(
    data_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    form: list[str],
) -> None:
    monkeypatch.setattr("mcp_progress_monitor.store.database.BUSY_S", 0.05)
    anyio.run(_made, data_dir)
    with FileLock(data_dir / f"{FILE}.lock"):
        assert main(["resume", "--list", *form, "--data-dir", str(data_dir)]) == 8
    out, err = capsys.readouterr()
    assert out == ""
    assert "another program has locked them" in err


async def _made(data_dir: Path) -> None:
    """Make a store with nothing in it."""
    store = ResumeStore(data_dir)
    await store.open()
    await store.close()
