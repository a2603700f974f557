"""What an import would do is said as plain text."""

from mcp_progress_monitor.catalogue.catalogue import CatalogueEntry
from mcp_progress_monitor.catalogue.reading import FoundServer, ImportRow, ImportStatus
from mcp_progress_monitor.catalogue.variables import Input
from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.snapshots.definitions import StdioDefinition
from mcp_progress_monitor.wording.clients import (
    STATUS_TEXTS,
    address_or_error,
    detail_lines,
    error_lines,
    found_name,
    required_inputs,
)

FOUND = StdioDefinition(name="db", command="new", args=("a b",), env={"KEY": "hush"})
HELD = CatalogueEntry(StdioDefinition(name="db", command="old", cwd="/srv"))


def row(standing: ImportStatus = ImportStatus.NEW, **found: object) -> ImportRow:
    made = FoundServer(FOUND, **found)  # type: ignore[arg-type]  # any of its fields
    return ImportRow(made, standing, "db", ("command", "folder"))


def test_what_changed_is_reported_old_and_new_and_no_value_is() -> None:
    text = "\n".join(detail_lines(row(ImportStatus.CHANGED), {"db": HELD}))
    assert "saved:   old" in text
    assert "in file: new 'a b'" in text
    assert "saved:   /srv" in text
    assert "Changed: command, folder" in text
    assert "hush" not in text


def test_what_else_is_known_of_a_server_is_reported() -> None:
    asks = (Input("key", "The key", is_secret=True),)
    found = row(is_disabled=True, asks=asks, notes=("its variables are read now",))
    text = "\n".join(detail_lines(found._replace(name="db 2"), {}))
    assert "Saved as: db 2" in text
    assert "disabled" in text
    assert "Note: its variables are read now" in text
    assert "Requires: The key" in text


def test_a_server_of_which_nothing_can_be_made_says_why() -> None:
    error = ErrorDetails("command: Field required", "mcp.json, server 'x'")
    unusable = ImportRow(None, ImportStatus.UNUSABLE, "x", (), error)
    assert detail_lines(unusable, {}) == [error.as_text()]
    assert (found_name(unusable), address_or_error(unusable)) == ("x", error.what)
    assert STATUS_TEXTS[ImportStatus.UNUSABLE] == "cannot be used"


def test_what_several_servers_ask_for_is_asked_once() -> None:
    asks = (Input("key"),)
    other = FoundServer(FOUND.model_copy(update={"name": "b"}), asks=(*asks, Input("region")))
    found = required_inputs([row(asks=asks), ImportRow(other, ImportStatus.NEW, "b")])
    assert [(each.input.id, each.servers) for each in found] == [
        ("key", ("db", "b")),
        ("region", ("b",)),
    ]


def test_errors_keep_their_lines_and_show_what_is_hidden() -> None:
    text = error_lines([ErrorDetails("bad\u202e", "f, line 2", detail="  x\n  ^")])
    assert text == "bad\\u202e (f, line 2)\n  x\n  ^"


def test_secrets_among_arguments_are_not_shown() -> None:
    args = ("--api-key", "hush1", "postgres://u:hush2@h/db")
    server = StdioDefinition(name="pg", command="c", args=args)
    found = ImportRow(FoundServer(server), ImportStatus.NEW, "pg")
    text = "\n".join([address_or_error(found), *detail_lines(found, {})])
    assert "hush" not in text
    assert "u:***@h/db" in text
