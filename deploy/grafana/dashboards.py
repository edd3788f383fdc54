"""Writes the dashboards beside this file: ``python -m deploy.grafana.dashboards``."""

import json
from pathlib import Path
from typing import Any

from deploy.grafana.panels import DASHBOARDS, Dashboard, Panel

DIRECTORY = Path(__file__).parent / "dashboards"
_SOURCE = {"type": "prometheus", "uid": "${source}"}
_WIDTH = 24
_HEIGHTS = {"stat": 4, "timeseries": 8}


def rendered() -> dict[str, str]:
    """Each dashboard's JSON by its file name."""
    return {f"{one.name}.json": json.dumps(dashboard(one), indent=1) + "\n" for one in DASHBOARDS}


def dashboard(described: Dashboard) -> dict[str, Any]:
    """A dashboard as Grafana imports it (schema 39, Grafana 11 and later)."""
    return {
        "uid": f"tidegraph-{described.name}",
        "title": described.title,
        "tags": ["tidegraph"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "10s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": _variables()},
        "panels": _placed(described.panels),
    }


def _variables() -> list[dict[str, Any]]:
    return [
        {"name": "source", "label": "Data source", "type": "datasource", "query": "prometheus"},
        {
            "name": "job",
            "label": "Job",
            "type": "query",
            "datasource": _SOURCE,
            "query": "label_values(tidegraph_build_info, job)",
            "refresh": 2,
        },
    ]


def _placed(panels: tuple[Panel, ...]) -> list[dict[str, Any]]:
    """The panels from left to right, row after row."""
    placed, x, y, tallest = [], 0, 0, 0
    for number, panel in enumerate(panels, start=1):
        height = _HEIGHTS[panel.kind]
        if x + panel.width > _WIDTH:
            x, y, tallest = 0, y + tallest, 0
        placed.append(_panel(number, panel, {"x": x, "y": y, "w": panel.width, "h": height}))
        x, tallest = x + panel.width, max(tallest, height)
    return placed


def _panel(number: int, panel: Panel, position: dict[str, int]) -> dict[str, Any]:
    return {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.about,
        "datasource": _SOURCE,
        "gridPos": position,
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": [
            {
                "refId": chr(ord("A") + at),
                "datasource": _SOURCE,
                "expr": query.expression,
                "legendFormat": query.legend or "__auto",
            }
            for at, query in enumerate(panel.queries)
        ],
    }


if __name__ == "__main__":
    for name, text in rendered().items():
        (DIRECTORY / name).write_text(text, "utf-8")
