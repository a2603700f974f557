"""The dashboard asks for what is sent: every name in its queries is one of ours."""

import json
import re
from pathlib import Path
from typing import Any

from mcp_progress_monitor import telemetry_names as names

DASHBOARD = Path(__file__).parents[2] / "resources" / "telemetry" / "dashboard.json"
VALUES = {value for value in vars(names).values() if isinstance(value, str)}
SUFFIXES = ("", "_total", "_seconds_bucket", "_seconds_count")
KNOWN = {value.replace(".", "_") + suffix for value in VALUES for suffix in SUFFIXES}
OF_THE_STORES = {"service_name", "host_name", "trace_id"}
"""Labels that Loki makes of resources and of a record's trace."""
NAME = re.compile(r"\b(?:mcp_|gen_ai_|event_|error_|host_|trace_|service_)[a-z_]+")


def targets() -> list[dict[str, Any]]:
    panels = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    return [target for panel in panels for target in panel["targets"]]


def test_every_name_in_a_query_is_one_that_is_sent() -> None:
    asked = {
        name
        for target in targets()
        if "expr" in target
        for name in NAME.findall(re.sub(r'service_name="\$service"', "", target["expr"]))
    }
    assert asked - KNOWN - OF_THE_STORES == set()
    assert names.RATIO.replace(".", "_") in asked


def test_the_traces_ask_for_attributes_that_are_sent() -> None:
    (query,) = [target["query"] for target in targets() if target.get("queryType") == "traceql"]
    asked = set(re.findall(r"span\.([a-z_.]+)", query))
    assert asked
    assert asked <= VALUES


def test_the_first_panel_leaves_out_jobs_that_ended() -> None:
    for target in targets()[:4]:
        assert (
            'unless on (mcp_monitor_job_id) count_over_time({service_name="$service"}'
            in (target["expr"])
        )
        assert f'event_name="{names.FINISHED}"' in target["expr"]
