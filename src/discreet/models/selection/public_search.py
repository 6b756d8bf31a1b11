"""The choice on public data: free."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.engines.memory import Memory
from discreet.engines.opening import as_memory_rows
from discreet.mechanisms.coins import Coins
from discreet.mechanisms.keystream import Keystream
from discreet.models.selection.candidates import candidate, fitted
from discreet.models.selection.prediction_losses import Losses


def best_on_public(
    estimator: Any, settings: tuple[dict[str, Any], ...], scale: dict[str, Any], data: Any, folds: int, rng: Keystream
) -> int:
    """The place of the setting with the least loss on public rows, cross-validated.

    Candidates are fitted with the noise that the private fit will have, so the choice is for noisy models; with far
    fewer public rows than private ones it leans to settings for more noise than there will be.
    """
    X, y = data
    rows = as_memory_rows(X, y, labels=estimator.has_labels)
    dealt = list(rows.split_into_blocks(folds, Coins.draw_key(rng)))
    total = np.zeros(len(settings))
    for held in range(folds):
        rest = _joined([block for i, block in enumerate(dealt) if i != held], estimator.has_labels)
        n = None if estimator.n is None else rest.count_replace_one()  # public, as the private fit's is
        made = [candidate(estimator, setting, estimator.epsilon, estimator.delta, n) for setting in settings]
        losses = Losses(tuple(fitted(model, rest, rng) for model in made), **scale)
        total += losses.add_up(dealt[held])[0].astype(np.float64)
    return int(total.argmin())


def _joined(blocks: list[Memory], labelled: bool) -> Memory:
    X = np.concatenate([block.read_features() for block in blocks])
    joined = Memory(X, np.concatenate([block.read_targets() for block in blocks]), labels=labelled)
    joined.columns = blocks[0].columns
    return joined
