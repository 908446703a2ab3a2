"""Train the student: one vector for each token, so that their sums point where the teacher's
sentence vectors do.

The loss is the sum of three losses:
- the cosine between a text's sum and the teacher's vector, projected to the student's dimensions;
- similarity distillation: in a batch, each query's distribution over the documents should equal the
teacher's (Hinton, Vinyals
  and Dean, "Distilling the Knowledge in a Neural Network", 2015; of in-batch similarities, as in
  Tung and Mori, "Similarity-Preserving Knowledge Distillation", 2019);
- contrast: each query should find its own document in the batch (van den Oord, Li and Vinyals,
"Representation Learning with
  Contrastive Predictive Coding", 2018).
The length of a token's vector is its weight in the sum, so the weights are learned as well. A row
begins as the teacher's vector of the token alone, times a weight that is lower for frequent tokens
(Arora, Liang and Ma, "A Simple but Tough-to-Beat Baseline for Sentence Embeddings", 2017), as in
Model2Vec.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F

TEMPERATURE = 0.1


@dataclass(frozen=True)
class Recipe:
    dims: int = 256
    epochs: int = 5
    batch: int = 1024  # pairs
    rate: float = 1e-2
    cosine: float = 2.0
    distil: float = 1.0
    contrast: float = 0.3
    seed: int = 1


class Bags:
    """Token ids of many texts in one array, from which the sums of a batch are computed."""

    def __init__(self, texts: list[list[int]]) -> None:
        self.flat = torch.tensor(
            np.concatenate([np.asarray(ids, np.int64) for ids in texts if ids])
        )
        self.ends = np.cumsum([len(ids) for ids in texts])
        self.starts = self.ends - np.array([len(ids) for ids in texts])

    def sums(self, rows: np.ndarray, table: torch.Tensor) -> torch.Tensor:
        lengths = self.ends[rows] - self.starts[rows]
        offsets = np.cumsum(lengths) - lengths
        where = np.repeat(self.starts[rows] - offsets, lengths) + np.arange(lengths.sum())
        return F.embedding_bag(
            self.flat[torch.from_numpy(where)], table, torch.from_numpy(offsets), mode="sum"
        )


def projection(vectors: np.ndarray, dims: int) -> np.ndarray:
    """The dims directions that keep most of the vectors' dot products: an uncentred PCA, [384,
    dims].
    """
    second = np.zeros((vectors.shape[1],) * 2)
    for start in range(0, len(vectors), 50_000):
        part = vectors[start : start + 50_000].astype(np.float64)
        second += part.T @ part
    return np.linalg.eigh(second)[1][:, ::-1][:, :dims].astype(np.float32)


def first_table(alone: np.ndarray, basis: np.ndarray, counts: np.ndarray) -> torch.Tensor:
    share = counts / counts.sum()
    weights = 1e-3 / (1e-3 + share)
    return torch.from_numpy(
        (alone.astype(np.float32) @ basis) * weights[:, None].astype(np.float32)
    )


def train(
    texts: list[list[int]],
    pairs: np.ndarray,
    vectors: np.ndarray,
    alone: np.ndarray,
    recipe: Recipe,
) -> np.ndarray:
    """texts: the token ids of each; alone: the teacher's vector of each token by itself."""
    torch.manual_seed(recipe.seed)
    rng = np.random.default_rng(recipe.seed)
    basis = projection(vectors, recipe.dims)
    counts = np.bincount(
        np.concatenate([np.asarray(ids, np.int64) for ids in texts]), minlength=len(alone)
    )
    table = torch.nn.Parameter(first_table(alone, basis, counts))
    bags, targets, projected = Bags(texts), torch.from_numpy(vectors), torch.from_numpy(basis)
    optimiser = torch.optim.Adam([table], lr=recipe.rate, fused=True)
    steps = recipe.epochs * (len(pairs) // recipe.batch)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: max(0.02, 1 - step / steps)
    )
    for epoch in range(recipe.epochs):
        order = rng.permutation(len(pairs))
        sums = np.zeros(3)
        for start in range(0, len(order) - recipe.batch + 1, recipe.batch):
            batch = pairs[order[start : start + recipe.batch]]
            both = (batch >= 0).all(1)
            rows = np.concatenate([batch[both, 0], batch[both, 1], batch[~both].max(1)])
            student = F.normalize(bags.sums(rows, table), dim=1)
            teacher = targets[torch.from_numpy(rows)].float()
            losses = losses_of(
                student, teacher, F.normalize(teacher @ projected, dim=1), int(both.sum())
            )
            loss = (
                recipe.cosine * losses[0] + recipe.distil * losses[1] + recipe.contrast * losses[2]
            )
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            sums += [part.item() for part in losses]
        means = sums / (len(order) // recipe.batch)
        print(
            f"epoch {epoch + 1}: cosine {1 - means[0]:.4f}, distillation {means[1]:.4f}, "
            f"contrast {means[2]:.4f}",
            flush=True,
        )
    return table.detach().numpy()


def losses_of(
    student: torch.Tensor, teacher: torch.Tensor, target: torch.Tensor, paired: int
) -> tuple[torch.Tensor, ...]:
    """Rows: `paired` queries, their documents in the same order, then texts that stand alone."""
    cosine = 1 - (student * target).sum(1).mean()
    wanted = F.softmax(teacher[:paired] @ teacher[paired:].T / TEMPERATURE, dim=1)
    scores = student[:paired] @ student[paired:].T / TEMPERATURE
    distil = F.kl_div(F.log_softmax(scores, dim=1), wanted, reduction="batchmean")
    contrast = F.cross_entropy(scores, torch.arange(paired))
    return cosine, distil, contrast
