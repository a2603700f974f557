"""Numbers, times and untrusted text read the same everywhere, whatever a server sends."""

import math
import time
import unicodedata
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor import formatting

ANY_FLOAT = st.floats()
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda children: (
        st.lists(children, max_size=3) | st.dictionaries(st.text(), children, max_size=3)
    ),
    max_leaves=8,
)


@pytest.fixture
def _in_vienna(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Europe/Vienna")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (1204, "1,204"),
        (-1234567, "-1,234,567"),
        (0.2, "0.2"),
        (5.0, "5.0"),
        (0.1 + 0.2, "0.30000000000000004"),
        (1234.5, "1,234.5"),
        (1e22, "1e+22"),
        (10**30 - 1, "999," * 9 + "999"),
        (10**30, "1.000e+30"),
        (-(10**400) - 1, "-1.000e+400"),
        pytest.param(10**5000 - 1, "9.999e+4999", id="below-a-power"),
        pytest.param(123456 * 10**6000, "1.234e+6005", id="beyond-str"),
    ],
)
def test_numbers_are_exact_and_grouped(value: float, text: str) -> None:
    assert formatting.number(value) == text


@given(st.integers(10**30, 10**80))
def test_a_long_integer_has_its_first_digits_and_magnitude(value: int) -> None:
    digits = str(value)
    assert formatting.number(value) == f"{digits[0]}.{digits[1:4]}e+{len(digits) - 1}"


@pytest.mark.parametrize(
    ("progress", "total", "text"),
    [
        (632, 1000, "632 / 1,000"),
        (4812, None, "4,812"),
        (0.2, 1.0, "0.2 / 1.0"),
        (None, None, ""),
        (None, 5, ""),
    ],
)
def test_an_amount_is_a_count_with_its_total_where_known(
    progress: float | None, total: float | None, text: str
) -> None:
    assert formatting.amount(progress, total) == text


@pytest.mark.parametrize(
    ("fraction", "text"),
    [
        (0.0, "0.0 %"),
        (0.632, "63.2 %"),
        (0.283, "28.3 %"),
        (0.57, "57.0 %"),
        (0.9996, "99.9 %"),
        (1 - 1e-7, "99.9 %"),
        (1 - 1e-15, "99.9 %"),
        (1.0, "100 %"),
    ],
)
def test_a_hundred_percent_is_reported_at_the_end_only(fraction: float, text: str) -> None:
    assert formatting.percent(fraction) == text


@given(st.integers(0, 999))
def test_every_tenth_of_a_percent_reads_as_itself(thousandths: int) -> None:
    assert formatting.percent(thousandths / 1000) == f"{thousandths // 10}.{thousandths % 10} %"


@given(st.floats(0, 1, exclude_max=True))
def test_a_fraction_below_one_is_never_shown_as_100_percent(fraction: float) -> None:
    text = formatting.percent(fraction)
    assert not text.startswith("100")
    assert text.endswith(" %")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (632, "632"),
        (1_234_567, "1,234,567"),
        (39_765_000, "39.77 M"),
        (1_400_000_000, "1.4 G"),
        (0.7166666666666667, "0.717"),
        (12.3456, "12.35"),
        (1400.0, "1,400"),
        (-0.25, "-0.25"),
        (math.inf, "inf"),
        (10**40, "1.000e+40"),
    ],
)
def test_a_rounded_number_has_no_digits_that_nobody_reads(value: float, text: str) -> None:
    assert formatting.rounded(value) == text


@pytest.mark.parametrize(
    ("per_second", "text"),
    [
        (12, "12/s"),
        (1.24, "1.2/s"),
        (9.96, "10/s"),
        (1204.4, "1,204/s"),
        (0.05, "3.0/min"),
        (0.5, "30/min"),
        (0.0007, "2.5/h"),
        (0.0, "0.0/h"),
        (1e300, "1.0e+300/s"),
        (6_244_657, "6.2 M/s"),
    ],
)
def test_a_rate_is_in_the_unit_that_reads_best(per_second: float, text: str) -> None:
    assert formatting.rate(per_second) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 ms"),
        (0.35, "350 ms"),
        (0.9996, "1.0 s"),
        (3.24, "3.2 s"),
        (9.96, "10 s"),
        (31.2, "31 s"),
        (59.6, "1 min 0 s"),
        (252.0, "4 min 12 s"),
        (3599.7, "1 h 0 min"),
        (3840.0, "1 h 4 min"),
        (183600.0, "2 d 3 h"),
        (1e9, "11,574 d 1 h"),
        (-5.0, "0 ms"),
        (math.inf, "∞"),
        (math.nan, "∞"),
        (3, "3 s"),
        (0, "0 s"),
        (61, "1 min 1 s"),
    ],
)
def test_durations_read_in_their_two_largest_units(seconds: float, text: str) -> None:
    assert formatting.duration(seconds) == text


