"""Train the table for many languages: one vector for each token, so that sums of them point where
the teacher's sentence vectors do, and texts that belong together, in two languages too, are near.

The loss is the sum of
- the cosine between a text's sum and the teacher's vector, which has been centred and projected to
the student's dimensions;
- symmetric contrast: in a batch of pairs, each text should find its partner (van den Oord, Li and
Vinyals, "Representation Learning with Contrastive Predictive Coding", 2018).

A row begins as the teacher's vector of the token alone, centred, times a weight that is lower for
frequent tokens (Arora, Liang and Ma, "A Simple but Tough-to-Beat Baseline for Sentence Embeddings",
2017), as in Model2Vec.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F

from hybrid_memory.embedding import multilingual

RARE = 1e-4  # the probability of a token at which its weight is half


@dataclass(frozen=True)
class Recipe:
    dims: int = 256
    epochs: int = 1
    batch: int = 512  # pairs
    lessons: int = 512  # texts with a vector of the teacher, in each step
    rate: float = 3e-3
    cosine: float = 8.0
    contrast: float = 1.0
    temperature: float = 0.1
    seed: int = 1


class Tokenizer:
    """Turns texts into numbers of tokens, as hybrid_memory/embedding/multilingual.py does."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self._numbers = {token: number for number, token in enumerate(tokens)}
        self._longest = max(map(len, tokens))
        self._words: dict[str, list[int]] = {}

    def ids(self, text: str) -> list[int]:
        ids: list[int] = []
        for word in multilingual.words(text):
            numbers = self._words.get(word)
            if numbers is None:
                numbers = [
                    number for number in multilingual.numbers(word, self._first) if number >= 0
                ]
                self._words[word] = numbers
            ids += numbers
        return ids

    def _first(self, text: str) -> tuple[int, int]:
        for end in range(min(len(text), self._longest), 0, -1):
            number = self._numbers.get(text[:end])
            if number is not None:
                return end, number
        return 0, -1


class Bags:
    """The tokens of many texts in one array, from which the sums of a batch are computed."""

    def __init__(self, token_ids: Iterable[Sequence[int]]) -> None:
        arrays = [np.asarray(ids, np.int32) for ids in token_ids]
        lengths = np.array([len(array) for array in arrays])
        self.flat = np.concatenate(arrays)
        self.ends = np.cumsum(lengths)
        self.starts = self.ends - lengths

    def tokens(self, rows: np.ndarray) -> tuple[np.ndarray, torch.Tensor]:
        """Return the tokens of these texts, one after the other, and where each text begins."""
        lengths = self.ends[rows] - self.starts[rows]
        offsets = np.cumsum(lengths) - lengths
        places = np.repeat(self.starts[rows] - offsets, lengths) + np.arange(lengths.sum())
        return self.flat[places], torch.from_numpy(offsets)

    def sums(self, rows: np.ndarray, table: torch.Tensor) -> torch.Tensor:
        ids, offsets = self.tokens(rows)
        return F.embedding_bag(torch.from_numpy(ids.astype(np.int64)), table, offsets, mode="sum")


