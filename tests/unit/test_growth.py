from __future__ import annotations

from tests.growth import is_linear


def _linear(size: int) -> None:
    for _ in range(size):
        pass


def _quadratic(size: int) -> None:
    for _ in range(size):
        _linear(size)


def test_work_that_grows_as_its_size_does_is_linear() -> None:
    assert is_linear(_linear, 800_000)


def test_work_that_grows_as_the_square_of_its_size_does_is_not() -> None:
    assert not is_linear(_quadratic, 1_600)
