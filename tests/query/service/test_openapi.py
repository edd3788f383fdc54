"""Within /v1 fields are only added."""

import json
from importlib.resources import files

from query.service.openapi import openapi_bytes, openapi_document

COMMITTED = json.loads(files("query.service").joinpath("openapi.json").read_bytes())
HOW = "run `python -m query.service.openapi` and look at what it changes: v1 only gains"


def paths_of(value, path=""):
    """Every key of a document, as a path."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield f"{path}/{key}"
            yield from paths_of(inner, f"{path}/{key}")


def test_nothing_committed_is_missing_from_the_interface():
    lost = sorted({*paths_of(COMMITTED)} - {*paths_of(openapi_document())})
    assert not lost, f"removed from the interface: {lost[:5]}; {HOW}"


def test_the_committed_document_is_the_interface():
    assert json.loads(openapi_bytes()) == COMMITTED, f"openapi.json is not up to date: {HOW}"


def test_every_error_is_a_problem():
    for path, operations in openapi_document()["paths"].items():
        for operation in operations.values():
            for status, response in operation["responses"].items():
                if status >= "400":
                    assert list(response["content"]) == ["application/problem+json"], path
    assert "HTTPValidationError" not in json.dumps(openapi_document())


def test_every_route_and_field_is_described():
    document = openapi_document()
    for path, operations in document["paths"].items():
        for operation in operations.values():
            assert operation.get("description"), path
    for name, schema in document["components"]["schemas"].items():
        assert schema.get("description"), name
