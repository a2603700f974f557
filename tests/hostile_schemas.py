"""A hundred schemas that a hostile server might send, each with a value that is costly to check."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

JSON = dict[str, Any]
_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_PATTERNS: Final = (
    ("^(a+b?)+$", "a" * 40 + "!"),
    ("^((a+))+$", "a" * 40 + "!"),
    (r"^(\w+\s?)*$", "a" * 40 + "!"),
    ("a*a*a*a*a*a*b", "a" * 5_000),
    ("(x+x+)+y", "x" * 3_000),
    ("^(a|aa)+$", "a" * 90 + "!"),
    ("^(a|a?)+$", "a" * 60 + "!"),
    ("(.*)*(.*)*(.*)*x", "a" * 3_000),
    (r"(\w+)\1+\1+x", "ab" * 2_000),
    ("(?:a?){500}a{500}", "a" * 499),
    ("(?=(a+)+$)b", "a" * 60),
    ("(?<=a{1,1000})b", "a" * 50_000),
    ("x{1000000}", "x"),
    ("(?:(?:x|yy){1000}){1000}", "x"),
    ("(?:" * 5 + "x" + "{60000})" * 5, "x"),
    ("(" * 900, "x"),
    ("(((((a*)*)*)*)*)*b", "a" * 3_000),
    ("([a-z]+)*=", "a" * 3_000),
    (r"^(([a-zA-Z0-9])+\.?)+@", "a" * 3_000),
    ("((?R)|a)*b", "a" * 3_000),
)


class Hostile(NamedTuple):
    """A schema, and a value to be checked against it."""

    name: str
    schema: JSON
    value: JSON


def hostile_schemas() -> list[Hostile]:
    """All of them: patterns, sizes, cycles, depths."""
    return [*_patterns(), *_sizes(), *_cycles(), *_depths()]


def _object(properties: JSON, **more: Any) -> JSON:
    return {"type": "object", "properties": properties, **more}


def _patterns() -> Iterator[Hostile]:
    for number, (pattern, text) in enumerate(_PATTERNS):
        field = {"type": "string", "pattern": pattern, "default": text}
        yield Hostile(f"pattern {number}", _object({"a": field}), {"a": text})
        variant = {"oneOf": [{"type": "string"}, {"type": "integer"}], "pattern": pattern}
        yield Hostile(
            f"variant {number}",
            _object({"a": {**variant, "default": text}}, required=["a"]),
            {"a": text},
        )
        names = {"type": "object", "patternProperties": {pattern: {}}}
        yield Hostile(f"names {number}", {**names, "additionalProperties": False}, {text: 1})
    pattern, text = _PATTERNS[4]
    fields = {f"f{n}": {"type": "string", "pattern": pattern} for n in range(100)}
    yield Hostile("100 patterns", _object(fields), dict.fromkeys(fields, text))
    inner = {"$schema": "http://json-schema.org/draft-07/schema#", "pattern": pattern}
    yield Hostile("dialect within", _object({"a": inner}), {"a": text})


def _sizes() -> Iterator[Hostile]:
    field = {"type": "string", "title": "T", "description": "D" * 40, "default": "v" * 20}
    for count in (100, 101, 1_000, 20_000, 30_000):
        properties = {f"f{n}": field for n in range(count)}
        schema = _object(properties, required=[*properties])
        yield Hostile(f"{count} fields", {**schema, "$schema": _DIALECT}, {})
    for count in (1_000, 100_000):
        listed = {"enum": [f"value {n}" for n in range(count)], "default": "none"}
        yield Hostile(f"enum of {count}", _object({"a": listed}), {"a": "none"})
    many = {f"f{n}": {"enum": [*range(1_000)]} for n in range(90)}
    yield Hostile("90 enums", _object(many, required=[*many]), dict.fromkeys(many, -1))
    for count in (50, 1_000):
        parts = [{"type": "object", "required": [f"x{n}"]} for n in range(count)]
        one = {"oneOf": parts, "default": {"a": "v" * 10_000}}
        yield Hostile(f"oneOf of {count}", _object({"a": one}), {"a": {"a": "v" * 10_000}})
    yield Hostile("long text", _object({"a": {"type": "string", "default": "v" * 3_000_000}}), {})
    yield Hostile("long title", _object({"a": {"title": "T" * 3_000_000}}), {"a": 1})
    unique = {"type": "array", "uniqueItems": True}
    yield Hostile("unique", _object({"a": unique}), {"a": [{"n": n} for n in range(30_000)]})
    lists = {"type": "array", "items": {"type": "string"}, "minItems": 10**9}
    yield Hostile("a billion items", _object({"a": lists}, required=["a"]), {"a": []})
    parts = [{"required": [f"r{n}" for n in range(30_000)]} for _ in range(32)]
    yield Hostile("required twice over", {"type": "object", "allOf": parts}, {})
    types = {"type": ["string"] * 10_000}
    yield Hostile("10,000 types", _object({"a": types}), {"a": 1})


def _cycles() -> Iterator[Hostile]:
    for keyword in ("$ref", "$dynamicRef"):
        yield Hostile(f"{keyword} to itself", {"$schema": _DIALECT, keyword: "#"}, {"a": 1})
        pair = {"x": {keyword: "#/$defs/y"}, "y": {keyword: "#/$defs/x"}}
        yield Hostile(f"{keyword} in a circle", {keyword: "#/$defs/x", "$defs": pair}, {})
    for joined in ("allOf", "anyOf", "oneOf"):
        defs: JSON = {f"d{n}": {joined: [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)}
        defs["d40"] = {"type": "string"}
        schema = _object({"a": {"$ref": "#/$defs/d0"}}, **{"$defs": defs})
        yield Hostile(f"{joined} doubled 40 times", schema, {"a": 1})
        yield Hostile(f"{joined} of itself", {joined: [{"$ref": "#"}] * 100}, {"a": 1})
    whole = {f"p{n}": {"$ref": "#"} for n in range(60)}
    yield Hostile("members like the whole", _object(whole, required=[*whole]), {})
    doubled: JSON = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)}
    schema = _object({}, unevaluatedProperties=False, **{"$defs": doubled, "$ref": "#/$defs/d0"})
    yield Hostile("unevaluated", schema, {"a": 1})
    yield Hostile("items of itself", _object({"a": {"items": {"$ref": "#/properties/a"}}}), {})
    elsewhere = {"$ref": "https://json-schema.org/draft/2020-12/schema"}
    yield Hostile("schema of schemas", _object({"a": elsewhere}), {"a": {"type": 7}})
    anchor = {"$ref": "#nowhere"}
    yield Hostile("nowhere", _object({f"f{n}": anchor for n in range(90)}), {"f1": 1})


def _depths() -> Iterator[Hostile]:
    for keyword in ("not", "items", "additionalProperties"):
        schema: JSON = {"type": "string"}
        for _ in range(400):
            schema = {keyword: schema}
        yield Hostile(f"{keyword} in depth", _object({"a": schema}), {"a": 1})
    for keyword in ("allOf", "anyOf", "oneOf"):
        schema = {"type": "string"}
        for _ in range(200):
            schema = {keyword: [schema, {}]}
        yield Hostile(f"{keyword} in depth", _object({"a": schema}), {"a": 1})
    for width, depth in ((12, 4), (3, 9), (2, 12), (1, 300)):
        yield Hostile(f"{width} to the {depth}", _nested(width, depth), {})
    value: Any = 1
    for _ in range(400):
        value = {"a": value}
    yield Hostile("a deep value", _object({"a": {"$ref": "#"}}), {"a": value})


def _nested(width: int, depth: int) -> JSON:
    """Objects within objects, all of them required; equal parts are one object in memory."""
    schema: JSON = {"type": "string", "default": "v"}
    for _ in range(depth):
        properties = {f"p{n}": schema for n in range(width)}
        schema = _object(properties, required=[*properties])
    return schema
