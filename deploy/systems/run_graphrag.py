"""GraphRAG (``graphrag`` 3, its own command line) over a file of documents, question by question.

``ENV/bin/python run_graphrag.py --root DIR --method global --level 1``. The index is built once
below the root, with the model, which takes long and costs most; later runs go on from it. Beside
the options that ``tidegraph evaluate --system`` adds, embeddings need a model: ``--embedding``, by
default at the address of the other one.
"""

import argparse
import gzip
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

DONE = "tidegraph-indexed"
"""A file below the root: the index is whole."""

_KEY = "api_key: ${GRAPHRAG_API_KEY}"


def main() -> None:
    """Index where that was not done, then answer every question."""
    given = _arguments()
    root = Path(given.root)
    environment = {
        **os.environ,
        "GRAPHRAG_API_KEY": os.environ.get("TIDEGRAPH_MODEL_KEY") or "none",
    }
    if not (root / DONE).exists():
        prepare(root, Path(given.documents), given, environment)
        run(root, ["index"], environment)
        (root / DONE).touch()
    asked = [json.loads(line) for line in Path(given.queries).read_text("utf-8").splitlines()]
    how = ["--method", given.method, "--no-streaming"]
    if given.level is not None:
        how += ["--community-level", str(given.level)]
    if given.dynamic:
        how.append("--dynamic-community-selection")
    with Path(given.answers).open("w", encoding="utf-8") as answers:
        for question in asked:
            said = run(root, ["query", *how, question["query"]], environment)
            row = {"id": question["id"], "answer": answer_of(said)}
            answers.write(json.dumps(row) + "\n")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("--root", "--documents", "--queries", "--answers"):
        parser.add_argument(name, required=True)
    parser.add_argument("--method", choices=("global", "local", "drift", "basic"), default="global")
    parser.add_argument("--level", type=int)
    parser.add_argument("--dynamic", action="store_true")
    parser.add_argument("--embedding", default="text-embedding-3-small")
    parser.add_argument("--embedding-url", default=os.environ.get("TIDEGRAPH_MODEL_URL", ""))
    return parser.parse_args()


def prepare(
    root: Path, documents: Path, given: argparse.Namespace, environment: Mapping[str, str]
) -> None:
    """GraphRAG's own defaults, with our model's name and address, and the documents as input."""
    names = ["--model", environment["TIDEGRAPH_MODEL"], "--embedding", given.embedding]
    root.mkdir(parents=True, exist_ok=True)
    run(root, ["init", "--force", *names], environment)
    (root / ".env").unlink(missing_ok=True)
    path = root / "settings.yaml"
    path.write_text(configured(path.read_text("utf-8"), given, environment), "utf-8")
    folder = root / "input"
    folder.mkdir(exist_ok=True)
    with (folder / "documents.jsonl").open("w", encoding="utf-8") as out:
        for document in read(documents):
            text = f"{document.get('title') or ''}\n\n{document.get('text') or ''}".strip()
            row = {"id": document["id"], "title": document.get("title") or document["id"]}
            out.write(json.dumps({**row, "text": text}) + "\n")


def configured(settings: str, given: argparse.Namespace, environment: Mapping[str, str]) -> str:
    """The settings that ``graphrag init`` writes, with addresses and the form of the input."""
    addresses = (environment.get("TIDEGRAPH_MODEL_URL", ""), given.embedding_url)
    before, between, after = settings.split(_KEY)  # of the model, then of the embeddings
    keys = [f"{_KEY}\n    api_base: {address}" for address in addresses]
    settings = "".join((before, keys[0], between, keys[1], after))
    columns = "type: jsonl\n  id_column: id\n  title_column: title\n  text_column: text"
    return re.sub(r"(?m)(?<=^input:\n  )type: text.*$", columns, settings)


def read(path: Path) -> Iterator[dict[str, str]]:
    """Documents from JSON Lines, plain or gzip."""
    content = path.read_bytes()
    content = gzip.decompress(content) if path.suffix == ".gz" else content
    for line in content.splitlines():
        if line.strip():
            yield json.loads(line)


def run(root: Path, arguments: Sequence[str], environment: Mapping[str, str]) -> str:
    """One command of GraphRAG; what it printed. Ends with its code where it fails."""
    command = [sys.executable, "-m", "graphrag", arguments[0], "--root", str(root), *arguments[1:]]
    done = subprocess.run(  # noqa: S603  this interpreter
        command, env=environment, stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode:
        sys.stderr.write(done.stdout)
        sys.exit(done.returncode)
    return done.stdout


def answer_of(printed: str) -> str:
    """The answer without GraphRAG's own references, which would tell the judge whose it is."""
    return re.sub(r"\s*\[Data:[^\]]*\]", "", printed).strip()


if __name__ == "__main__":
    main()
