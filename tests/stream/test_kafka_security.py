"""Kafka behind TLS and SASL, on a real broker: each way in works, and a wrong key tells so."""

import base64
import http.server
import json
import subprocess
import threading
import time
import urllib.parse
import warnings

import pytest

from stream.errors import SourceUnavailableError
from stream.source import Message
from stream.tokens import ClientCredentials, FetchedTokens, FileTokens
from tests.stream.broker import Broker, collecting, free_ports, require_broker
from tests.stream.conformance import drain

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    import kafka
    from kafka.admin import ScramMechanism, UserScramCredentialUpsertion

    from stream.kafka import KafkaSource
    from stream.kafka_connection import KafkaConnection, create_topic
    from stream.kafka_producer import KafkaProducer

pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

SECRET = "a secret"  # noqa: S105  of a broker that lives for this test
PROPERTIES = """
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller},\\
  TLS://127.0.0.1:{tls},SASL://127.0.0.1:{sasl}
advertised.listeners=PLAINTEXT://127.0.0.1:{port},TLS://127.0.0.1:{tls},SASL://127.0.0.1:{sasl}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,TLS:SSL,SASL:SASL_SSL
ssl.keystore.type=PKCS12
ssl.keystore.location={work}/keys.p12
ssl.keystore.password=changeit
ssl.truststore.type=PEM
ssl.truststore.location={work}/client.pem
listener.name.tls.ssl.client.auth=requested
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER
listener.name.sasl.plain.sasl.jaas.config=\\
  org.apache.kafka.common.security.plain.PlainLoginModule required user_reader="a secret";
listener.name.sasl.scram-sha-256.sasl.jaas.config=\\
  org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.sasl.scram-sha-512.sasl.jaas.config=\\
  org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.sasl.oauthbearer.sasl.jaas.config=\\
  org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required \\
  unsecuredLoginStringClaim_sub="broker";
"""


class SecureBroker(Broker):
    """A broker with a certificate of its own that asks for users and takes unsigned tokens."""

    def __init__(self, work):
        super().__init__(work)
        self.tls, self.sasl = free_ports(2)
        self.ca, self.client = work / "broker.pem", work / "client.pem"
        _certify(work)
        self.properties.write_text(
            PROPERTIES.format(
                port=self.port,
                controller=self.controller,
                tls=self.tls,
                sasl=self.sasl,
                work=work,
            )
        )


def _certify(work):
    key = "-genkeypair -alias broker -keyalg EC -dname CN=broker -ext san=ip:127.0.0.1"
    export = f"-exportcert -rfc -alias broker -file {work}/broker.pem"
    store = f"-keystore {work}/keys.p12 -storetype PKCS12 -storepass changeit"
    request = "req -x509 -newkey rsa:2048 -days 2 -subj /CN=client -passout stdin"
    files = f"-keyout {work}/client.key -out {work}/client.pem"
    for command in (f"keytool {key} {store}", f"keytool {export} {store}"):
        subprocess.run(command.split(), check=True, capture_output=True)
    command = f"openssl {request} {files}".split()
    subprocess.run(command, check=True, capture_output=True, input=SECRET.encode())


@pytest.fixture(scope="module", autouse=True)
def _collected():
    with collecting():
        yield


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    require_broker()
    made = SecureBroker(tmp_path_factory.mktemp("kafka"))
    try:
        made.run("start")
        _users(made)
        yield made
    finally:
        made.run("kill")


def _users(broker):
    plain = KafkaConnection((broker.bootstrap,), timeout=10.0)
    create_topic(plain, "news")
    admin = kafka.KafkaAdminClient(**plain.options())
    for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
        admin.alter_user_scram_credentials(
            [UserScramCredentialUpsertion("reader", mechanism, SECRET)]
        )
    admin.close()


class TokenServer(http.server.BaseHTTPRequestHandler):
    """Gives tokens without a signature to the client that knows the secret."""

    asked: list

    def do_POST(self):
        form = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.asked.append(form)
        who = base64.b64encode(f"reader:{SECRET}".encode()).decode()
        allowed = self.headers["Authorization"] == f"Basic {who}"
        body = {"access_token": unsigned("reader"), "expires_in": 100} if allowed else {}
        self.send_response(200 if allowed else 401)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *_):
        pass


