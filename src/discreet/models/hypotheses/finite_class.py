"""Learning any finite class of hypotheses: the exponential mechanism over how many rows each gets right."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.accounting import curves
from discreet.bounds import Bounds
from discreet.budget import Budget, choice
from discreet.curator.procedures import Inside
from discreet.curator.task import Task
from discreet.engines import Rows
from discreet.events import Choice, Composed, Event, Gaussian, Pure, flatten
from discreet.labels import codes_of, ordered
from discreet.mechanisms.choose import exponential, permute_and_flip
from discreet.mechanisms.keystream import Keystream
from discreet.models.hypotheses.families import FAMILIES, Conjunction, Stump
from discreet.models.shared.classifier import PrivateClassifier
from discreet.models.shared.parameters import estimator
from discreet.query import Batch, BoundedSum, Exact, OneHot
from discreet.query.images import find_missing

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FREE = 1e300  # bounds that clip nothing
BITS = 20  # gains are whole numbers in units of 2^-20


@estimator
class HypothesisClass(PrivateClassifier):
    """The best of finitely many classifiers, chosen privately: the generic private learner.

    The score of a hypothesis is the number of rows it gets right; the exponential mechanism favours high scores. What
    can be learnt from a finite class at all can be learnt privately, from rows in proportion to the logarithm of the
    number of hypotheses (`enough_rows`).

    Parameters
    ----------
    hypotheses : "stumps" or "conjunctions", made of public bounds and classes; or a list of functions of a table that
        return one label per row, or of objects with such a `predict` (fitted classifiers of scikit-learn, say). They
        must be public: made without these rows. They are your code and see the rows: use none you do not trust.
    epsilon, delta : the promise. With `classes` and what bounds are needed given it is the pure one, and delta is not
        used: it is there to find classes.
    loss : "zero-one", or a function of (predicted label, true label) within [0, 1]; it is asked about pairs of
        classes once, before any row.
    rowwise : True gives your hypotheses tables of a single row, so that an answer cannot depend on other rows. False
        gives them blocks of rows: faster, and you vouch for it, to the last bit of rounding.
    neighbours, unit, max_rows_per_unit, n, bounds, classes, ledger, random_state : as in every private classifier.
        Hypotheses of your own need no bounds; features are clipped if there are some.

    Attributes
    ----------
    hypothesis_ : the one chosen.
    index_ : its place in the list.
    classes_, bounds_, release_ : as in every private classifier.

    Notes
    -----
    ε-differential privacy of the choice, for adding or removing one row (or replacing one). Adding a row moves all
    scores the same way, which halves the noise (`mechanisms/proofs/hypotheses.md`).

    | hypothesis, row | what happens |
    | --- | --- |
    | one that raises, or has not one label per row, for made-up rows in the middle of the bounds | is refused, unpaid |
    | one that raises, or answers nonsense, for a row | is wrong about that row |
    | a row with NaN or infinity, or of no known class | counts for nothing |
    | no row at all | a hypothesis at random |

    References
    ----------
    S. P. Kasiviswanathan, H. K. Lee, K. Nissim, S. Raskhodnikova, A. Smith, "What can we learn privately?", FOCS 2008.

    Examples
    --------
    >>> import discreet as dc
    >>> X = np.random.default_rng(0).uniform(0, 1, (2000, 2))
    >>> y = np.where(X[:, 1] > 0.5, "yes", "no")
    >>> model = HypothesisClass(epsilon=1.0, bounds=dc.Bounds(0, 1), classes=("no", "yes")).fit(X, y)
    >>> bool(model.score(X, y) > 0.9), model.release_.event
    (True, Choice(epsilon=1.0, rule='exponential'))
    """

    hypotheses: Any = field(default="stumps", kw_only=False)
    loss: Literal["zero-one"] | Callable[[Any, Any], float] = "zero-one"
    rowwise: bool = True
    hypothesis_: Any = field(init=False)
    index_: int = field(init=False)

    def _fit(self, task: Task) -> None:
        curator = task.curator
        if not isinstance(self.hypotheses, str):
            task = replace(task, bounds=task.bounds or Bounds(-FREE, FREE).matched(curator.width))
            assert task.bounds is not None
            _rehearse(self.hypotheses, task.bounds.centre)
        bounds, (share,) = task.deal(choice(1.0))
        labels = self.classes_.tolist()
        listed = self._listed(bounds, labels)

        # BOUND: a row is in one cell of each hypothesis's table of (predicted, true) classes, or in none
        answers = Answers(listed, tuple(labels), bounds, bool(self.rowwise))
        table = BoundedSum(OneHot(answers, len(labels) ** 2, len(listed)), order=1, name="right and wrong")

        # SUMMARISE + PRIVATISE: the gains of each hypothesis, and one of them by the exponential mechanism
        query, _ = curator.expect(table)
        gains = _gains(self.loss, labels)
        self.index_ = int(curator.run(Agreement("hypothesis", query, tuple(gains.ravel().tolist())), share).value)

        # SOLVE: nothing to do
        self.hypothesis_ = listed[self.index_]

    def _listed(self, bounds: Bounds, labels: Sequence[Any]) -> tuple[Any, ...]:
        if isinstance(self.hypotheses, str):
            return FAMILIES[self.hypotheses](bounds, labels)
        return tuple(self.hypotheses)

    def decision_function(self, X: Any) -> Any:
        """1 for the class the chosen hypothesis says, -1 for others; for two classes one number, of the second."""
        X = self._clip_rows(X)
        labels = self.classes_.tolist()
        places = _places(self.hypothesis_, X, labels)
        if places is None:
            raise ValueError("The chosen hypothesis has no answer, or not one per row, for these rows.")
        said = 2.0 * (places[:, None] == np.arange(len(labels))) - 1
        return said[:, 1] if len(labels) == 2 else said

    def enough_rows(self, alpha: float, beta: float = 0.05) -> int:
        """So many rows are enough to come within `alpha` of the best hypothesis, with probability 1 - `beta`.

        For rows drawn independently from a population, and expected losses in it. A public formula, with all of epsilon
        spent on the choice: the excess is at most ln(2m/β)/(cn) for privacy, c = ε (replace-one: ε/2), and twice
        √(ln(2(m + 1)/β)/(2n)) for the sample, m the number of hypotheses.

        >>> HypothesisClass([len] * 100, 1.0).enough_rows(0.1)
        1823
        """
        if not (0 < alpha < 1 and 0 < beta < 1):
            raise ValueError(f"`alpha` and `beta` must be within 0 and 1. Got {alpha!r} and {beta!r}.")
        m, budget = self._how_many(), self._read_budget()
        rate = budget.epsilon / (1 if budget.neighbours == "add-remove" else 2)
        privacy = math.log(2 * m / beta) / rate
        sample = 2 * math.sqrt(math.log(2 * (m + 1) / beta) / 2)
        root = (sample + math.sqrt(sample**2 + 4 * privacy * alpha)) / (2 * alpha)  # of n: privacy/n + sample/√n = α
        return math.ceil(root**2)

    def _how_many(self) -> int:
        if not isinstance(self.hypotheses, str):
            return len(tuple(self.hypotheses))
        bounds = getattr(self, "bounds_", self.bounds)
        stated = self.classes if self.classes is not None else getattr(bounds, "classes", None)
        labels = getattr(self, "classes_", stated)
        if bounds is None or bounds.width is None or labels is None:
            raise ValueError("How many hypotheses there are follows from `bounds`, one pair a feature, and `classes`.")
        return len(FAMILIES[self.hypotheses](bounds, list(labels)))

    def _limit_columns(self) -> int | None:
        return None  # sums are of hypotheses, not of columns

    def _count_coordinates(self, rows: Rows) -> int:
        return 1  # a choice

    def _read_budget(self) -> Budget:
        if isinstance(self.hypotheses, str):
            if self.hypotheses not in FAMILIES:
                names = ", ".join(map(repr, FAMILIES))
                raise ValueError(f"The `hypotheses` are {names}, or a list of classifiers. Got {self.hypotheses!r}.")
        else:
            listed = list(self.hypotheses) if isinstance(self.hypotheses, Sequence) else []
            if not listed or not all(callable(one) or callable(getattr(one, "predict", None)) for one in listed):
                raise ValueError("The `hypotheses` must be a list of functions, or of objects with `predict`.")
        if self.loss != "zero-one" and not callable(self.loss):
            raise ValueError(f"The `loss` is 'zero-one' or a function of two labels. Got {self.loss!r}.")
        return self._settled(super()._read_budget())

    def _settled(self, budget: Budget) -> Budget:
        given = self.classes if self.classes is not None else getattr(self.bounds, "classes", None)
        if given is not None:
            _gains(self.loss, ordered(given))  # raises, before anything is charged, if a loss is not within [0, 1]
        return budget

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # as good as the best hypothesis: a stump knows two classes
        return tags


@dataclass(frozen=True, eq=False)
class Answers:
    """For each row and hypothesis the cell predicted·k + true of its table; -1 where there is none."""

    hypotheses: tuple[Any, ...]
    labels: tuple[Any, ...]
    bounds: Bounds
    rowwise: bool

    def __call__(self, batch: Batch) -> Ints:
        """One cell per row and hypothesis."""
        cells = np.full((len(batch), len(self.hypotheses)), -1)
        if batch.y is None or batch.y.dtype.kind != "f" or not len(batch):
            return cells
        there = ~find_missing(batch) & np.isfinite(batch.y)
        X = np.clip(batch.X, self.bounds.lower, self.bounds.upper)
        X[~there] = self.bounds.centre  # in their place, so that hypotheses see numbers
        true = np.where(there, batch.y, 0).astype(np.int64)
        for j, hypothesis in enumerate(self.hypotheses):
            said = self._said(hypothesis, X)
            cells[:, j] = np.where((said >= 0) & there, said * len(self.labels) + true, -1)
        return cells

    def _said(self, hypothesis: Any, X: Floats) -> Ints:
        labels = list(self.labels)
        if isinstance(hypothesis, (Stump, Conjunction)) or not self.rowwise:
            places = _places(hypothesis, X.copy(), labels)
            return np.full(len(X), -1) if places is None else places
        return np.array([_alone(hypothesis, row, labels) for row in X], dtype=np.int64)


@dataclass(frozen=True)
class Agreement(Inside):
    """A hypothesis by the exponential mechanism: scores are gains summed over rows, doubled.

    Parameters
    ----------
    query : a table per hypothesis, of rows by (predicted, true) class.
    gains : of each cell, whole numbers within 0 and 2^20.
    favour : one public number per hypothesis; where no row tells them apart, the exponential mechanism has them for the
        logarithms of their odds.

    It runs under a `Choice`, or in the place of Gaussian or pure events that cover one (`curves.choice_within`); where
    all of them are `Pure`, by permute-and-flip, which has no bounded range and loses less.
    """

    name: str
    query: BoundedSum
    gains: tuple[int, ...]
    favour: tuple[float, ...] = ()
    proof: ClassVar[str] = "hypotheses"
    pays: ClassVar[tuple[type[Event], ...]] = (Choice, Gaussian, Pure, Composed)

    def check(self, event: Event) -> None:
        """Raise, before anything is charged, if there is no proof, or the event covers no choice."""
        super().check(event)
        self._epsilon(event)

    @staticmethod
    def _epsilon(event: Event) -> float:
        return event.epsilon if isinstance(event, Choice) else curves.choice_within(event)

    def run(self, rows: Rows, event: Event, budget: Budget, rng: Keystream) -> tuple[Any, Any]:
        """The index of the hypothesis."""
        epsilon = self._epsilon(event)
        assert isinstance(self.query.left, OneHot) and self.query.right is None
        assert len(self.gains) == self.query.left.size and all(0 <= gain <= 1 << BITS for gain in self.gains)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a hypothesis's warning would tell of a row
            counts: Exact = rows.sum(self.query)
        counts = counts.reshape(self.query.left.columns, self.query.left.size).astype(object)
        scores = 2 * (counts @ np.array(self.gains, dtype=object))
        step = (1 << BITS) if budget.neighbours == "add-remove" else 2 << BITS
        for place, odds in enumerate(self.favour):  # the exponent of a hypothesis is ε·score/(2·step)
            scores[place] += round(2 * step * odds / epsilon)
        pure = all(isinstance(leaf, Pure) for leaf, _ in flatten(event))
        rule = permute_and_flip if pure else exponential
        return rule(scores, epsilon, step, rng), None


def _rehearse(hypotheses: Sequence[Any], row: Floats) -> None:
    """Raise, before anything is charged, if one has not one label per row for tables of one and two made-up rows."""
    for place, hypothesis in enumerate(hypotheses):
        for count in (1, 2):
            _rehearse_one(f"hypotheses[{place}]", hypothesis, np.tile(row, (count, 1)))


def _rehearse_one(name: str, hypothesis: Any, table: Floats) -> None:
    rule = f"{name} must return one label for each row of a table. For made-up rows, of shape {table.shape},"
    hint = "Hint: `lambda X: X[:, 0] > 0` is such a function."
    expected = (len(table),)
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            shape = np.shape(getattr(hypothesis, "predict", hypothesis)(table))
    except Exception as error:
        raise ValueError(f"{rule} it raises {type(error).__name__}. {hint}") from error
    if shape != expected:
        raise ValueError(f"{rule} its answer has shape {shape}, not {expected}. {hint}")


def _gains(loss: Any, labels: Sequence[Any]) -> Ints:
    """1 - loss for each pair of classes (predicted, true), on the grid."""
    if loss == "zero-one":
        return np.eye(len(labels), dtype=np.int64) << BITS
    values = np.array([[float(loss(said, true)) for true in labels] for said in labels])
    if not ((values >= 0) & (values <= 1)).all():
        raise ValueError("The `loss` must be within 0 and 1 for every pair of classes.")
    return np.rint((1 - values) * 2.0**BITS).astype(np.int64)


def _places(hypothesis: Any, X: Floats, labels: list[Any]) -> Ints | None:
    """The place of each row's predicted class, -1 for any other answer; None where there are not as many as rows."""
    if isinstance(hypothesis, (Stump, Conjunction)):
        return hypothesis.places(X, labels)
    predict = getattr(hypothesis, "predict", hypothesis)
    try:
        with np.errstate(all="ignore"):
            said = np.asarray(predict(X))
        return codes_of(said, labels) if said.shape == (len(X),) else None
    except Exception:  # whatever it was about, it stays untold
        return None


def _alone(hypothesis: Any, row: Floats, labels: list[Any]) -> int:
    places = _places(hypothesis, row[None].copy(), labels)
    return -1 if places is None else int(places[0])
