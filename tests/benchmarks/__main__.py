"""Prints figures: ``python -m tests.benchmarks [NAME…] [--json] [--quick]``."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import TYPE_CHECKING

from tests.benchmarks import suites
from tests.benchmarks.figures import Size
from tests.benchmarks.shapes import SHAPES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.benchmarks.figures import Figure


def _as_table(name: str, figures: Sequence[Figure]) -> str:
    lines = [name]
    for figure in figures:
        value = "not measured" if figure.value is None else f"{figure.value:,.3g}"
        if figure.value is not None and abs(figure.value) >= 1000:
            value = f"{figure.value:,.0f}"
        target = f"   (to reach: {figure.target})" if figure.target else ""
        lines.append(f"  {figure.name:<34}{value:>14} {figure.unit}{target}")
    return "\n".join(lines)


def _as_json(name: str, figures: Sequence[Figure]) -> str:
    return json.dumps({"benchmark": name, **{figure.name: figure.value for figure in figures}})


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the named benchmarks, all of them by default; exit code 2 for an unknown name."""
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(suites.SUITES))
    parser.add_argument("--json", action="store_true", help="one object per benchmark")
    parser.add_argument("--quick", action="store_true", help="a tenth of the size, one run each")
    parser.add_argument(
        "--shape",
        action="append",
        default=[],
        choices=SHAPES,
        metavar="NAME",
        help=f"of {' and '.join(suites.SHAPED)}, this shape alone; may be repeated",
    )
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in suites.SUITES]
    if unknown:
        parser.error(f"unknown benchmark {unknown[0]!r}; there are: {', '.join(suites.SUITES)}")
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")  # contenders inherit it
    size = Size.QUICK if options.quick else Size.FULL
    show = _as_json if options.json else _as_table
    for name in options.names or suites.SUITES:
        shaped = suites.SHAPED.get(name)
        if shaped is not None and options.shape:
            figures = shaped(size, options.shape)
        else:
            figures = suites.SUITES[name](size)
        print(show(name, figures), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