def unsigned(subject):
    now = time.time()
    claims = {"sub": subject, "iat": now, "exp": now + 100}
    parts = ({"alg": "none"}, claims)
    return ".".join(_base64(part) for part in parts) + "."


def _base64(part):
    return base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()


@pytest.fixture
def tokens():
    handler = type("Handler", (TokenServer,), {"asked": []})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/token", handler.asked
    server.shutdown()
    server.server_close()


def works(connection):
    producer = KafkaProducer(connection)
    (position,) = producer.publish("news", [Message(b"k", b"x")])
    producer.close()
    source = KafkaSource(connection, ["news"])
    source.seek({("news", 0): position.offset})
    assert [record.value for record in drain(source)] == [b"x"]
    source.close()


def refused(connection):
    with pytest.raises(SourceUnavailableError) as told:
        KafkaSource(connection, ["news"])
    assert SECRET not in str(told.value)
    return str(told.value)


def user(broker, mechanism, **more):
    settings = {"ca_file": broker.ca, "username": "reader", "password": SECRET, "timeout": 10.0}
    address = (f"127.0.0.1:{broker.sasl}",)
    return KafkaConnection(address, security="SASL_SSL", mechanism=mechanism, **(settings | more))


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_user_comes_in_by_the_right_password_alone(broker, mechanism):
    works(user(broker, mechanism))
    refused(user(broker, mechanism, password="wrong", timeout=2.0))  # noqa: S106


def test_a_token_comes_from_its_server_by_client_credentials(broker, tokens):
    url, asked = tokens
    credentials = ClientCredentials(url, "reader", SECRET, scope="kafka")
    assert SECRET not in repr(credentials)
    works(user(broker, "OAUTHBEARER", token=FetchedTokens(credentials)))
    assert asked == [{"grant_type": ["client_credentials"], "scope": ["kafka"]}]


def test_a_token_comes_from_a_file(broker, tmp_path):
    file = tmp_path / "token"
    file.write_text(unsigned("reader") + "\n")
    works(user(broker, "OAUTHBEARER", token=FileTokens(file)))
    file.write_text("no token")
    refused(user(broker, "OAUTHBEARER", token=FileTokens(file), timeout=2.0))


def test_tls_trusts_the_named_authority_alone(broker):
    address = (f"127.0.0.1:{broker.tls}",)
    works(KafkaConnection(address, security="SSL", ca_file=broker.ca, timeout=10.0))
    refused(KafkaConnection(address, security="SSL", timeout=2.0))
    refused(KafkaConnection(address, timeout=2.0))


def test_a_client_certificate_with_its_key_and_password(broker):
    works(
        KafkaConnection(
            (f"127.0.0.1:{broker.tls}",),
            security="SSL",
            ca_file=broker.ca,
            cert_file=broker.client,
            key_file=broker.work / "client.key",
            key_password=SECRET,
            timeout=10.0,
        )
    )


def test_a_token_is_fetched_again_when_most_of_its_life_is_over(tokens):
    url, asked = tokens
    now = [0.0]
    fetched = FetchedTokens(ClientCredentials(url, "reader", SECRET), clock=lambda: now[0])
    for moment, times in [(0.0, 1), (79.0, 1), (80.0, 2), (159.0, 2), (161.0, 3)]:
        now[0] = moment
        fetched()
        assert len(asked) == times


def test_a_token_that_cannot_be_had_is_told_without_the_secret(tokens, tmp_path):
    url, _ = tokens
    for credentials in (
        ClientCredentials(url, "reader", "a wrong secret"),
        ClientCredentials("http://127.0.0.1:1/token", "reader", "a wrong secret"),
    ):
        with pytest.raises(SourceUnavailableError, match="no token for Kafka from") as told:
            FetchedTokens(credentials)()
        assert "wrong secret" not in str(told.value)
    with pytest.raises(SourceUnavailableError, match="no token for Kafka in"):
        FileTokens(tmp_path / "none")()
