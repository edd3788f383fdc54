"""The chart: what it names exists, and there are never two writers."""

import itertools
import re
import shutil
import subprocess
import tomllib

import pytest
import yaml

from deploy.configuration import load, secret_names, variable
from query.service.operations import router
from tests.deploy.chart import CHART, merged, rendered, values
from tests.deploy.test_operations_pack import COMPOSE, DOCKERFILE, ROOT, is_command, known_variables

EVERYTHING = {
    "image": {"pullSecrets": [{"name": "registry"}]},
    "writer": {"volume": {"storageClassName": "fast"}},
    "serve": {"volume": {"storageClassName": "fast"}},
    "extract": {"autoscaling": {"enabled": True, "authentication": "kafka"}},
    "monitoring": {"enabled": True},
    "networkPolicy": {"enabled": True, "from": [{"namespaceSelector": {}}]},
}
WORKLOADS = ("StatefulSet", "Deployment")
TEMPLATES = {path.name: path.read_text("utf-8") for path in (CHART / "templates").iterdir()}


def workloads(overrides=None):
    return {name: made for (kind, name), made in rendered(overrides).items() if kind in WORKLOADS}


def pod(made):
    return made["spec"]["template"]["spec"]


def container(made):
    (only,) = pod(made)["containers"]
    return only


each = pytest.mark.parametrize("made", workloads().values(), ids=list(workloads()))


