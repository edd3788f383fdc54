"""``make soak``: hours at half of what the machine sustains, with edits, deletes and expiry.

One process of the program over the embedded log; documents of Reuters, over and over under new ids
and with the present time. Memory is what the processes hold themselves, without what is mapped from
files; SQLite's cache of pages is in it, and fills up to its bound of 64 MB with some 100,000
documents. Says at the end how memory, freshness and descriptors went, and exits with 1 where one
of them missed its bound or the store does not verify.
"""

import argparse
import json
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import deque
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import httpx
import psutil

from index.verify import verify
from stream.log import LogProducer
from stream.source import Message
from tests.bench.corpus import documents
from tests.bench.pipeline import REUTERS, percentile

TOPIC = "documents"
FIRST = 300
"""Documents before anything is measured: kernels are compiled for them."""
CALIBRATION = 1_500
"""Documents at the beginning that come as fast as they are taken; the rate is half of that."""
WARM_UP = 0.25
"""Share of the time that is not judged; the window is half of it, so that expiry goes on after."""
SLOPE = 1.0
"""Percent an hour that memory may grow."""
SHORT = 2.0
"""Percent in all that it may grow where less than an hour is judged: caches fill meanwhile."""
MEDIAN, LAST = 1.0, 3.0
"""Seconds of freshness, median and 99th percentile."""
_LOOK, _SAMPLE, _STEP = 0.5, 5.0, 0.05


@dataclass(frozen=True, slots=True)
class Sample:
    """One look: seconds since the start, bytes and descriptors of the process and its children."""

    at: float
    memory: int
    descriptors: int
    documents: int


@dataclass(frozen=True, slots=True)
class Figure:
    """What was judged; ``bound`` is the most that is allowed."""

    name: str
    value: float
    bound: float
    unit: str

    @property
    def kept(self):
        return self.value <= self.bound


def judged(samples, freshness):
    """The figures of what came after the warm-up; ``freshness`` in seconds, evenly spaced."""
    hours = [sample.at / 3600 for sample in samples]
    memory = [sample.memory for sample in samples]
    slope = statistics.linear_regression(hours, memory).slope
    growth = 100 * slope / statistics.fmean(memory)
    length = hours[-1] - hours[0]
    bound = SLOPE if length >= 1 else SHORT / length
    half = len(samples) // 2
    first, second = (max(s.descriptors for s in part) for part in (samples[:half], samples[half:]))
    return [
        Figure("memory, slope", growth, bound, "%/h"),
        Figure("freshness, median", statistics.median(freshness), MEDIAN, "s"),
        Figure("freshness, p99", percentile(freshness, 99), LAST, "s"),
        Figure("descriptors, second half over the first", second - first, 0, ""),
    ]


class Stream:
    """Messages without an end: new documents, edits, deletes, repetitions and rejects."""

    def __init__(self, seed):
        self._dice = random.Random(seed)
        self.texts = documents(REUTERS)
        self._made = 0
        self._recent = []

    def take(self, count):
        return [self._one() for _ in range(count)]

    def _one(self):
        kind = self._dice.random()
        if kind < 0.01:
            return Message(b"broken", b"not json")
        if self._recent and kind < 0.17:
            place = self._dice.randrange(len(self._recent))
            before = self._recent[place]
            if kind < 0.04:
                return before
            if kind < 0.07:
                del self._recent[place]
                return Message(before.key, None)
            body = json.loads(before.value)
            body["text"] += f" Corrected for the {self._dice.randrange(50)}th time."
            return self._kept(before.key.decode(), body)
        text = self.texts[self._made % len(self.texts)]
        self._made += 1
        key = f"s{self._made}"
        body = {"id": key, "title": text.get("title", ""), "text": text["text"]}
        return self._kept(key, body | {"published_at": datetime.now(UTC).isoformat()})

    def _kept(self, key, body):
        made = Message(key.encode(), json.dumps(body).encode())
        self._recent.append(made)
        del self._recent[:-1_000]
        return made


