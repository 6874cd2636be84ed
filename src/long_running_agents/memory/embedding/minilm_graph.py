"""Writes all-MiniLM-L6-v2 down as an ONNX graph, from its weights alone.

The graph takes ``input_ids``, ``attention_mask`` (numbers, not flags) and ``position_ids``, and
gives the mean of the last layer over the tokens that count. Positions are an input, since
onnxruntime stumbles over a graph that counts them itself.
"""

import importlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Tensors = Mapping[str, NDArray[np.float32]]

TOKENIZER = "tokenizer"
"""The key under which the tokenizer travels inside the file."""
LAYERS = 6
HEADS = 12
_WIDTH = 384
_HEAD = _WIDTH // HEADS
_EPSILON = 1e-12
_OPSET = 20
_FILE_FORMAT = 10
"""Old enough for every onnxruntime that knows the operators above."""


def minilm_graph(tensors: Tensors, tokenizer: str) -> bytes:
    """The model as a file.

    Args:
        tensors: The weights by name.
        tokenizer: The tokenizer's JSON, kept inside the file so that there is only one.

    Raises:
        ModuleNotFoundError: The package onnx is not installed.
        KeyError: A tensor is missing.
    """
    return _Writer(tensors).model(tokenizer)


class _Writer:
    """Collects nodes and weights. The library's own types are unknown to a strict checker."""

    def __init__(self, tensors: Tensors) -> None:
        self._onnx: Any = importlib.import_module("onnx")
        self._tensors = tensors
        self._nodes: list[Any] = []
        self._kept: dict[str, NDArray[Any]] = {}

    def model(self, tokenizer: str) -> bytes:
        helper, kinds = self._onnx.helper, self._onnx.TensorProto
        hidden = self._embeddings()
        # Nothing for a token that counts, and so little for one that does not that it vanishes.
        mask = self._node(
            "Mul",
            self._node("Sub", "attention_mask", self._keep("one", np.float32(1))),
            self._keep("far", np.float32(1e9)),
        )
        mask = self._node("Unsqueeze", mask, self._keep("head_axes", np.array([1, 2])))
        for number in range(LAYERS):
            hidden = self._layer(f"encoder.layer.{number}.", hidden, mask)
        self._pool(hidden)
        value = helper.make_tensor_value_info
        graph = helper.make_graph(
            self._nodes,
            "minilm",
            [
                value("input_ids", kinds.INT64, ["texts", "tokens"]),
                value("attention_mask", kinds.FLOAT, ["texts", "tokens"]),
                value("position_ids", kinds.INT64, [1, "tokens"]),
            ],
            [value("mean", kinds.FLOAT, ["texts", _WIDTH])],
            [self._onnx.numpy_helper.from_array(kept, name) for name, kept in self._kept.items()],
        )
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", _OPSET)],
            ir_version=_FILE_FORMAT,
            producer_name="long-running-agents",
        )
        helper.set_model_props(model, {TOKENIZER: tokenizer})
        return model.SerializeToString()

    def _embeddings(self) -> str:
        # Every text is of the first kind, so its vector can be added once and for all.
        kind = self._tensors["embeddings.token_type_embeddings.weight"][0]
        positions = self._tensors["embeddings.position_embeddings.weight"] + kind
        words = self._node("Gather", self._weight("embeddings.word_embeddings.weight"), "input_ids")
        placed = self._node("Gather", self._keep("positions", positions), "position_ids")
        return self._normed("embeddings.LayerNorm", self._node("Add", words, placed))

    def _layer(self, name: str, hidden: str, mask: str) -> str:
        attention = f"{name}attention."
        heads = {
            part: self._split(self._dense(f"{attention}self.{part}", hidden), part)
            for part in ("query", "key", "value")
        }
        scores = self._node("MatMul", heads["query"], heads["key"])
        scaled = self._node("Mul", scores, self._keep("scale", np.float32(_HEAD**-0.5)))
        shares = self._node("Softmax", self._node("Add", scaled, mask), axis=-1)
        mixed = self._node("MatMul", shares, heads["value"])
        joined = self._node(
            "Reshape",
            self._node("Transpose", mixed, perm=[0, 2, 1, 3]),
            self._keep("joined", np.array([0, 0, _WIDTH])),
        )
        heard = self._dense(f"{attention}output.dense", joined)
        hidden = self._normed(f"{attention}output.LayerNorm", self._node("Add", heard, hidden))
        inner = self._node("Gelu", self._dense(f"{name}intermediate.dense", hidden))
        outer = self._dense(f"{name}output.dense", inner)
        return self._normed(f"{name}output.LayerNorm", self._node("Add", outer, hidden))

    def _split(self, hidden: str, part: str) -> str:
        shaped = self._node("Reshape", hidden, self._keep("split", np.array([0, 0, HEADS, _HEAD])))
        # Keys are turned on their side, ready to be multiplied with queries.
        return self._node("Transpose", shaped, perm=[0, 2, 3, 1] if part == "key" else [0, 2, 1, 3])

    def _pool(self, hidden: str) -> None:
        counted = self._node("Unsqueeze", "attention_mask", self._keep("last_axis", np.array([-1])))
        axis = self._keep("token_axis", np.array([1]))
        total = self._node("ReduceSum", self._node("Mul", hidden, counted), axis, keepdims=0)
        number = self._node("ReduceSum", counted, axis, keepdims=0)
        self._node("Div", total, number, output="mean")

    def _dense(self, name: str, hidden: str) -> str:
        turned = self._keep(f"{name}.turned", self._tensors[f"{name}.weight"].T.copy())
        product = self._node("MatMul", hidden, turned)
        return self._node("Add", product, self._weight(f"{name}.bias"))

    def _normed(self, name: str, hidden: str) -> str:
        scale, bias = self._weight(f"{name}.weight"), self._weight(f"{name}.bias")
        return self._node("LayerNormalization", hidden, scale, bias, axis=-1, epsilon=_EPSILON)

    def _weight(self, name: str) -> str:
        return self._keep(name, self._tensors[name])

    def _keep(self, name: str, value: Any) -> str:
        self._kept[name] = np.asarray(value)
        return name

    def _node(self, kind: str, *inputs: str, output: str = "", **options: Any) -> str:
        output = output or f"{kind}_{len(self._nodes)}"
        self._nodes.append(self._onnx.helper.make_node(kind, inputs, [output], **options))
        return output
