"""RAPTOR (``llama-index-packs-raptor``) over a file of documents, question by question.

``ENV/bin/python run_raptor.py --root DIR``. The tree of summaries is built once below the root,
with the model; later runs go on from it. Beside the options that ``tidegraph evaluate --system``
adds, embeddings need a model: ``--embedding``, by default at the address of the other one.

Defaults are those of RAPTOR's paper (Sarthi and others, ICLR 2024, sections 3 and 4): leaves of
about 100 tokens, one collapsed tree, of which the 20 nodes nearest to the question are read.
"""

import argparse
import gzip
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DONE = "tidegraph-indexed"
"""A file below the root: the tree is whole."""

LEAF = 100
"""Tokens of a leaf."""
NODES = 20
"""Nodes that an answer is made from."""
CONTEXT = 128_000
"""Tokens that the model reads at once: llama-index cuts what it sends to this (ours)."""


def main() -> None:
    """Build the tree where that was not done, then answer every question."""
    given = _arguments()
    root = Path(given.root)
    model, embedding = _models(given)
    if not (root / DONE).exists():
        build(root, list(read(Path(given.documents))), model, embedding)
    answer = _answering(root, model, embedding)
    asked = [json.loads(line) for line in Path(given.queries).read_text("utf-8").splitlines()]
    with Path(given.answers).open("w", encoding="utf-8") as answers:
        for question in asked:
            said = str(answer.query(question["query"])).strip()
            answers.write(json.dumps({"id": question["id"], "answer": said}) + "\n")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("--root", "--documents", "--queries", "--answers"):
        parser.add_argument(name, required=True)
    parser.add_argument("--embedding", default="text-embedding-3-small")
    parser.add_argument("--embedding-url", default=os.environ.get("TIDEGRAPH_MODEL_URL", ""))
    return parser.parse_args()


def _models(given: argparse.Namespace) -> tuple[Any, Any]:
    """The model and that of the embeddings, as llama-index has them for any server.

    A client for each call: the package runs an event loop for each question, and a connection
    kept from an earlier one is dead.
    """
    from llama_index.embeddings.openai_like import OpenAILikeEmbedding  # noqa: PLC0415  not here
    from llama_index.llms.openai_like import OpenAILike  # noqa: PLC0415  not here

    key = os.environ.get("TIDEGRAPH_MODEL_KEY") or "none"
    model = OpenAILike(
        model=os.environ["TIDEGRAPH_MODEL"],
        api_base=os.environ.get("TIDEGRAPH_MODEL_URL"),
        api_key=key,
        context_window=CONTEXT,
        is_chat_model=True,
        reuse_client=False,
    )
    embedding = OpenAILikeEmbedding(
        model_name=given.embedding, api_base=given.embedding_url, api_key=key, reuse_client=False
    )
    return model, embedding


def build(root: Path, documents: list[dict[str, str]], model: Any, embedding: Any) -> None:
    """Cluster leaves and summarise clusters, level by level, and keep the tree."""
    from llama_index.core import Document  # noqa: PLC0415  not here
    from llama_index.core.node_parser import SentenceSplitter  # noqa: PLC0415  not here
    from llama_index.packs.raptor import RaptorRetriever  # noqa: PLC0415  not here

    texts = [f"{d.get('title') or ''}\n\n{d.get('text') or ''}".strip() for d in documents]
    tree = RaptorRetriever(
        [Document(text=text) for text in texts if text],
        llm=model,
        embed_model=embedding,
        transformations=[
            SentenceSplitter(chunk_size=LEAF, chunk_overlap=0, chunking_tokenizer_fn=sentences)
        ],
    )
    root.mkdir(parents=True, exist_ok=True)
    tree.persist(str(root))
    (root / DONE).touch()


def sentences(text: str) -> list[str]:
    """A text cut after each end of a sentence, as RAPTOR's authors do.

    llama-index would load a tokenizer's data from the network for it.
    """
    return re.split(r"(?<=[.!?\n])", text)


def _answering(root: Path, model: Any, embedding: Any) -> Any:
    """What answers from the kept tree: its nodes of all levels in one pool."""
    from llama_index.core.query_engine import RetrieverQueryEngine  # noqa: PLC0415  not here
    from llama_index.packs.raptor import RaptorRetriever  # noqa: PLC0415  not here

    tree = RaptorRetriever.from_persist_dir(
        str(root), embed_model=embedding, llm=model, similarity_top_k=NODES
    )
    return RetrieverQueryEngine.from_args(tree, llm=model)


def read(path: Path) -> Iterator[dict[str, str]]:
    """Documents from JSON Lines, plain or gzip."""
    content = path.read_bytes()
    content = gzip.decompress(content) if path.suffix == ".gz" else content
    for line in content.splitlines():
        if line.strip():
            yield json.loads(line)


if __name__ == "__main__":
    main()
