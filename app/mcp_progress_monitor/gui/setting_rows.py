"""The kinds of settings: each setting is one row of a `Section`, with all that is known about it.

The settings dialog, the saved file and the reference page are made from the rows. Nothing here
imports Qt, and no validation classes are loaded: some settings are read before the first paint.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, NamedTuple, Self, TypeVar, overload

from mcp_progress_monitor.formatting import duration
from mcp_progress_monitor.snapshots.limits import LONGEST_LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")


class Group(NamedTuple):
    """Rows that are indented below the flag `needs`, and disabled with it; below a text as well."""

    needs: str = ""
    text: str = ""


_NONE: Final = Group()
_LONGEST_LINE: Final = 2_000


@dataclasses.dataclass(eq=False)
class Row:
    """A row of a page: its texts and its place below the row that is declared before it."""

    label: str  # with its mnemonic
    tip: str
    _: dataclasses.KW_ONLY
    heading: str = ""  # begins another part of the page
    note: str = ""  # muted lines above the row
    after: str = ""  # muted text below it
    within: Group = _NONE
    beside: bool = False  # on the line of the row before
    spoken: str = ""  # the accessible name, if the label does not stand alone

    def __set_name__(self, owner: type[Section], name: str) -> None:
        self.section, self.name = owner, name

    @property
    def title(self) -> str:
        return self.spoken or self.label.replace("&", "")


@dataclasses.dataclass(eq=False)
class Setting(Row, Generic[T]):
    """A row with a value. A section's class has the row, its instances have values."""

    default: T
    _: dataclasses.KW_ONLY
    saved: tuple[str, str] = ("", "")  # object and member, if not called as the section and the row
    earlier: tuple[str, str] = ("", "")  # those of earlier versions

    @overload
    def __get__(self, values: None, owner: type[Section]) -> Self: ...

    @overload
    def __get__(self, values: Section, owner: type[Section]) -> T: ...

    def __get__(self, values: Section | None, owner: type[Section]) -> Self | T:
        if values is None:
            return self
        value: T = values.as_dict()[self.name]
        return value

    @property
    def place(self) -> tuple[str, str]:
        """The object in the preferences that has the value, and the member of it."""
        return self.saved if self.saved[0] else (f"settings/{self.section.key}", self.name)

    def kept(self, json_of: Callable[[str], Mapping[str, Any]]) -> T:
        """The saved value; the default if there is none, or no valid one."""
        for key, name in (self.place, self.earlier):
            kept = json_of(key) if key else {}
            if name in kept:
                return self.read(kept[name]) if self.is_valid(kept[name]) else self.default
        return self.default

    def is_valid(self, kept: Any) -> bool:
        """True if `kept`, which is any JSON, can be read."""
        raise NotImplementedError

    def read(self, kept: Any) -> T:
        value: T = kept
        return value

    def written(self, value: T) -> Any:
        """`value` as JSON."""
        return value

    def shown(self, value: T) -> str:
        """`value` in the reference."""
        return str(value)

    @property
    def range(self) -> str:
        """The possible values, in the reference."""
        raise NotImplementedError


@dataclasses.dataclass(eq=False)
class Flag(Setting[bool]):
    """On or off: a check box."""

    default: bool = True

    def is_valid(self, kept: Any) -> bool:
        return isinstance(kept, bool)

    def shown(self, value: bool) -> str:  # any value is shown so
        return "on" if value else "off"

    @property
    def range(self) -> str:
        return "on, off"


@dataclasses.dataclass(eq=False)
class Number(Setting[int]):
    """An integer in a spin box, which counts in `unit`."""

    _: dataclasses.KW_ONLY
    least: int
    most: int
    unit: int = 1
    suffix: str = ""

    def is_valid(self, kept: Any) -> bool:
        return type(kept) is int and self.least <= kept // self.unit <= self.most

    def shown(self, value: int) -> str:
        return f"{value // self.unit:,}{self.suffix}"

    @property
    def range(self) -> str:
        return f"{self.least:,} to {self.most:,}{self.suffix}"


