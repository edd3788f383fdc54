"""The OpenAPI document of the service: made from the routes, committed beside them.

``python -m query.service.openapi`` writes it anew.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

from query.service.app import application
from query.service.problems import MEDIA_TYPE

NAME = "openapi.json"
_PROBLEM = {"$ref": "#/components/schemas/Problem"}
_FIRST_ERROR = 400


@cache
def openapi_document() -> dict[str, Any]:
    """The document: the routes' own, with errors as problems and the API key declared."""
    document = application().openapi()
    schemas = document["components"]["schemas"]
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    document["components"]["securitySchemes"] = {
        "bearer": {"type": "http", "scheme": "bearer"},
        "header": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
    }
    for path, operations in document["paths"].items():
        for operation in operations.values():
            if path.startswith("/v1/"):
                operation["security"] = [{}, {"bearer": []}, {"header": []}]
            for status, response in operation["responses"].items():
                if int(status) >= _FIRST_ERROR:
                    response["content"] = {MEDIA_TYPE: {"schema": _PROBLEM}}
    return document


def openapi_bytes() -> bytes:
    """The document as it is served and committed."""
    return (json.dumps(openapi_document(), indent=1, sort_keys=True) + "\n").encode()


if __name__ == "__main__":
    Path(__file__).with_name(NAME).write_bytes(openapi_bytes())