class Rows:
    """The rows of the table and their state in Adam (Kingma and Ba, 2015). A step changes only the
    rows that it uses, in which it is much faster than torch's own optimisers.
    """

    BETAS = (0.9, 0.999)

    def __init__(self, table: np.ndarray) -> None:
        self.table = torch.from_numpy(table.copy())
        self._first = torch.zeros_like(self.table)
        self._second = torch.zeros_like(self.table)
        self._steps = torch.zeros(len(table), 1)

    def used(self, bags: Bags, rows: np.ndarray) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return the numbers of the rows that these texts use, a copy of these that takes a
        gradient, and the sums of the texts.
        """
        ids, offsets = bags.tokens(rows)
        numbers, places = np.unique(ids, return_inverse=True)
        chosen = torch.from_numpy(numbers.astype(np.int64))
        values = self.table[chosen].requires_grad_()
        sums = F.embedding_bag(torch.from_numpy(places), values, offsets, mode="sum")
        return chosen, values, sums

    @torch.no_grad()
    def step(self, chosen: torch.Tensor, values: torch.Tensor, rate: float) -> None:
        assert values.grad is not None
        first = self._first[chosen].lerp_(values.grad, 1 - self.BETAS[0])
        second = self._second[chosen].lerp_(values.grad.square(), 1 - self.BETAS[1])
        steps = self._steps[chosen].add_(1)
        self._first[chosen] = first
        self._second[chosen] = second
        self._steps[chosen] = steps
        size = (second / (1 - self.BETAS[1] ** steps)).sqrt_().add_(1e-10)
        self.table[chosen] -= rate * first / (1 - self.BETAS[0] ** steps) / size


def projection(vectors: np.ndarray, dims: int) -> np.ndarray:
    """Return the `dims` directions that keep most of the vectors' dot products, [384, dims]."""
    single = vectors.astype(np.float32)
    return np.linalg.eigh(single.T @ single)[1][:, ::-1][:, :dims].copy()


def first_table(alone: np.ndarray, probabilities: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """Return the rows before training. `alone`: the teacher's centred vector of each token."""
    rows = alone @ basis
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    weights = RARE / (RARE + probabilities)
    return (rows * weights[:, None]).astype(np.float32)


def train(
    bags: Bags,
    pairs: np.ndarray,
    lessons: np.ndarray,
    targets: np.ndarray,
    table: np.ndarray,
    recipe: Recipe,
    measure: Callable[[np.ndarray], str],
) -> np.ndarray:
    """Return the trained rows, [tokens, dims].

    `pairs` are rows of `bags`, [n, 2]; `lessons` are rows of it whose vectors should be `targets`.
    """
    rng = np.random.default_rng(recipe.seed)
    rows = Rows(table)
    aims = F.normalize(torch.from_numpy(targets), dim=1)
    per_epoch = len(pairs) // recipe.batch
    steps = 0
    for epoch in range(recipe.epochs):
        order = rng.permutation(len(pairs))
        losses = np.zeros(2)
        for start in range(0, per_epoch * recipe.batch, recipe.batch):
            batch = pairs[order[start : start + recipe.batch]]
            chosen = rng.integers(0, len(lessons), recipe.lessons)
            used = np.concatenate([batch[:, 0], batch[:, 1], lessons[chosen]])
            numbers, values, sums = rows.used(bags, used)
            student = F.normalize(sums, dim=1)
            contrast = contrast_loss(student[: 2 * len(batch)], batch, recipe.temperature)
            aimed = student[2 * len(batch) :] * aims[torch.from_numpy(chosen)]
            cosine = 1 - aimed.sum(1).mean()
            loss = recipe.contrast * contrast + recipe.cosine * cosine
            loss.backward()
            share = steps / (recipe.epochs * per_epoch)
            rows.step(numbers, values, recipe.rate * max(0.02, 1 - share))
            steps += 1
            losses += [contrast.item(), cosine.item()]
        losses /= per_epoch
        print(
            f"epoch {epoch + 1}: contrast {losses[0]:.3f}, cosine {1 - losses[1]:.3f}; "
            f"{measure(rows.table.numpy())}",
            flush=True,
        )
    return rows.table.numpy()


def contrast_loss(vectors: torch.Tensor, batch: np.ndarray, temperature: float) -> torch.Tensor:
    """Return the loss of pairs: the first half of the vectors are the first texts. A text that is
    in another pair, too, is no wrong answer there.
    """
    count = len(batch)
    scores = vectors[:count] @ vectors[count:].T / temperature
    same = (batch[:, :1] == batch[None, :, 0]) | (batch[:, 1:] == batch[None, :, 1])
    np.fill_diagonal(same, False)
    scores = scores.masked_fill(torch.from_numpy(same), -1e4)
    answers = torch.arange(count)
    return (F.cross_entropy(scores, answers) + F.cross_entropy(scores.T, answers)) / 2
