"""Numbers of recorded frames: as recorded, never twice."""

from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.recording.numbering import MOST_NUMBER, FrameNumbering


class _Clashes:
    def __init__(self) -> None:
        self.count = 0

    def note(self) -> None:
        self.count += 1


def _numbers() -> FrameNumbering:
    return FrameNumbering(_Clashes().note)


def test_numbers_count_up_from_one() -> None:
    numbers = _numbers()
    assert [numbers.take(), numbers.take(3), numbers.take()] == [1, 2, 5]


def test_numbers_may_go_back_to_those_that_were_left_out() -> None:
    numbers = _numbers()
    assert numbers.take(2) == 1
    assert numbers.go_to(10)
    assert numbers.take(5) == 10
    assert numbers.go_to(3)
    assert numbers.take(7) == 3
    assert numbers.go_to(15)
    assert numbers.take() == 15


def test_a_number_that_was_given_is_refused() -> None:
    numbers = _numbers()
    numbers.take(5)
    assert numbers.go_to(20)
    numbers.take(5)
    for given_one in (1, 5, 20, 24):
        assert not numbers.go_to(given_one)
    assert not numbers.go_to(0)
    assert not numbers.go_to(MOST_NUMBER + 1)
    assert numbers.take() == 25


def test_counting_into_given_numbers_goes_on_beyond_them() -> None:
    clashes = _Clashes()
    numbers = FrameNumbering(clashes.note)
    numbers.go_to(10)
    numbers.take(5)
    numbers.go_to(8)
    assert numbers.take(2) == 8
    assert clashes.count == 0
    assert numbers.take(2) == 15
    assert clashes.count == 1


@given(st.lists(st.one_of(st.integers(-2, 60), st.tuples(st.integers(1, 6)))))
def test_no_number_is_given_twice_whatever_a_file_says(steps: list[int | tuple[int]]) -> None:
    numbers = _numbers()
    given_out: list[int] = []
    for step in steps:
        if isinstance(step, int):
            is_free = numbers.go_to(step)
            assert is_free or step < 1 or step in given_out
        else:
            first = numbers.take(step[0])
            given_out += range(first, first + step[0])
    assert len(set(given_out)) == len(given_out)
