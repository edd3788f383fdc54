"""A real Kafka broker for tests, started by the project's own script."""

import gc
import os
import random
import shutil
import socket
import subprocess
import warnings
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "deploy" / "kafka" / "broker.sh"

PROPERTIES = """
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller},\
  SASL://127.0.0.1:{sasl},FAR://127.0.0.1:{far}
advertised.listeners=PLAINTEXT://127.0.0.1:{port},SASL://127.0.0.1:{sasl},FAR://127.0.0.1:{near}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT,\
  FAR:PLAINTEXT
sasl.enabled.mechanisms=PLAIN
listener.name.sasl.plain.sasl.jaas.config=\\
  org.apache.kafka.common.security.plain.PlainLoginModule required user_reader="right";
"""
"""A second listener asks for a user's password; a third says that it is at another port, where a
test puts a line of its own.
"""


class Broker:
    """One broker with a work folder and ports of its own.

    ``sasl`` asks for a password. What connects to ``far`` is told to go on at ``near``.
    """

    def __init__(self, work: Path):
        self.work = work
        work.mkdir(parents=True, exist_ok=True)
        self.port, self.controller, self.sasl, self.far, self.near = free_ports(5)
        self.properties = work / "extra.properties"
        self.properties.write_text(
            PROPERTIES.format(
                port=self.port,
                controller=self.controller,
                sasl=self.sasl,
                far=self.far,
                near=self.near,
            )
        )

    @property
    def bootstrap(self):
        return f"127.0.0.1:{self.port}"

    def run(self, command):
        options = {
            "--work": self.work,
            "--port": self.port,
            "--controller": self.controller,
            "--properties": self.properties,
            "--heap": "512m",
        }
        words = [str(word) for option in options.items() for word in option]
        done = subprocess.run(
            [SCRIPT, command, *words], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr


def free_ports(count):
    """Ports that nobody listens on, below those that the system hands out to clients.

    A client that knocks again and again at a port of the latter kind while its server is away
    sooner or later gets that very port for its own end, is connected to itself, and keeps it.
    """
    sockets = []
    while len(sockets) < count:
        one = socket.socket()
        try:
            one.bind(("127.0.0.1", random.SystemRandom().randrange(20_000, 32_000)))
        except OSError:
            one.close()
        else:
            sockets.append(one)
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


@contextmanager
def collecting():
    """Collect the sockets that the client left, here, where that is no failure of a later test."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


def require_broker():
    """Skip, saying why, where no broker can be had; in CI that is a failure."""
    reason = _why_not()
    if reason is None:
        return
    if os.environ.get("CI"):
        pytest.fail(f"no Kafka broker, and CI must have one: {reason}")
    pytest.skip(f"no Kafka broker: {reason}")


def _why_not():
    if shutil.which("java") is None:
        return "no Java (Debian: apt install default-jre-headless maven)"
    if shutil.which("mvn") is None and not (ROOT / "build/kafka/libs/complete").exists():
        return "no Maven to fetch it with (Debian: apt install maven)"
    fetched = subprocess.run([SCRIPT, "fetch"], capture_output=True, text=True, check=False)
    if fetched.returncode:
        return fetched.stderr.strip().splitlines()[-1]
    return None
