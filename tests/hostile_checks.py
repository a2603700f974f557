"""Schemas and values that make naive validators run for ever, or hold the interpreter's lock."""

import functools
import random
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple


class HostileCase(NamedTuple):
    """A schema with a value, made when it is needed: some are large.

    `is_fine` for those that are only large, and have to be checked.
    """

    name: str
    make: Callable[[], tuple[Any, Any]]
    is_fine: bool = False

    def __str__(self) -> str:
        return self.name


def chain(length: int, link: Callable[[dict[str, str]], Any], end: Any) -> dict[str, Any]:
    """Definitions that each refer to the next by `link`."""
    parts = {f"d{n}": link({"$ref": f"#/$defs/d{n + 1}"}) for n in range(length)}
    return {"$ref": "#/$defs/d0", "$defs": {**parts, f"d{length}": end}}


def nested(depth: int, wrap: Callable[[Any], Any], core: Any) -> Any:
    for _ in range(depth):
        core = wrap(core)
    return core


LINKS: Final[dict[str, Callable[[dict[str, str]], Any]]] = {
    "allOf": lambda ref: {"allOf": [ref, ref]},
    "anyOf": lambda ref: {"anyOf": [ref, ref]},
    "oneOf": lambda ref: {"oneOf": [ref, ref]},
    "if": lambda ref: {"if": ref, "then": ref, "else": ref},
    "not": lambda ref: {"not": ref, "allOf": [ref]},
    "dependentSchemas": lambda ref: {"dependentSchemas": {"a": ref, "b": ref}},
    "$ref beside": lambda ref: {**ref, "allOf": [ref]},
    "unevaluated": lambda ref: {"allOf": [ref], "unevaluatedProperties": False},
    "unevaluated items": lambda ref: {"anyOf": [ref, ref], "unevaluatedItems": False},
    "properties": lambda ref: {
        "properties": {"a": ref},
        "additionalProperties": ref,
        "allOf": [ref],
    },
}
VALUES: Final[dict[str, Any]] = {"object": {"a": 1, "b": 2}, "list": [1, 2], "text": "x"}


def _chained(link: Callable[[dict[str, str]], Any], length: int, value: Any) -> tuple[Any, Any]:
    return chain(length, link, {"type": "null"}), value


def _chains() -> Iterator[HostileCase]:
    for name, link in LINKS.items():
        for length in (16, 26, 60):
            for kind, value in VALUES.items():
                make = functools.partial(_chained, link, length, value)
                yield HostileCase(f"{length} x {name}, {kind}", make)


def _recursive(keyword: str, depth: int) -> tuple[Any, Any]:
    twice = [{keyword: {"$ref": "#"}}, {keyword: {"$ref": "#"}}]
    return {"allOf": twice, "type": ["object", "array"]}, nested(depth, lambda v: {"a": v}, {})


def _unevaluated(keyword: str, outer: str, depth: int) -> tuple[Any, Any]:
    schema = nested(depth, lambda s: {outer: [s, {}], keyword: False}, {"type": "null"})
    return schema, {"a": [1]}


def _pair(schema: Any, value: Any) -> tuple[Any, Any]:
    return schema, value


def _dynamic() -> Any:
    twice = [{"$dynamicRef": "#n"}] * 2
    return {"$dynamicAnchor": "n", "properties": {"a": {"allOf": twice}}}


def _random_text(length: int) -> str:
    return "".join(random.Random(1).choices("xz", k=length))  # noqa: S311


def _many(count: int, part: Any) -> Any:
    return {"properties": {f"f{n}": part for n in range(count)}}


CASES: Final = (
    *_chains(),
    *(
        HostileCase(
            f"recursive {keyword}, {depth} deep",
            functools.partial(_recursive, keyword, depth),
            is_fine=depth < 10 and keyword != "unevaluatedProperties",
        )
        for keyword in ("additionalProperties", "unevaluatedProperties")
        for depth in (2, 30, 100, 5_000)
    ),
    HostileCase("dynamic", lambda: (_dynamic(), nested(60, lambda v: {"a": v}, {"a": 1}))),
    HostileCase(
        "10 MB", lambda: (_many(30_000, {"type": "string", "title": "x" * 300}), {"f0": 1})
    ),
    HostileCase("100,000 properties", lambda: (_many(100_000, {"type": "null"}), {"f0": 1})),
    HostileCase("100,000 choices", lambda: ({"items": {"enum": [*range(100_000)]}}, [-1] * 1_000)),
    HostileCase(
        "20,000 branches", lambda: ({"anyOf": [{"const": n} for n in range(19_000)]}, "x" * 1_000)
    ),
    HostileCase("1,000 copies", lambda: ({"allOf": [{"type": "null"}] * 1_000}, ["y" * 1_900_000])),
    HostileCase(
        "1,000 constants", lambda: ({"allOf": [{"const": "y" * 1_900}] * 1_000}, "y" * 1_900_000)
    ),
    HostileCase(
        "unique", lambda: ({"allOf": [{"uniqueItems": True}] * 1_000}, [[n] for n in range(20_000)])
    ),
    HostileCase("1,000 patterns", lambda: (_many(1_000, {"pattern": r"^\p{L}{1,50}$"}), {"f0": 1})),
    HostileCase(
        "pattern names",
        lambda: (
            {"patternProperties": {f"x{n}z*y": False for n in range(200)}},
            {_random_text(2_000) + str(n): 1 for n in range(500)},
        ),
    ),
    HostileCase("large value", lambda: ({"type": "null"}, "x" * 3_000_000)),
    HostileCase(
        "many values", lambda: ({"items": {"type": "integer"}}, [f"{n}" for n in range(200_000)])
    ),
    HostileCase(
        "deep value",
        lambda: ({"items": {"$ref": "#"}, "type": "null"}, nested(50_000, lambda v: [v], 1)),
    ),
    *(
        HostileCase(
            f"{keyword}, nested {depth} times in {outer}",
            functools.partial(_unevaluated, keyword, outer, depth),
        )
        for keyword in ("unevaluatedProperties", "unevaluatedItems")
        for outer in ("allOf", "anyOf")
        for depth in (8, 40)
    ),
    HostileCase("deep schema", lambda: (nested(20_000, lambda s: {"not": s}, {"type": 7}), 1)),
    *(
        HostileCase(f"pattern {pattern}", functools.partial(_pair, {"pattern": pattern}, text))
        for pattern, text in (
            (r"[\s\S]*x[\s\S]{900}y", _random_text(500_000)),
            (r"(x|z)*x(x|z){500}y", _random_text(500_000)),
            (r"x[xz]{1000}q", _random_text(500_000)),
            (r"(?=.*b)y", _random_text(500_000)),
            (r"(?:(?=[xz]*q)x|z)*y", _random_text(1_900)),
            (r"(?=x)(x+x+)+y", "x" * 1_900),
            (r"(.)(?:\1|xz)+\1y", _random_text(1_900)),
        )
    ),
    HostileCase(
        "backtracking in each item",
        lambda: (
            {"items": {"pattern": r"(?=x)(x+x+)+y"}},
            [f"{'x' * 400}{n}" for n in range(3_000)],
        ),
    ),
)
