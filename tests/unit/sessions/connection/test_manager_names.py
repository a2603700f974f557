"""Names of servers are made unique."""

from mcp_progress_monitor.sessions.connection.manager import unique_name


def test_a_taken_name_gets_the_next_free_number() -> None:
    assert unique_name("db", []) == "db"
    assert unique_name("db", ["db", "db-2", "db-4"]) == "db-3"


def test_a_long_name_is_cut_and_its_numbers_are_not() -> None:
    first = unique_name("界" * 500, ())
    assert first == "界" * 80
    assert unique_name("界" * 500, (first,)) == f"{first}-2"


def test_half_a_character_cannot_be_written_to_a_file() -> None:
    assert unique_name("a\ud800b", ()) == "a?b"
