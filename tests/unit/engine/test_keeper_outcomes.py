"""The store's words for ends of attempts and those of jobs are the same ones."""

from mcp_progress_monitor.engine.keeper import OUTCOMES, STATES
from mcp_progress_monitor.store.chains import SavedOutcome
from mcp_progress_monitor.tracker.snapshot import JobState


def test_every_saved_outcome_maps_to_a_state_and_back() -> None:
    assert set(STATES) == set(SavedOutcome) - {SavedOutcome.RUNNING, SavedOutcome.UNKNOWN}
    assert len(OUTCOMES) == len(STATES)


def test_words_are_those_of_states_where_there_are_some() -> None:
    for outcome, state in STATES.items():
        word = state.value if isinstance(state, JobState) else state
        assert word.casefold() == outcome.value