@pytest.mark.parametrize(
    ("eta_s", "text"),
    [
        (30.2, "31 s left"),
        (0.0, "0 s left"),
        (0.1, "1 s left"),
        (60.0, "1 min 0 s left"),
        (math.inf, "∞ left"),
        (120.5, "2 min 10 s left"),
        (299.0, "5 min left"),
        (1201.0, "21 min left"),
        (5000.0, "1 h 24 min left"),
    ],
)
def test_the_time_left_is_rounded_up_and_no_finer_than_is_of_use(eta_s: float, text: str) -> None:
    assert formatting.time_left(eta_s) == text


@pytest.mark.parametrize(
    ("span_s", "text"),
    [
        ((0.0, 4.2), "up to 5 s left"),
        ((6.0, 14.2), "5-15 s left"),
        ((21.0, 38.0), "20-40 s left"),
        ((40.0, 130.0), "40-130 s left"),
        ((40.0, 190.0), "up to 4 min left"),
        ((181.0, 299.0), "3-5 min left"),
        ((1000.0, 2000.0), "15-35 min left"),
        ((4000.0, 9000.0), "60-150 min left"),
        ((4000.0, 14_000.0), "1-4 h left"),
        ((190_000.0, 300_000.0), "2-4 d left"),
    ],
)
def test_a_doubtful_time_left_is_a_span_that_is_rounded_outwards(
    span_s: tuple[float, float], text: str
) -> None:
    text = text.replace("-", "\N{EN DASH}")
    assert formatting.time_left(sum(span_s) / 2, span_s) == text


def test_silence_is_in_whole_seconds_passed() -> None:
    assert formatting.last_tick(14.9) == "last tick 14 s ago"
    assert formatting.ago(0.2) == "0 s ago"
    assert formatting.ago(math.inf) == "∞ ago"


def test_counts_agree_with_their_noun() -> None:
    assert formatting.count(1, "tick") == "1 tick"
    assert formatting.count(0, "tick") == "0 ticks"
    assert formatting.count(1204, "reply", "replies") == "1,204 replies"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (999_999, "999,999"),
        (1_000_000, "1.0 M"),
        (1_299_999, "1.2 M"),
        (340_060_000, "340.0 M"),
        (3_400_000_000, "3.4 G"),
    ],
)
def test_large_counts_are_abbreviated_and_never_rounded_up(value: int, text: str) -> None:
    assert formatting.count_in_short(value) == text


@pytest.mark.parametrize(
    ("byte_count", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (999_949, "999.9 kB"),
        (999_950, "1.0 MB"),
        (64_000_000, "64.0 MB"),
        (3 * 10**9, "3.0 GB"),
        (5 * 10**15, "5,000.0 TB"),
    ],
)
def test_sizes_have_decimal_prefixes(byte_count: int, text: str) -> None:
    assert formatting.size(byte_count) == text


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the time zone cannot be set here")
@pytest.mark.usefixtures("_in_vienna")
def test_wall_time_is_local_with_milliseconds() -> None:
    assert formatting.clock(1_763_640_067.1239) == "13:01:07.123"
    assert formatting.date_and_clock(1_763_640_067.1239) == "2025-11-20 13:01:07.123"


@pytest.mark.parametrize("when", [1e300, -1e300, math.inf, math.nan])
def test_a_time_beyond_the_calendar_is_shown_as_none(when: float) -> None:
    assert formatting.clock(when) == "--:--:--.---"
    assert formatting.date_and_clock(when) == "---------- --:--:--.---"


