"""What is asked of a Kafka cluster beside reading: which topics are which, and marks of lag."""

from collections.abc import Mapping, Sequence

from kafka import KafkaAdminClient, TopicPartition
from kafka.structs import OffsetAndMetadata

from stream.errors import SourceError
from stream.kafka_connection import KafkaConnection, create_topic, translated
from stream.source import Partition


def topic_ids(connection: KafkaConnection, topics: Sequence[str]) -> dict[str, str]:
    """The cluster's own id of each topic, which a topic made anew under its name does not have.

    A topic that is not there is left out, as are all where the brokers are older than ids.

    Raises:
        SourceUnavailableError: if the cluster does not answer.
    """
    with translated(connection):
        admin = KafkaAdminClient(**connection.options())
        try:
            found = admin.describe_topics(list(topics))
        finally:
            admin.close()
    return {
        one["name"]: str(one["topic_id"])
        for one in found
        if not one["error_code"] and one.get("topic_id")
    }


def follow_partitions(
    connection: KafkaConnection, topic: str, other: str, settings: Mapping[str, str]
) -> int:
    """Give a topic at least the partitions that another has; make it where it is missing.

    It is made with the other's replication and with ``settings``. Returns the number of partitions
    of the other one.

    Raises:
        SourceUnavailableError: if the cluster does not answer or refuses.
        SourceError: if there is no such other topic.
    """
    with translated(connection):
        admin = KafkaAdminClient(**connection.options())
        try:
            found = {
                one["name"]: one["partitions"]
                for one in admin.describe_topics([topic, other])
                if not one["error_code"]
            }
            if other not in found:
                raise SourceError(
                    f"Kafka at {','.join(connection.bootstrap)} has no topic {other!r}"
                )
            wanted = len(found[other])
            if 0 < len(found.get(topic, ())) < wanted:
                admin.create_partitions({topic: wanted})
        finally:
            admin.close()
    if topic not in found:
        replication = len(found[other][0]["replica_nodes"])
        create_topic(
            connection,
            topic,
            partitions=wanted,
            replication=replication,
            settings=dict(settings),
        )
    return wanted


class GroupMarks:
    """Commits positions for a group without members, so that tools can show the lag.

    Nothing is ever read from there: the store's positions count.
    """

    def __init__(self, connection: KafkaConnection, group: str) -> None:
        """Nothing is asked of the cluster before the first mark."""
        self._connection = connection
        self._group = group
        self._marked: dict[Partition, int] = {}

    def mark(self, positions: Mapping[Partition, int]) -> int:
        """Commit those that changed; returns how many.

        Raises:
            SourceUnavailableError: if the cluster does not take them.
        """
        changed = {at: to for at, to in positions.items() if self._marked.get(at) != to}
        if not changed:
            return 0
        offsets = {TopicPartition(*at): OffsetAndMetadata(to, "", -1) for at, to in changed.items()}
        with translated(self._connection):
            admin = KafkaAdminClient(**self._connection.options())
            try:
                done = admin.alter_group_offsets(self._group, offsets)
            finally:
                admin.close()
            for at, problem in done.items():
                if getattr(problem, "errno", 0):
                    raise ValueError(f"offsets of {at.topic} for group {self._group}: {problem}")
        self._marked.update(changed)
        return len(changed)
