"""Dashboards, rules, runbooks, compose and image: what they name exists in the program."""

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from typer.main import get_command

from deploy.cli.app import app
from deploy.configuration import secret_names, variable
from deploy.grafana.dashboards import DIRECTORY, rendered
from deploy.settings import Settings
from deploy.telemetry.metrics import Metrics
from deploy.telemetry.observe import Telemetry
from query.service.status import Operations, StatusReport

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
RULES = yaml.safe_load((DEPLOY / "prometheus/rules.yaml").read_text("utf-8"))
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
DOCKERFILE = (DEPLOY / "image/Dockerfile").read_text("utf-8")
METRIC = re.compile(r"\btidegraph_[a-z0-9_]+")

rules = [rule for group in RULES["groups"] for rule in group["rules"]]
alerts = [rule for rule in rules if "alert" in rule]


def test_the_dashboards_are_those_that_their_description_gives():
    """Mend them by ``python -m deploy.grafana.dashboards``."""
    held = {path.name: path.read_text("utf-8") for path in DIRECTORY.glob("*.json")}
    assert held == rendered()


def test_every_metric_that_a_panel_a_rule_or_a_document_names_is_exported():
    exported = Metrics().names()
    documents = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    for path in [*DIRECTORY.glob("*.json"), DEPLOY / "prometheus/rules.yaml", *documents]:
        for name in METRIC.findall(path.read_text("utf-8")):
            assert name in exported, f"{path.relative_to(ROOT)} names {name}"


@pytest.mark.parametrize("name", sorted(path.stem for path in DIRECTORY.glob("*.json")))
def test_no_two_panels_of_a_dashboard_overlap(name):
    taken = set()
    for panel in json.loads((DIRECTORY / f"{name}.json").read_text("utf-8"))["panels"]:
        at = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert not cells & taken
        assert at["x"] + at["w"] <= 24
        taken |= cells


def test_every_alert_has_a_page_that_says_what_to_look_at_and_do():
    pages = {path.stem for path in (ROOT / "docs/runbooks").glob("*.md")}
    assert pages == {rule["alert"] for rule in alerts}
    for rule in alerts:
        text = (ROOT / rule["annotations"]["runbook"]).read_text("utf-8")
        assert text.startswith(f"# {rule['alert']}\n")
        assert "## Look" in text
        assert "## Do" in text


@pytest.fixture(scope="module")
def promtool():
    found = shutil.which("promtool")
    if found is None and os.environ.get("CI"):
        pytest.fail("no promtool, and CI must have it")
    if found is None:
        pytest.skip("no promtool (Debian: apt install prometheus)")
    return found


def test_prometheus_takes_the_rules_and_they_fire_as_they_should(promtool):
    for words in ("check config prometheus.yaml", "test rules rules_test.yaml"):
        done = subprocess.run(
            [promtool, *words.split()],
            cwd=DEPLOY / "prometheus",
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_prometheus_takes_the_exposition(promtool):
    metrics = Metrics()
    status = StatusReport(
        1, 2, 3, 4, 5, {0: 1}, {0: 0.5}, {("t", 0): 7}, 0, 0.0, operations=Operations(queue_depth=1)
    )
    metrics.follow(lambda: status)
    telemetry = Telemetry(metrics)
    telemetry.warned("lag marks", "nobody is there")
    done = subprocess.run(
        [promtool, "check", "metrics"],
        input=metrics.exposition(),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def known_variables():
    secret = {f"{variable(name)}_FILE" for name in secret_names()}
    return {variable(name) for name in Settings.model_fields} | secret | {"TIDEGRAPH_CONFIG"}


def is_command(words):
    """Whether words are a command of the program with options that it has."""
    command = get_command(app)
    for place, word in enumerate(words):
        found = getattr(command, "commands", {}).get(word)
        if found is None:
            options = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
            given = [word for word in words[place:] if word.startswith("-")]
            return place > 0 and all(word in options for word in given)
        command = found
    return True


def test_compose_and_image_name_settings_and_commands_that_exist():
    service = COMPOSE["services"]["tidegraph"]
    named = set(re.findall(r"TIDEGRAPH_[A-Z_]+", DOCKERFILE)) | set(service["environment"])
    assert named <= known_variables()
    assert is_command(service["command"])
    last = re.findall(r"^CMD (\[.*\])$", DOCKERFILE, re.MULTILINE)[-1]
    assert is_command(json.loads(last))
    (run,) = re.findall(r"^RUN tidegraph (.*)$", DOCKERFILE, re.MULTILINE)
    assert is_command(shlex.split(run))


def test_the_image_copies_what_is_there_and_runs_as_nobody_special():
    for words in re.findall(r"^COPY ((?!--).*)$", DOCKERFILE, re.MULTILINE):
        for name in words.split()[:-1]:
            assert (ROOT / name).exists(), name
    assert re.search(r"^USER 10001$", DOCKERFILE, re.MULTILINE)
    allowed = (ROOT / ".dockerignore").read_text("utf-8")
    for name in ("stream", "index", "query", "deploy", "pyproject.toml", "constraints.txt"):
        assert f"!{name}\n" in allowed


def test_compose_mounts_what_is_there_and_publishes_to_this_host_alone():
    for name, service in COMPOSE["services"].items():
        for port in service.get("ports", ()):
            assert port.startswith("127.0.0.1:"), f"{name} publishes {port}"
        for volume in service.get("volumes", ()):
            place = volume.split(":")[0]
            if place.startswith("."):
                assert (DEPLOY / place).exists(), place
            else:
                assert place in COMPOSE["volumes"], place
        for other in service.get("depends_on", ()):
            assert other in COMPOSE["services"]
