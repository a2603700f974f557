"""A figure may rise only if `figures.toml` names the feature that needs it."""

import pytest

from tests.architecture import good_signs
from tests.architecture.good_signs import FIGURES, Figure


def test_no_figure_is_beyond_its_limit() -> None:
    figures = good_signs.limited()
    assert [error for figure in figures if (error := figure.error())] == []
    assert good_signs.limits().keys() == {figure.name for figure in figures}


@pytest.mark.parametrize(
    ("count", "limit", "said"),
    [
        (1000, 1000, ""),
        (980, 1000, ""),
        (1001, 1000, "name the feature"),
        (979, 1000, "Lower its limit"),
        (3, 8, ""),
        (2, 8, "Lower its limit"),
        (3, None, "Give it a limit"),
    ],
)
def test_a_figure_that_left_its_limit_says_what_to_do(
    count: int, limit: int | None, said: str
) -> None:
    error = Figure("lines", count, limit).error()
    assert bool(error) == bool(said)
    assert said in error
    assert not error or (f"lines: {count}" in error or f"only {count}" in error)
    assert not error or FIGURES.name in error
