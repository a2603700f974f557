"""A command's options as the fields of a class: what declares them, and gives them to click.

A field is declared with `option` or `argument`; a subclass that gives it a plain value has no such
option.
"""

from __future__ import annotations

import copy
import functools
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcp_progress_monitor.cli.options import Invocation

T = TypeVar("T")
OrderT = TypeVar("OrderT", bound="Order")


class _Declared:
    """A parameter of click, made when it is first needed: making 400 takes 5 ms of a start."""

    def __init__(
        self, make: Callable[..., click.Parameter], names: tuple[str, ...], how: dict[str, Any]
    ) -> None:
        self._make = make
        self._names = names
        self._how = how
        self._made: click.Parameter | None = None

    def parameter(self, field: str) -> click.Parameter:
        """The parameter, the same one for all commands; its fields have the same name."""
        if self._made is None:
            self._made = self._make((*self._names, field), **self._how)
        return self._made

    @property
    def default(self) -> Any:
        """The value of the field if the option is not given."""
        if self._how.get("is_flag"):
            return False
        is_list = self._how.get("multiple") or self._how.get("nargs") == -1
        return () if is_list else self._how.get("default")


def option(*names: str, cls: Callable[..., click.Parameter] = click.Option, **how: Any) -> Any:
    """Declare a field as an option, with the arguments of `click.option`."""
    return _Declared(cls, names, how)


def argument(**how: Any) -> Any:
    """Declare a field as an argument, with the arguments of `click.argument`."""
    return _Declared(click.Argument, (), how)


class Order:
    """The options of one command as typed.

    In help, own fields come before those of the base classes, in order; a field that is declared
    again, or has a plain value instead, keeps its place.
    """

    _fields: ClassVar[dict[str, _Declared | None]] = {}

    def __init_subclass__(cls) -> None:
        inherited: dict[str, _Declared | None] = {}
        for base in cls.__bases__:
            inherited |= getattr(base, "_fields", {})
        own = {name: each for name, each in vars(cls).items() if isinstance(each, _Declared)}
        fixed = dict.fromkeys(inherited.keys() & vars(cls).keys())
        first = {name: each for name, each in own.items() if name not in inherited}
        cls._fields = {**first, **inherited, **fixed, **own}

    def __init__(self, **given: Any) -> None:
        vars(self).update({name: each.default for name, each in self.declared()})
        vars(self).update(given)
        self.check()

    @classmethod
    def declared(cls) -> Iterator[tuple[str, _Declared]]:
        return ((name, each) for name, each in cls._fields.items() if each is not None)

    def check(self) -> None:
        """Refuse options that contradict each other."""

    def replaced(self, **changes: Any) -> Self:
        """A copy with other values."""
        made = copy.copy(self)
        vars(made).update(changes)
        return made


def takes(order: type[OrderT]) -> Callable[[Callable[[Invocation, OrderT], T]], Callable[..., T]]:
    """Give a command the options of a class; the function receives them as its object."""

    def decorate(function: Callable[[Invocation, OrderT], T]) -> Callable[..., T]:
        @functools.wraps(function)
        def command(invocation: Invocation, /, **given: Any) -> T:
            return function(invocation, order(**given))

        made = [each.parameter(name) for name, each in order.declared()]
        held = vars(function).get("__click_params__", ())  # click lists them from the last one
        vars(command)["__click_params__"] = [*held, *reversed(made)]
        return command

    return decorate
