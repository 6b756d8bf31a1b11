"""Accuracy and confusion on private test rows: noisy counts, paid for, to be published.

The model is public (a private one, or learnt from other rows); what is protected are the rows it is tested on. If they
are rows it was trained on, charge both to one ledger.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from discreet.bounds import Bounds
from discreet.engines.opening import as_rows
from discreet.evaluate.ratio import share
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
    """The share of rows that a model classifies rightly, from one noisy table of right and wrong.

    Parameters
    ----------
    model : a fitted classifier; each row is predicted by itself.
    X, y : the test rows and their classes, or rows behind an engine.
    classes : the public list of classes; the model's if None. Rows of any other class are not counted.
    options : `neighbours`, `n`, `confidence`, `ledger`, `random_state`, as in every statistic. `n` is the number of
        rows if it is public and none is bad; it is estimated in the same table otherwise.

    The interval is for the accuracy in the population, of which the rows are a sample; `std` is the noise of privacy
    alone.

    Notes
    -----
    (ε, δ)-differential privacy of the test rows: each adds one to one of two cells.

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
    question, asked, known = question_of("private_accuracy", "predict", model, X, y, epsilon, delta, classes, options)

    # BOUND + SUMMARISE: each row adds one to right (0) or wrong (1)
    def cells(rows: Batch) -> NDArray[np.int64]:
        return np.where(bad(rows), -1, (alone.codes(asked, rows.X, known) != rows.y).astype(np.int64))

    # PRIVATISE
    query = BoundedSum(OneHot(cells, 2), order=question.order, name="right and wrong")
    with alone.silence():
        noisy = question.curator.measure(query, question.budget.whole())
    # SOLVE
    right, wrong = noisy.value.tolist()
    value, std, interval = share(right, wrong, noisy.std, noisy.event, question.confidence, question.n)
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
    """How many rows of each class (first axis) were given each class (second), with noise.

    Parameters are those of `private_accuracy`. Counts are unbiased: small ones may come out below zero. The interval
    holds for each cell by itself, for these rows. Rows whose prediction is not in the list are not counted.
    `discreet.evaluate.Confusion(answer.axes[0], answer.value)` makes shares and a plot of it.

    Notes
    -----
    (ε, δ)-differential privacy of the test rows: each adds one to one cell.
    """
    question, asked, known = question_of("private_confusion", "predict", model, X, y, epsilon, delta, classes, options)
    size = len(known)

    # BOUND + SUMMARISE: each row adds one to the cell of its true and its predicted class
    def cells(rows: Batch) -> NDArray[np.int64]:
        said = alone.codes(asked, rows.X, known)
        return joint(rows, size, said, said < 0)

    # PRIVATISE
    query = BoundedSum(OneHot(cells, size * size), order=question.order, name="confusion")
    with alone.silence():
        noisy = question.curator.measure(query, question.budget.whole("counts"))
    # SOLVE
    value = noisy.value.reshape(size, size)
    low, high = bound_counts(noisy, question.confidence)
    interval = low.reshape(size, size), high.reshape(size, size)
    return question.answer("private_confusion", value, noisy.std, interval, axes=(known, known))


def question_of(
    name: str, method: str, model: Any, X: Any, y: Any, epsilon: float, delta: float, classes: Any, options: Options
) -> tuple[Question, Any, tuple[Any, ...]]:
    """The question, the model to ask and the classes; targets are places in that list from here on."""
    model = getattr(model, "best_estimator_", model)  # of a search
    known = classes if classes is not None else getattr(model, "classes_", None)
    if known is None:
        raise ValueError(f"{name} needs `classes`, the public list of labels: the model has none.")
    known = Bounds(0, 1, classes=known).classes or ()  # raises if they are no list of different labels
    rows = as_rows(X, y, labels=True, unit=options.get("unit"))
    if rows.make_empty_batch().y is None:
        raise ValueError(f"{name} requires y to be passed: these rows bring no target.")
    alone.probe(model, rows.width, method, rows.columns)
    question = ask(name, rows, epsilon, delta, options, wider=l1_factor_of_cells(options))
    question.curator.label(known)
    return question, model, known


def bad(rows: Batch) -> NDArray[np.bool_]:
    """Rows with a missing feature, or of a class that is not in the list."""
    assert rows.y is not None
    return np.asarray(~np.isfinite(rows.X).all(axis=1) | ~np.isfinite(rows.y))


def joint(rows: Batch, size: int, second: NDArray[np.int64], lost: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The cell of class and `second` in a table with `size` columns; -1 for rows that do not count."""
    assert rows.y is not None
    out = bad(rows) | lost
    return np.where(out, -1, np.where(out, 0, rows.y).astype(np.int64) * size + second)
