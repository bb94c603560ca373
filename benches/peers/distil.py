"""Distils the shipped model into a table of token vectors: `distil.py OUT FILE.sqlite...`

The teacher's vectors come from an index: FILE is a portable index (`pairofcleats index --sqlite`), so nothing is
embedded here. The table is fitted so that the normalised sum of a text's token rows is near the text's vector, instead
of averaging the model's vectors of single tokens. OUT becomes a folder that
`pairofcleats bench quality --vectors static:OUT` reads. Fit on repositories that the benchmark does not query.
"""

import sqlite3
import sys
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import save_file
from tokenizers import Tokenizer

from models import weights

DIMENSIONS = 384
TOKENS_MAX = 256
EPOCHS = 12
BATCH = 256


def texts(file):
    """The text of each chunk as the model read it, and its vector."""
    rows = sqlite3.connect(f"file:{file}?mode=ro", uri=True).execute(
        "SELECT f.path, c.name, c.signature, c.content, v.embedding FROM chunks c JOIN files f ON f.id = c.file_id"
        " JOIN vectors v ON v.hash = c.content_hash GROUP BY c.content_hash"
    )
    for path, name, signature, content, vector in rows:
        header = " · ".join(part for part in (path, name, signature) if part)
        yield f"{header}\n{content}", np.frombuffer(vector, dtype=numbers(vector)).astype(np.float32)


def numbers(vector):
    """The number type of a stored vector: 16 or 32 bits."""
    return np.float16 if len(vector) == 2 * DIMENSIONS else np.float32


def start(tokenizer):
    """The model's own token embeddings, weighted by rank, which estimates how rare a token is."""
    from safetensors.numpy import load_file

    table = load_file(weights() / "model.safetensors")["embeddings.word_embeddings.weight"].astype(np.float32)
    rank = np.log1p(np.arange(len(table), dtype=np.float32))[:, None]
    return torch.from_numpy(table / np.linalg.norm(table, axis=1, keepdims=True) * rank / rank.max())


def fit(bags, vectors, table):
    """Fits rows whose sums have the directions of the teacher's vectors."""
    torch.manual_seed(7)
    rows = torch.nn.EmbeddingBag(*table.shape, mode="mean", sparse=True, _weight=table.clone())
    optimizer = torch.optim.SparseAdam(rows.parameters(), lr=0.003)
    for epoch in range(EPOCHS):
        for group in optimizer.param_groups:
            group["lr"] = 0.003 * (1 - epoch / EPOCHS)
        total = 0.0
        for part in torch.randperm(len(bags)).split(BATCH):
            chosen = [bags[i] for i in part]
            offsets = torch.tensor([0] + [len(bag) for bag in chosen[:-1]]).cumsum(0)
            said = torch.nn.functional.normalize(rows(torch.cat(chosen), offsets), dim=1)
            loss = (1 - (said * vectors[part]).sum(1)).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(part)
        print(f"epoch {epoch + 1}: mean cosine {1 - total / len(bags):.4f}", file=sys.stderr)
    return rows.weight.detach().numpy()


def main(out, *files):
    torch.set_num_threads(2)
    tokenizer = Tokenizer.from_file(str(weights() / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(TOKENS_MAX)
    found = dict(pair for file in files for pair in texts(file))
    encoded = tokenizer.encode_batch(list(found))
    bags = [torch.tensor(one.ids) for one in encoded]
    vectors = torch.nn.functional.normalize(torch.from_numpy(np.stack(list(found.values()))), dim=1)
    print(f"{len(bags)} texts", file=sys.stderr)
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    table = fit(bags, vectors, start(tokenizer))
    save_file({"embeddings": np.ascontiguousarray(table)}, str(folder / "model.safetensors"))
    (folder / "tokenizer.json").write_bytes((weights() / "tokenizer.json").read_bytes())


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
