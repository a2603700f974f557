"""Whatever the log and the filter, a compiled predicate finds what a plain reading finds."""

from hypothesis import given

from mcp_progress_monitor.filtering.expressions import Expression
from tests.unit.filtering import oracle
from tests.unit.filtering.logs import Log, all_of
from tests.unit.filtering.strategies import EXPRESSIONS, logs


@given(logs(), EXPRESSIONS)
def test_a_predicate_finds_what_the_oracle_finds(log: Log, expression: Expression) -> None:
    assert all_of(log.search(str(expression)), 0) == oracle.shown(expression, log.entries)
