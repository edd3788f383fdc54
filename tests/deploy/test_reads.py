"""Reads: from the service that holds the data directory, else from the store."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fastapi import FastAPI, HTTPException, Request

from deploy import doctor, reads, service_file
from deploy.errors import ServiceError, UsageError
from deploy.settings import Settings
from query.service.server import ServerThread


def application(name: str) -> FastAPI:
    app = FastAPI()

    @app.get("/v1/status")
    def status(request: Request) -> dict[str, str | None]:
        return {"by": name, "key": request.headers.get("authorization")}

    @app.get("/v1/missing")
    def missing() -> None:
        raise HTTPException(404, "no such thing")

    @app.get("/v1/locked")
    def locked() -> None:
        raise HTTPException(401, "a key is needed.")

    @app.get("/v1/broken")
    def broken() -> None:
        raise HTTPException(500, "broken")

    @app.post("/v1/search")
    async def search(request: Request) -> dict[str, object]:
        return {"by": name, "asked": await request.json()}

    return app


@contextmanager
def follow(_: Settings) -> Iterator[FastAPI]:
    yield application("store")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data=tmp_path)


@pytest.fixture
def service(settings: Settings) -> Iterator[str]:
    server = ServerThread(application("service"))
    url = service_file.url_of("127.0.0.1", server.start())
    record = service_file.own_record(url, "run")
    service_file.announce(settings.data, record)
    yield url
    service_file.withdraw(settings.data, record)
    server.stop()


def test_without_a_service_the_store_is_read(settings: Settings) -> None:
    assert reads.read(settings, "/v1/status", follow=follow).body["by"] == "store"


@pytest.mark.usefixtures("service")
def test_the_running_service_is_asked_first(settings: Settings) -> None:
    assert reads.read(settings, "/v1/status", follow=follow).body["by"] == "service"
    assert reads.ask(settings, {"question": "why"}, follow=follow).body == {
        "by": "service",
        "asked": {"question": "why"},
    }


@pytest.mark.usefixtures("service")
def test_a_key_of_the_settings_is_sent(settings: Settings) -> None:
    with_key = settings.model_copy(update={"api_keys": Settings(api_keys="k1,k2").api_keys})
    assert reads.read(with_key, "/v1/status", follow=follow).body["key"] == "Bearer k1"


@pytest.mark.usefixtures("service")
@pytest.mark.parametrize(
    ("path", "kind", "says"),
    [
        ("/v1/missing", UsageError, "no such thing"),
        ("/v1/locked", ServiceError, "TIDEGRAPH_API_KEYS"),
        ("/v1/broken", ServiceError, "broken"),
    ],
)
def test_a_refusal_is_told_in_the_services_words(
    settings: Settings, path: str, kind: type[Exception], says: str
) -> None:
    with pytest.raises(kind, match=says):
        reads.read(settings, path, follow=follow)


def test_a_service_that_does_not_answer_is_named(settings: Settings) -> None:
    record = service_file.own_record("http://127.0.0.1:9", "run")
    service_file.announce(settings.data, record)
    with pytest.raises(ServiceError, match=r"the service at http://127\.0\.0\.1:9 did not answer"):
        reads.read(settings, "/v1/status", follow=follow)


@pytest.mark.usefixtures("service")
def test_the_service_of_this_host_is_asked_without_the_proxy_of_the_environment(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert reads.read(settings, "/v1/status", follow=follow).body["by"] == "service"
    assert "Not Found" in doctor._service(settings).detail