def test_the_time_between_neighbours_has_its_sign() -> None:
    assert (formatting.since(0.021), formatting.since(-1204.5)) == ("+0.021", "-1,204.500")


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain, ünïcode, 日本語, 👩‍💻", "plain, ünïcode, 日本語, 👩‍💻"),
        ("one\ntwo\r\n\tthree", r"one\ntwo\r\n\tthree"),
        ("a\u202eb\u2066c\u200f", r"a\u202eb\u2066c\u200f"),
        ("\x1b[31mred\x00\x7f\x9b", r"\x1b[31mred\x00\x7f\x9b"),
        ("zero\u200bwidth\ufeff\xad", r"zero\u200bwidth\ufeff\xad"),
        ("lone\ud800", r"lone\ud800"),
        ("tag\U000e0041", r"tag\U000e0041"),
        ("<b>bold</b>", "<b>bold</b>"),
    ],
)
def test_what_cannot_be_seen_is_made_visible(raw: str, shown: str) -> None:
    assert formatting.visible(raw) == shown


def test_line_ends_can_stay() -> None:
    shown = formatting.visible("one\r\ntwo\n\tthree\rfour\x07", keep_line_ends=True)
    assert shown == "one\ntwo\n\tthree\\rfour\\x07"


@given(st.text(st.characters()))
def test_visible_text_has_no_control_or_direction_character(raw: str) -> None:
    shown = formatting.visible(raw)
    shown.encode()
    kinds = {unicodedata.category(char) for char in shown}
    assert not kinds & {"Cc", "Cs", "Zl", "Zp"}
    assert not {unicodedata.bidirectional(char) for char in shown} & {
        *("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
    }


def test_elision_marks_what_is_left_out() -> None:
    assert formatting.elide("abcdef", 6) == "abcdef"
    assert formatting.elide("abcdefg", 6) == "abcde…"
    assert formatting.elide("abc", 0) == "…"


@given(st.text(st.characters()), st.integers(1, 50))
def test_a_line_is_bounded(raw: str, limit: int) -> None:
    assert len(formatting.one_line(raw, limit)) <= limit


def test_a_line_is_cut_before_it_is_searched() -> None:
    class Counted(str):
        __slots__ = ()
        longest = 0

        def __getitem__(self, key: object) -> str:
            part = super().__getitem__(key)  # type: ignore[index]
            Counted.longest = max(Counted.longest, len(part))
            return part

    assert formatting.one_line(Counted("\n" * 10_000), 10) == r"\n\n\n\n\…"
    assert Counted.longest == 11


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ({}, ""),
        ({"rows": 1000, "path": "a.txt"}, 'rows=1,000 path="a.txt"'),
        ({"on": True, "off": None}, "on=true off=null"),
        ({"o": {"deep": [1, 2.5]}, "e": [], "f": {}}, "o={deep: [1, 2.5]} e=[] f={}"),
        ({"d": {"a": {"b": {"c": 1}}}}, "d={a: {b: {…}}}"),
        ({"q": 'say "hi"\n'}, r'q="say \"hi\"\n"'),
        ({"l": list(range(20))}, "l=[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, …]"),
    ],
)
def test_arguments_are_summed_up_on_one_line(arguments: dict[str, object], line: str) -> None:
    assert formatting.summary(arguments) == line


def test_a_summary_of_anything_but_json_is_its_text() -> None:
    assert formatting.summary({"big": 3 + 4j}) == "big=(3+4j)"


def test_a_summary_takes_bounded_work() -> None:
    asked = 0

    class Endless(dict[str, object]):
        def items(self) -> Iterator[tuple[str, object]]:  # type: ignore[override]
            nonlocal asked
            while True:
                asked += 1
                yield f"name{asked}", "x" * 1_000_000

    assert len(formatting.summary(Endless(), 100)) == 100
    assert asked < 10


@given(st.dictionaries(st.text(), JSON, max_size=3), st.integers(1, 200))
def test_a_summary_is_one_bounded_visible_line(arguments: dict[str, object], limit: int) -> None:
    line = formatting.summary(arguments, limit)
    assert len(line) <= limit
    assert formatting.visible(line) == line


@given(ANY_FLOAT)
def test_any_float_has_words(value: float) -> None:
    for args in (
        formatting.number,
        formatting.duration,
        formatting.time_left,
        formatting.ago,
        formatting.since,
        formatting.rate,
    ):
        assert isinstance(args(value), str)
