"""JSON as its standard has it, from those who type it or keep it in a file."""

from __future__ import annotations

import json
import math
from typing import Any


def strict_json(text: str) -> Any:
    """The value of a JSON text; `NaN` and its kin, which Python reads by default, are refused.

    Raises:
        ValueError: it is no JSON.
        RecursionError: it is nested too deeply to be read.
    """
    return json.loads(text, parse_constant=_finite, parse_float=_finite)


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits} is not a number that JSON can carry")
    return number