class Soak:
    """The process under load; ``run`` gives the samples and the freshness of all looks.

    Freshness is the age of the oldest publication that is not searchable, as seen from outside.
    """

    def __init__(self, work, window, seed):
        self._work = work
        self._producer = LogProducer(work / "log.db")
        self.stream = Stream(seed)
        self._process, self._client = self._started(window)
        self._family = psutil.Process(self._process.pid)

    def _started(self, window):
        arguments = ["run", "--data", str(self._work), "--port", "0", "--window", f"{window}s"]
        with (self._work / "said.txt").open("w") as said:
            process = subprocess.Popen(
                [sys.executable, "-m", "deploy.cli", *arguments], stdout=said, stderr=said
            )
        while not (self._work / "service.json").exists():
            assert process.poll() is None, (self._work / "said.txt").read_text()
            time.sleep(0.2)
        url = json.loads((self._work / "service.json").read_text())["url"]
        return process, httpx.Client(base_url=url, timeout=30)

    def calibrate(self):
        """Half of the documents a second that it takes when they come all at once."""
        self._through(FIRST)
        started = time.monotonic()
        self._through(CALIBRATION)
        return CALIBRATION / (time.monotonic() - started) / 2

    def _through(self, count):
        """Publish so many, and wait until all are searchable."""
        last = self._producer.publish(TOPIC, self.stream.take(count))[-1]
        while not any(p["offset"] > last.offset for p in self.status()["positions"]):
            time.sleep(0.1)

    def run(self, seconds, rate, told):
        samples, freshness = [], []
        started, sent, looked, sampled = time.monotonic(), 0, 0.0, 0.0
        waiting = deque()
        while (now := time.monotonic() - started) < seconds:
            due = int(now * rate)
            if due > sent:
                at = self._producer.publish(TOPIC, self.stream.take(due - sent))
                waiting.append((at[-1].offset, now))
                sent = due
            if now - looked >= _LOOK:
                looked, status = now, self.status()
                reached = max((p["offset"] for p in status["positions"]), default=0)
                while waiting and waiting[0][0] < reached:
                    waiting.popleft()
                freshness.append((now, now - waiting[0][1] if waiting else 0.0))
                if now - sampled >= _SAMPLE:
                    sampled = now
                    samples.append(self._sample(now, status))
                    told(samples, freshness)
            time.sleep(_STEP)
        return samples, freshness

    def status(self):
        assert self._process.poll() is None, "the process ended"
        return self._client.get("/v1/status").json()

    def _sample(self, now, status):
        family = [self._family, *self._family.children(recursive=True)]
        descriptors = sum(one.num_fds() for one in family)
        return Sample(now, sum(map(_held, family)), descriptors, status["documents"])

    def end(self):
        """End it as a supervisor would; the code, and the checks of the store that do not hold."""
        self._client.close()
        self._process.send_signal(signal.SIGTERM)
        code = self._process.wait(60)
        self._producer.close()
        return code, [check.name for check in verify(self._work).checks if not check.ok]

    def close(self):
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()


def _held(process):
    """Bytes of a process that no file stands behind; all that it has where that is not told."""
    memory = process.memory_info()
    return memory.rss - getattr(memory, "shared", 0)


def main():
    parser = argparse.ArgumentParser(prog="make soak", description="Hours at half rate.")
    parser.add_argument("minutes", type=float, nargs="?", default=120.0)
    parser.add_argument("--rate", type=float, help="documents a second; else half the sustained")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    seconds = 60 * chosen.minutes
    with tempfile.TemporaryDirectory() as work:
        soak = Soak(Path(work), max(10, round(seconds * WARM_UP / 2)), chosen.seed)
        with closing(soak):
            sustained = soak.calibrate()
            rate = chosen.rate or sustained
            # All words have come by the end of the warm-up: what is known of them is never let go.
            del soak.stream.texts[max(100, int(rate * WARM_UP * seconds)) :]
            say(f"{rate:.1f} documents a second for {chosen.minutes:g} minutes")
            samples, freshness = soak.run(seconds, rate, _progress(seconds))
            code, broken = soak.end()
    settled = [s for s in samples if s.at >= WARM_UP * seconds]
    figures = judged(settled, [value for at, value in freshness if at >= WARM_UP * seconds])
    for one in figures:
        say(
            f"{'ok  ' if one.kept else 'MISS'}  {one.name}: {one.value:.3g} {one.unit}"
            f" (at most {one.bound:.3g})"
        )
    say(f"ended with {code}; checks that do not hold: {', '.join(broken) or 'none'}")
    return 0 if all(one.kept for one in figures) and not code and not broken else 1


def _progress(seconds):
    """Says a line for each twentieth of the time."""
    due = [0.0]

    def told(samples, freshness):
        now = samples[-1]
        if now.at < due[0]:
            return
        due[0] = now.at + seconds / 20
        recent = [value for at, value in freshness if at > now.at - seconds / 20]
        say(
            f"{now.at / 60:6.1f} min: {now.memory / 1e6:,.0f} MB, {now.descriptors} descriptors, "
            f"{now.documents:,} documents, freshness {statistics.median(recent):.2f} s, "
            f"at most {max(recent):.2f} s"
        )

    return told


def say(line):
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