@pytest.mark.parametrize("overrides", [{}, EVERYTHING], ids=["as it is", "everything"])
def test_helm_gives_what_the_tests_look_at(overrides, tmp_path):
    helm = shutil.which("helm")
    if helm is None:
        pytest.skip("no helm; the templates are rendered by the tests alone")
    file = tmp_path / "values.yaml"
    file.write_text(yaml.safe_dump(overrides))
    done = subprocess.run(
        [helm, "template", "news", str(CHART), "--values", str(file), "--kube-version", "1.31.0"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    theirs = [made for made in yaml.safe_load_all(done.stdout) if made is not None]
    by_name = {(one["kind"], one["metadata"]["name"]): one for one in theirs}
    # As text, where 1 is not true.
    assert yaml.safe_dump(sorted(by_name.items())) == yaml.safe_dump(
        sorted(rendered(overrides).items())
    )


def test_nothing_can_make_two_writers():
    writer = rendered()["StatefulSet", "news-writer"]
    assert re.search(r"^  replicas: 1$", TEMPLATES["writer.yaml"], re.MULTILINE)
    assert "replicas" not in values()["writer"]
    spec = writer["spec"]
    # A StatefulSet ends a pod before it makes its successor, unless it is told to overlap.
    assert spec["podManagementPolicy"] == "OrderedReady"
    assert spec["updateStrategy"] == {"type": "RollingUpdate"}
    (claim,) = spec["volumeClaimTemplates"]
    assert claim["spec"]["accessModes"] == ["ReadWriteOncePod"]
    assert claim["spec"]["volumeMode"] == "Filesystem"
    arguments = container(writer)["args"]
    assert arguments[0] == "run"
    for name, other in workloads(EVERYTHING).items():
        assert name == "news-writer" or container(other)["args"][0] not in {"run", "index"}


def test_each_that_answers_follows_the_writer_into_a_volume_of_its_own():
    made = rendered()
    serve = made["StatefulSet", "news-serve"]
    words = container(serve)["args"]
    (port,) = made["Service", "news-writer"]["spec"]["ports"]
    assert words[words.index("--follow") + 1] == f"http://news-writer:{port['port']}"
    (claim,) = serve["spec"]["volumeClaimTemplates"]
    assert claim["spec"]["accessModes"] == ["ReadWriteOncePod"]
    assert "TIDEGRAPH_FOLLOW_KEY_FILE" in {one["name"] for one in container(serve)["env"]}


@each
def test_pods_run_commands_with_settings_that_they_take(made, monkeypatch, tmp_path):
    runs = container(made)
    assert is_command(runs["args"])
    given = [word.split("=")[0] for word in runs["args"] if "=" in word]
    names = [one["name"] for one in runs["env"]]
    assert len(set(names)) == len(names)
    assert set(names) | {variable(name) for name in given} <= known_variables()
    for one in runs["env"]:
        value = one["value"]
        if one["name"].endswith("_FILE"):
            secret = tmp_path / value.removeprefix("/etc/tidegraph/")
            secret.write_text("hidden")
            value = str(secret)
        monkeypatch.setenv(one["name"], value)
    told = load()
    assert not told.unknown_variables
    told.settings.check_address()


def test_analysis_is_set_once_for_all():
    """Where extractors and writer disagreed, the writer would hold every record."""
    given = set(values()["settings"])
    for name in ("writer", "extract", "serve"):
        assert not given & set(values()[name]["settings"])
    for name, made in workloads().items():
        variables = {one["name"]: one["value"] for one in container(made)["env"]}
        assert values()["settings"].items() <= variables.items(), name


def test_secrets_are_files_of_a_secret_and_nothing_else():
    secret = {f"{variable(name)}_FILE" for name in secret_names()}
    assert set(values()["secret"]["files"]) <= secret
    text = (CHART / "values.yaml").read_text("utf-8")
    for name in secret_names():
        assert not re.search(rf"\b{variable(name)}:", text), f"{name} would stand in the values"


@each
def test_pods_are_bounded_probed_and_run_as_nobody_special(made):
    spec, runs = pod(made), container(made)
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["runAsUser"] == 10001 == spec["securityContext"]["fsGroup"]
    assert re.search(r"^USER 10001$", DOCKERFILE, re.MULTILINE)
    assert runs["securityContext"]["allowPrivilegeEscalation"] is False
    # Kubernetes would else set TIDEGRAPH_PORT for a Service named tidegraph, to an address.
    assert spec["enableServiceLinks"] is False
    for bound in ("requests", "limits"):
        assert set(runs["resources"][bound]) == {"cpu", "memory"}
    ports = {one["name"] for one in runs["ports"]}
    paths = {route.path for route in router.routes}
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        asked = runs[probe]["httpGet"]
        assert asked["path"] in paths
        assert asked["port"] in ports
    assert {one["name"] for one in runs["volumeMounts"]} == {
        *(volume["name"] for volume in spec["volumes"]),
        *(claim["metadata"]["name"] for claim in made["spec"].get("volumeClaimTemplates", ())),
    }


@each
def test_a_pod_listens_where_its_port_says(made):
    words = container(made)["args"]
    given = dict(word.split("=") for word in words if "=" in word)
    given |= {one.removeprefix("--"): two for one, two in itertools.pairwise(words)}
    ports = {one["containerPort"] for one in container(made)["ports"]}
    assert {int(given.get("port") or given["extract_port"])} == ports
    assert given["host"] == "0.0.0.0"  # noqa: S104  a pod is asked from outside


@pytest.mark.parametrize("overrides", [{}, EVERYTHING], ids=["as it is", "everything"])
def test_services_and_selectors_find_pods(overrides):
    made = rendered(overrides)
    labels = [
        one["spec"]["template"]["metadata"]["labels"] for one in workloads(overrides).values()
    ]
    for (kind, name), one in made.items():
        spec = one["spec"]
        wanted = (
            spec.get("podSelector")
            or spec.get("selector")
            or {"matchLabels": spec["scaleTargetRef"]}
        )
        wanted = wanted.get("matchLabels", wanted)
        if kind == "ScaledObject":
            assert ("Deployment", wanted["name"]) in made
            continue
        assert any(wanted.items() <= held.items() for held in labels), f"{kind} {name}"
        if kind == "StatefulSet":
            assert ("Service", spec["serviceName"]) in made


def test_extractors_are_scaled_by_the_lag_of_their_own_group():
    made = rendered(EVERYTHING)
    assert "replicas" not in made["Deployment", "news-extract"]["spec"]
    assert rendered()["Deployment", "news-extract"]["spec"]["replicas"] == 2
    (trigger,) = made["ScaledObject", "news-extract"]["spec"]["triggers"]
    settings = load().settings
    assert trigger["metadata"]["consumerGroup"] == settings.extract_group
    assert trigger["metadata"]["topic"] == settings.topic
    assert trigger["authenticationRef"] == {"name": "kafka"}
    named = rendered(merged(EVERYTHING, {"settings": {"TIDEGRAPH_EXTRACT_GROUP": "shared"}}))[
        "ScaledObject", "news-extract"
    ]
    assert named["spec"]["triggers"][0]["metadata"]["consumerGroup"] == "shared"


def test_every_value_is_used_and_every_used_value_is_there():
    used = {name for text in TEMPLATES.values() for name in re.findall(r"\.Values\.([\w.]+)", text)}
    paths = set(all_paths(values()))
    assert used - paths == {"settings.TIDEGRAPH_EXTRACT_GROUP"}  # has a default
    for path in paths:
        whole = {path, *(path[: dot.start()] for dot in re.finditer(r"\.", path))}
        assert used & whole or any(name.startswith(f"{path}.") for name in used), path


def all_paths(tree):
    for key, value in tree.items():
        yield key
        if isinstance(value, dict):
            yield from (f"{key}.{path}" for path in all_paths(value))


def test_the_page_on_deployment_sets_values_that_are_there():
    text = (ROOT / "docs/deployment.md").read_text("utf-8")
    named = re.findall(r"(?:--set |`)([a-z]+(?:\.\w+)+)=", text)
    assert len(named) >= 4
    assert set(named) <= set(all_paths(values()))


def test_chart_image_and_program_are_of_one_release():
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text("utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    image = values()["image"]
    assert chart["appVersion"] == project["version"] == image["tag"]
    assert COMPOSE["services"]["tidegraph"]["image"] == f"{image['repository']}:{image['tag']}"
