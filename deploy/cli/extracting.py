"""The command that analyses for a writer on another host: extract."""

from deploy.cli.options import Analyses, Config, Kafka, Sets, Topic, Workers


def extract(
    *,
    topic: Topic = None,
    kafka: Kafka = None,
    analyses: Analyses = None,
    workers: Workers = None,
    config: Config = None,
    sets: Sets = None,
) -> None:
    """Analyse a Kafka topic for a writer elsewhere: any number, each takes its share.

    Publishes to the topic `analyses` (made where it is missing), which the writer reads by
    `tidegraph index --analyses analyses`. Keeps nothing: it may be killed and started anywhere.
    """
    from deploy import process
    from deploy.cli import session

    settings = session.begin(
        {"topic": topic, "kafka": kafka, "analyses_topic": analyses, "workers": workers},
        config=config,
        sets=sets,
    )
    from deploy import extractor

    with process.stop_on_signals() as stop:
        report = extractor.extract(settings, stop)
    session.console(error=True).print(report)
