"""The options of the commands that export, add up and compare recordings; as `orders`."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from mcp_progress_monitor.cli.declared_options import Order, argument, option
from mcp_progress_monitor.cli.options import A_PATH, RenamedOption
from mcp_progress_monitor.cli.orders import OUTPUT, ListOrder
from mcp_progress_monitor.exports.formats import FORMATS, PARQUET

OTLP: Final = "otlp"  # telemetry, which goes to a collector and not into a file
IMPORTED: Final = "mcprec"  # the format that makes a recording of another program's file
FORMATS_BY_KEY: Final = {form.key: form for form in FORMATS}
_CHOICES: Final = ", ".join(
    f"{form.what} ({form.contains})" if form.contains else form.what for form in (*FORMATS, PARQUET)
)


class ExportOrder(Order):
    """The options of `export`."""

    files: tuple[Path, ...] = argument(metavar="FILE...", nargs=-1, type=A_PATH, required=True)
    to: str = option(
        "--format",
        "--to",
        cls=RenamedOption,
        type=click.Choice((OTLP, *FORMATS_BY_KEY, PARQUET.key, IMPORTED)),
        required=True,
        help=f"Choose {_CHOICES}, {OTLP} (sent to an OpenTelemetry collector, see --otel of call),"
        f" or {IMPORTED} (a recording of another program's file).",
    )
    where: str = option(
        "--filter",
        "--where",
        cls=RenamedOption,
        metavar="FILTER",
        default="",
        help="Export only messages that match the filter; in a report, their jobs; in HAR, their"
        " exchanges.",
    )
    job: int | None = option(
        "--job", type=click.IntRange(min=1), metavar="N", help="Export only job number N."
    )
    with_secrets: bool = option("--with-secrets", is_flag=True, help="Do not redact secrets.")
    folder: Path | None = option(
        "--out",
        type=click.Path(file_okay=False, path_type=Path),
        metavar="DIR",
        help=f"With --format {PARQUET.key}: add to the tables in this folder.",
    )
    host: str | None = option(
        "--host",
        metavar="NAME",
        help=f"With --format {PARQUET.key}: the machine of the recordings (default: this one).",
    )
    output: Path | None = OUTPUT

    @property
    def file(self) -> Path:
        return self.files[0]

    def check(self) -> None:
        self._check_folder()
        form = FORMATS_BY_KEY.get(self.to)
        if form is not None and form.chooses_jobs and self.job is not None and self.where:
            raise click.UsageError(
                "--filter and --job cannot be used together for a report: both choose its jobs."
            )
        is_whole = not (self.where or self.job is not None or self.with_secrets)
        if self.to == OTLP and (self.output is not None or not is_whole):
            raise click.UsageError(f"--format {OTLP} sends the whole recording, without secrets.")
        if self.to != IMPORTED:
            return
        if not is_whole:
            raise click.UsageError(f"--format {IMPORTED} accepts only --output.")
        if self.output is None:
            raise click.UsageError(f"--format {IMPORTED} needs --output FILE.")

    def _check_folder(self) -> None:
        if self.to != PARQUET.key:
            if self.folder is not None or self.host is not None:
                raise click.UsageError(f"--out and --host need --format {PARQUET.key}.")
            if len(self.files) > 1:
                raise click.UsageError(f"--format {self.to} exports one FILE.")
            return
        if self.where or self.job is not None or self.output is not None:
            message = f"--format {PARQUET.key} accepts only --out, --host and --with-secrets."
            raise click.UsageError(message)
        if self.folder is None:
            raise click.UsageError(f"--format {PARQUET.key} needs --out DIR.")


class StatsOrder(ListOrder):
    """The options of `stats`."""

    files: tuple[Path, ...] = argument(
        metavar="FILE|FOLDER...", nargs=-1, type=A_PATH, required=True
    )


class DiffOrder(ListOrder):
    """The options of `diff`."""

    first: Path = argument(metavar="FIRST", type=A_PATH)
    second: Path = argument(metavar="SECOND", type=A_PATH)
