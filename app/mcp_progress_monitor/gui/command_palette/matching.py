"""Fuzzy matching: whether the letters typed are in a text in their order, and how well.

As in editors: the beginnings of words and letters that follow one another count most, so that
`rcf` finds "Remove call filters" before "for each of".
"""

from __future__ import annotations

from typing import Final, NamedTuple

_WORD_START: Final = 8
_IN_A_ROW: Final = 5
_SAME_CASE: Final = 1  # of capitals alone: who types small letters means any
_FIRST: Final = 6
_GAP: Final = 1
_GAP_AT_MOST: Final = 10
_TRIES: Final = 12
"""Places that a first letter is tried at: long texts of servers must not take long."""


class Match(NamedTuple):
    """How well a text matches, and the places of the letters in it."""

    score: int
    places: tuple[int, ...]


def match(query: str, text: str) -> Match | None:
    """Match every word of `query` in `text`; None when one is not in it."""
    score, places = 0, set[int]()
    folded = _folded(text)
    for word in query.split():
        found = _match_word(word, text, folded)
        if found is None:
            return None
        score += found.score
        places.update(found.places)
    return Match(score, tuple(sorted(places)))


def _folded(text: str) -> str:
    """The text in small letters, as long as it was: a letter that would be two stays."""
    small = text.lower()
    if len(small) == len(text):
        return small
    return "".join(lower if len(lower := each.lower()) == 1 else each for each in text)


def _match_word(word: str, text: str, folded: str) -> Match | None:
    wanted = _folded(word)
    best: Match | None = None
    start = folded.find(wanted[0])
    for _ in range(_TRIES):
        if start < 0:
            break
        found = _from(wanted, folded, start)
        if found is None:
            break  # what is not found from here is not found from further on
        rated = Match(_score(word, text, found), found)
        if best is None or rated.score > best.score:
            best = rated
        start = folded.find(wanted[0], start + 1)
    return best


def _from(wanted: str, folded: str, start: int) -> tuple[int, ...] | None:
    """The places of the letters from `start` on; each at the start of a word if that can be."""
    places = [start]
    for at, letter in enumerate(wanted[1:], 1):
        after = places[-1] + 1
        place = folded.find(letter, after)
        if place < 0:
            return None
        if place != after:
            place = _at_word(wanted[at:], folded, place)
        places.append(place)
    return tuple(places)


def _at_word(rest: str, folded: str, place: int) -> int:
    """The first start of a word with the next letter, if what follows can still be found there."""
    better = place
    while better >= 0 and not _is_start(folded, better):
        better = folded.find(rest[0], better + 1)
    if better < 0 or not _is_in(rest, folded, better):
        return place
    return better


def _is_in(rest: str, folded: str, place: int) -> bool:
    for letter in rest:
        place = folded.find(letter, place) + 1
        if not place:
            return False
    return True


def _is_start(text: str, place: int) -> bool:
    return place == 0 or not text[place - 1].isalnum()


def _score(word: str, text: str, places: tuple[int, ...]) -> int:
    score, before = 0, -1
    for letter, place in zip(word, places, strict=False):
        is_hump = place > 0 and text[place].isupper() and text[place - 1].islower()
        if _is_start(text, place) or is_hump:
            score += _WORD_START
        if before >= 0:
            skipped = place - before - 1
            score += _IN_A_ROW if not skipped else -min(_GAP * skipped, _GAP_AT_MOST)
        score += _SAME_CASE * (letter.isupper() and text[place] == letter)
        before = place
    return score + (_FIRST if places[0] == 0 else 0)