@dataclasses.dataclass(eq=False)
class Seconds(Setting[float]):
    """A time limit in seconds, typed; 0 for none."""

    range = "seconds, 0 for no limit"

    def is_valid(self, kept: Any) -> bool:
        return type(kept) in {int, float} and 0 <= kept <= LONGEST_LIMIT_S

    def shown(self, value: float) -> str:
        return duration(value) if value else "none"


@dataclasses.dataclass(eq=False)
class Line(Setting[str]):
    """A line of text."""

    default: str = ""
    _: dataclasses.KW_ONLY
    example: str = ""  # shown while it is empty

    range = "text"

    def is_valid(self, kept: Any) -> bool:
        return isinstance(kept, str) and len(kept) <= _LONGEST_LINE

    def shown(self, value: str) -> str:
        return value or "none"


@dataclasses.dataclass(eq=False)
class TimeOfDay(Setting[datetime.time]):
    """A local time of day, to the minute."""

    range = "00:00 to 23:59"

    def is_valid(self, kept: Any) -> bool:
        try:
            return bool(self.read(kept))
        except (TypeError, ValueError):
            return False

    def read(self, kept: Any) -> datetime.time:
        return datetime.time.fromisoformat(kept)

    def written(self, value: datetime.time) -> str:
        return value.isoformat()

    def shown(self, value: datetime.time) -> str:
        return f"{value:%H:%M}"


@dataclasses.dataclass(eq=False)
class Choice(Setting[T]):
    """One of a few, each with its text: a list, or a button for each."""

    _: dataclasses.KW_ONLY
    choices: Mapping[Any, str]
    are_buttons: bool = False

    def is_valid(self, kept: Any) -> bool:
        return type(kept) in {str, int} and kept in self.choices

    def shown(self, value: T) -> str:
        return self.choices[value].replace("&", "")

    @property
    def range(self) -> str:
        return ", ".join(self.choices.values()).replace("&", "")


@dataclasses.dataclass(eq=False)
class ByServer(Choice[Mapping[str, str]]):
    """A choice for each server, by its name; servers that have the first one are left out."""

    def is_valid(self, kept: Any) -> bool:
        return isinstance(kept, dict) and all(map(super().is_valid, kept.values()))

    def shown(self, value: Mapping[str, str]) -> str:
        return ", ".join(value) or next(iter(self.choices.values()))


@dataclasses.dataclass(eq=False)
class Button(Row):
    """A button: what it does is not a setting."""

    _: dataclasses.KW_ONLY
    is_once: bool = False  # disabled after it was pressed
    is_reset: bool = False  # sets the whole section to its defaults


class Section:
    """A page of settings: rows by their names. An instance holds one value for each setting."""

    key: ClassVar[str]
    title: ClassVar[str]
    icon: ClassVar[str]
    is_live: ClassVar[bool]  # useless for a recording

    def __init_subclass__(cls, *, key: str, title: str, icon: str, is_live: bool = False) -> None:
        cls.key, cls.title, cls.icon, cls.is_live = key, title, icon, is_live

    def __init__(self, **values: Any) -> None:
        settings = self.settings()
        if unknown := values.keys() - settings.keys():
            raise TypeError(f"{type(self).__name__} has no {', '.join(sorted(unknown))}")
        self._values = {name: each.default for name, each in settings.items()} | values

    @classmethod
    def rows(cls) -> Sequence[Row]:
        """All rows, from top to bottom."""
        return [each for each in vars(cls).values() if isinstance(each, Row)]

    @classmethod
    def settings(cls) -> dict[str, Setting[Any]]:
        return {each.name: each for each in cls.rows() if isinstance(each, Setting)}

    @classmethod
    def taken_from(cls, source: object) -> Self:
        """The values of the attributes that are called as the settings."""
        return cls(**{name: getattr(source, name) for name in cls.settings()})

    def changed(self, **values: Any) -> Self:
        return type(self)(**{**self._values, **values})

    def as_dict(self) -> dict[str, Any]:
        return self._values

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._values == vars(other)["_values"]

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in self._values.items())
        return f"{type(self).__name__}({values})"
