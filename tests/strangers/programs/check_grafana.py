"""Load the dashboard into a running Grafana, and check that a running job is in its panels.

    check_grafana.py URL DASHBOARD

Grafana has the sources `loki`, `prometheus` and `tempo`, and gets the telemetry of a job that runs
now. Exits with 1, and says which panel has nothing, or whose query is refused.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import httpx2

PATIENCE_S = 120.0
EMPTY_WITHOUT_ERRORS = {"Failed calls by tool", "Calls that failed", "Findings by rule"}
"""Panels that have rows only when something fails."""
TO_COME = {"Stalls, questions and ends"}


def ask(url: str, path: str, body: object = None) -> Any:
    method = "GET" if body is None else "POST"
    login = ("admin", "admin")
    answer = httpx2.request(method, f"{url}{path}", json=body, auth=login, timeout=30)
    answer.raise_for_status()
    return answer.json()


def rows_of(url: str, panel: dict[str, Any], sources: dict[str, str]) -> int:
    """Run the panel's queries as Grafana does, and count the values."""
    queries = []
    for target in panel["targets"]:
        query = json.dumps(target).replace("$__rate_interval", "1m").replace("$__range", "1h")
        query = query.replace("$service", "mcp-progress-monitor").replace("$host", ".*")
        found = json.loads(query)
        kind = target["datasource"]["type"]
        queries.append({**found, "datasource": {"type": kind, "uid": sources[kind]}})
    answer = ask(url, "/api/ds/query", {"queries": queries, "from": "now-1h", "to": "now"})
    count = 0
    for result in answer["results"].values():
        if "error" in result:
            raise RuntimeError(result["error"])
        for frame in result.get("frames", []):
            values = frame["data"]["values"]
            count += len(values[0]) if values else 0
    return count


def main() -> int:
    url, path = sys.argv[1:]
    dashboard = json.loads(Path(path).read_text(encoding="utf-8"))
    ask(url, "/api/dashboards/db", {"dashboard": {**dashboard, "id": None}, "overwrite": True})
    sources = {each["type"]: each["uid"] for each in ask(url, "/api/datasources")}
    waiting = {panel["title"]: panel for panel in dashboard["panels"]}
    ends = time.monotonic() + PATIENCE_S
    errors: dict[str, str] = {}
    while waiting and time.monotonic() < ends:
        for title, panel in list(waiting.items()):
            try:
                count = rows_of(url, panel, sources)
            except (RuntimeError, httpx2.HTTPError) as error:
                errors[title] = str(error)
                continue
            errors.pop(title, None)
            if count or title in EMPTY_WITHOUT_ERRORS | TO_COME:
                sys.stdout.write(f"{title}: {count} values\n")
                del waiting[title]
        time.sleep(2)
    for title in waiting:
        sys.stdout.write(f"{title}: {errors.get(title, 'no values')}\n")
    return 1 if waiting else 0


if __name__ == "__main__":
    sys.exit(main())
