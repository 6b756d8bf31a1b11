"""Accuracy and confusion on private test rows: noisy counts, charged to a budget, that may be published.

The model is public (fitted privately, or on other rows); the test rows are protected. If they are the training rows,
charge both to one ledger.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from discreet.bounds import Bounds
from discreet.engines.opening import as_rows
from discreet.evaluate.ratio import estimate_share
from discreet.models.selection import row_predictions as alone
from discreet.query import Batch, BoundedSum, OneHot
from discreet.release import Release
from discreet.stats.intervals import bound_counts
from discreet.stats.statistic import Options, Question, ask, l1_factor_of_cells


def private_accuracy(
    model: Any,
    X: Any,
    y: Any = None,
    epsilon: float = 1.0,
    delta: float = 0.0,
    *,
    classes: Sequence[Any] | None = None,
    **options: Unpack[Options],
) -> Release:
    """The share of rows that a model classifies correctly, from noisy counts of right and wrong.

    Parameters
    ----------
    model : a fitted classifier; each row is predicted separately.
    X, y : the test rows and their classes, or rows behind an engine.
    classes : the public list of classes; the model's if None. Rows of any other class are not counted.
    options : `neighbours`, `n`, `confidence`, `ledger`, `random_state`, as in every statistic. `n` is the number of
        rows if it is public and no row is bad; otherwise it is estimated from the same counts.

    The interval is for the accuracy in the population, of which the rows are a sample; `std` is that of the privacy
    noise only.

    Notes
    -----
    (ε, δ)-differential privacy of the test rows: each row adds one to one of two cells.

    | a row with | counts as |
    | --- | --- |
    | a missing feature, or a class not in the list | nothing |
    | a prediction that fails, or is not in the list | wrong |
    | no rows at all | 0.5 or so, with an interval of about [0, 1] |

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> model = LogisticRegression().fit([[-1, 0], [1, 0]], [0, 1])
    >>> answer = private_accuracy(model, X, X[:, 0] > 0, epsilon=1.0, classes=[0, 1])
    >>> bool(answer.value > 0.95 and answer.interval[1] == 1)
    True
    """
    question, asked, known = open_test_question(
        "private_accuracy", "predict", model, X, y, epsilon, delta, classes, options
    )

    # BOUND + SUMMARISE: each row adds one to right (0) or wrong (1)
    def find_cells(rows: Batch) -> NDArray[np.int64]:
        return np.where(find_bad_rows(rows), -1, (alone.codes(asked, rows.X, known) != rows.y).astype(np.int64))

    query = BoundedSum(OneHot(find_cells, 2), order=question.order, name="right and wrong")
    # PRIVATISE
    with alone.silence():
        noisy = question.curator.measure(query, question.budget.whole())
    # SOLVE
    right, wrong = noisy.value.tolist()
    value, std, interval = estimate_share(right, wrong, noisy.std, noisy.event, question.confidence, question.n)
    return question.answer("private_accuracy", value, std, interval)


def private_confusion(
    model: Any,
    X: Any,
    y: Any = None,
    epsilon: float = 1.0,
    delta: float = 0.0,
    *,
    classes: Sequence[Any] | None = None,
    **options: Unpack[Options],
) -> Release:
    """The noisy number of rows of each class (first axis) that are predicted as each class (second axis).

    Parameters are those of `private_accuracy`. Counts are unbiased, so small ones may be below zero. The interval holds
    for each cell separately, for these rows. Rows whose prediction is not in the list are not counted.
    `discreet.evaluate.Confusion(answer.axes[0], answer.value)` computes shares and plots them.

    Notes
    -----
    (ε, δ)-differential privacy of the test rows: each row adds one to one cell.
    """
    question, asked, known = open_test_question(
        "private_confusion", "predict", model, X, y, epsilon, delta, classes, options
    )
    size = len(known)

    # BOUND + SUMMARISE: each row adds one to the cell of its true and its predicted class
    def find_cells(rows: Batch) -> NDArray[np.int64]:
        said = alone.codes(asked, rows.X, known)
        return find_joint_cells(rows, size, said, said < 0)

    query = BoundedSum(OneHot(find_cells, size * size), order=question.order, name="confusion")
    # PRIVATISE
    with alone.silence():
        noisy = question.curator.measure(query, question.budget.whole("counts"))
    # SOLVE
    value = noisy.value.reshape(size, size)
    low, high = bound_counts(noisy, question.confidence)
    interval = low.reshape(size, size), high.reshape(size, size)
    return question.answer("private_confusion", value, noisy.std, interval, axes=(known, known))


def open_test_question(
    name: str, method: str, model: Any, X: Any, y: Any, epsilon: float, delta: float, classes: Any, options: Options
) -> tuple[Question, Any, tuple[Any, ...]]:
    """The question, the model to ask and the classes; targets become places in that list."""
    model = getattr(model, "best_estimator_", model)  # the model that a search has chosen
    known = classes if classes is not None else getattr(model, "classes_", None)
    if known is None:
        raise ValueError(f"{name} needs `classes`, the public list of labels: the model has none.")
    known = Bounds(0, 1, classes=known).classes or ()  # raises if they are not a list of different labels
    rows = as_rows(X, y, labels=True, unit=options.get("unit"))
    if rows.make_empty_batch().y is None:
        raise ValueError(f"{name} requires y to be passed: these rows have no target.")
    alone.probe(model, rows.width, method, rows.columns)
    question = ask(name, rows, epsilon, delta, options, wider=l1_factor_of_cells(options))
    question.curator.label(known)
    return question, model, known


def find_bad_rows(rows: Batch) -> NDArray[np.bool_]:
    """The rows with a missing feature, or with a class that is not in the list."""
    assert rows.y is not None
    return np.asarray(~np.isfinite(rows.X).all(axis=1) | ~np.isfinite(rows.y))


def find_joint_cells(rows: Batch, size: int, second: NDArray[np.int64], lost: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The cell of the class and `second` in a table with `size` columns; -1 for rows that are not counted."""
    assert rows.y is not None
    out = find_bad_rows(rows) | lost
    return np.where(out, -1, np.where(out, 0, rows.y).astype(np.int64) * size + second)
