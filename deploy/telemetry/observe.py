"""From one frozen report to its metrics and its line of log."""

from deploy.telemetry import answers, followers, generations, streams
from deploy.telemetry.sink import Sink

_TAKES = {**generations.TAKES, **streams.TAKES, **answers.TAKES, **followers.TAKES}


class Telemetry(Sink):
    """Takes the reports of all shells; may be called from any thread."""

    def observe(self, report: object) -> None:
        """Count a report and write its line."""
        _TAKES[type(report)](self, report)
