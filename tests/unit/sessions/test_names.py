"""Names of servers are made unique."""

from __future__ import annotations

from app.sessions.names import unique_name


def test_a_taken_name_gets_the_next_free_number() -> None:
    assert unique_name("db", []) == "db"
    assert unique_name("db", ["db", "db-2", "db-4"]) == "db-3"
