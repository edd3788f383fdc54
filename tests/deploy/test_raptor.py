"""The command that has RAPTOR answer, against stand-ins for llama-index and its pack."""

import gzip
import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from deploy.systems import run_raptor


class Tree:
    """Keeps its leaves in a file; answers by their number."""

    built = 0

    def __init__(self, documents, *, transformations=(), similarity_top_k=0, **models):
        Tree.built += 1
        self.models = models
        self.top = similarity_top_k
        self.leaves = [leaf for text in documents for cut in transformations for leaf in cut(text)]

    def persist(self, folder):
        (Path(folder) / "leaves").write_text(json.dumps(self.leaves))

    @classmethod
    def from_persist_dir(cls, folder, **more):
        kept = cls([], **more)
        kept.leaves = json.loads((Path(folder) / "leaves").read_text())
        return kept


class QueryEngine:
    def __init__(self, tree, llm):
        self.tree, self.llm = tree, llm

    @classmethod
    def from_args(cls, tree, *, llm):
        return cls(tree, llm)

    def query(self, text):
        return f" {text} {len(self.tree.leaves)} leaves, {self.tree.top} read by {self.llm.model}\n"


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """Run it on two documents; gives what it answered."""
    bare = SimpleNamespace
    stand_ins = {
        "core": {"Document": lambda text: text},
        "core.node_parser": {
            "SentenceSplitter": lambda chunking_tokenizer_fn, **_: chunking_tokenizer_fn
        },
        "core.query_engine": {"RetrieverQueryEngine": QueryEngine},
        "embeddings.openai_like": {"OpenAILikeEmbedding": bare},
        "llms.openai_like": {"OpenAILike": bare},
        "packs.raptor": {"RaptorRetriever": Tree},
    }
    for name, held in stand_ins.items():
        module = ModuleType(f"llama_index.{name}")
        module.__dict__.update(held)
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setenv("TIDEGRAPH_MODEL", "m")
    monkeypatch.setattr(Tree, "built", 0)
    monkeypatch.chdir(tmp_path)
    rows = [{"id": "d1", "title": "Strike", "text": "It began. It ended."}, {"id": "d2"}]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "docs.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    (tmp_path / "queries.jsonl").write_text('{"id": "0", "query": "When did it end?"}\n')

    def run():
        files = ("--documents", "docs.jsonl.gz", "--queries", "queries.jsonl", "--answers", "said")
        monkeypatch.setattr(sys, "argv", ["run", "--root", "root", *files])
        run_raptor.main()
        return json.loads((tmp_path / "said").read_text())

    return run


def test_the_tree_is_built_once_and_every_question_is_answered_from_it(asked):
    said = {"id": "0", "answer": "When did it end? 5 leaves, 20 read by m"}
    assert asked() == said
    assert Tree.built == 2  # one that was built, one that was read
    assert asked() == said
    assert Tree.built == 3


def test_a_text_is_cut_after_its_sentences_and_nothing_is_lost():
    text = "It began. It ended!\nWhy?"
    assert run_raptor.sentences(text) == ["It began.", " It ended!", "\n", "Why?", ""]
    assert "".join(run_raptor.sentences(text)) == text
