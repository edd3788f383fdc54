"""The floors: imports point down, and only the top floor touches the world outside."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PARTS = ("index", "stream", "query", "deploy")
BELOW = {
    "index": {"index"},
    "stream": {"stream", "index"},
    "query": {"query", "index"},
    "deploy": {"deploy", "query", "stream", "index"},
}
ONLY_DEPLOY = {"structlog", "prometheus_client", "pydantic_settings", "typer", "rich", "dotenv"}
ENVIRONMENT = {"environ", "environb", "getenv", "getenvb"}
NETWORKX_EDGES = {"index/concept_graph.py", "index/graph_export.py", "index/graph_picture.py"}


def modules(part: str) -> Iterator[Path]:
    yield from sorted((ROOT / part).rglob("*.py"))


def imports(tree: ast.AST, package: str) -> Iterator[str]:
    """The full names that a module imports, wherever in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                base = ".".join([*package.split(".")[: -node.level or None], base]).rstrip(".")
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def trees(part: str) -> Iterator[tuple[str, ast.AST, str]]:
    for path in modules(part):
        name = path.relative_to(ROOT).as_posix()
        yield name, ast.parse(path.read_text("utf-8")), name.removesuffix(".py").replace("/", ".")


@pytest.mark.parametrize("part", PARTS)
def test_a_part_imports_only_what_lies_below_it(part: str) -> None:
    wrong = [
        f"{name} imports {imported}"
        for name, tree, package in trees(part)
        for imported in imports(tree, package)
        if imported.split(".")[0] in PARTS and imported.split(".")[0] not in BELOW[part]
    ]
    assert wrong == []


@pytest.mark.parametrize("part", ["index", "stream", "query"])
def test_only_deploy_logs_counts_and_reads_settings(part: str) -> None:
    wrong = [
        f"{name} imports {imported}"
        for name, tree, package in trees(part)
        for imported in imports(tree, package)
        if imported.split(".")[0] in ONLY_DEPLOY
    ]
    assert wrong == []


def reads_environment(tree: ast.AST) -> bool:
    return any(
        (isinstance(node, ast.Attribute) and node.attr in ENVIRONMENT)
        or (
            isinstance(node, ast.ImportFrom)
            and node.module == "os"
            and bool(ENVIRONMENT & {alias.name for alias in node.names})
        )
        for node in ast.walk(tree)
    )


@pytest.mark.parametrize("part", ["index", "stream", "query"])
def test_only_deploy_reads_the_environment(part: str) -> None:
    assert [name for name, tree, _ in trees(part) if reads_environment(tree)] == []


def test_networkx_stays_at_the_edges() -> None:
    wrong = [
        name
        for part in PARTS
        for name, tree, package in trees(part)
        if any(found.split(".")[0] == "networkx" for found in imports(tree, package))
        and name not in NETWORKX_EDGES
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("code", "package", "expected"),
    [
        ("import query.types", "stream.x", "query.types"),
        ("def f():\n    from query import types", "stream.x", "query.types"),
        ("if TYPE_CHECKING:\n    import query", "stream.x", "query"),
        ("from .. import search", "query.a.b", "query.search"),
        ("from . import search", "query.a", "query.search"),
    ],
)
def test_the_check_sees_every_way_to_import(code: str, package: str, expected: str) -> None:
    """Inside functions, behind TYPE_CHECKING, and relative to the module."""
    assert expected in set(imports(ast.parse(code), package))


@pytest.mark.parametrize("code", ["import os\nos.environ['A']", "from os import getenv"])
def test_the_check_sees_every_way_to_read_the_environment(code: str) -> None:
    assert reads_environment(ast.parse(code))
