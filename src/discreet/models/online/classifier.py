"""OnlineClassifier: a linear classifier that learns from rows as they come."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from discreet.arguments import check_positive, check_whole, is_number
from discreet.bounds import Bounds
from discreet.budget import Budget, Share, inside, radial
from discreet.curator import Curator
from discreet.curator.task import Task
from discreet.curator.total_noise import deviation_of
from discreet.engines import Rows
from discreet.engines.opening import as_memory_rows, is_rows
from discreet.errors import LedgerError, NotSupported
from discreet.labels import ordered
from discreet.ledger.failed_reads import Reading
from discreet.models.online.learners import Ftrl, Game, Giga, Igd, Learner
from discreet.models.online.row_gradients import Loss, Shrunk
from discreet.models.online.running_sums import Roots, Tree
from discreet.models.online.stream import NOTE, Stream, coded
from discreet.models.shared.attempts import RestoreOnError
from discreet.models.shared.classifier import LinearClassifier
from discreet.models.shared.parameters import estimator
from discreet.query import BoundedSum, OneHot
from discreet.query.images import Scaled, find_missing

Floats = NDArray[np.float64]
Method = Literal["ftrl", "tree", "igd", "giga"]

FOR_COUNT = 0.02  # of the budget, where nobody said how many rows a round has
OVER = (
    "nothing of this round was released. The round counts, and the stream goes on with the next: its rows are not "
    "given again."
)


@estimator
class OnlineClassifier(LinearClassifier):
    """A linear classifier that learns from rows as they come, with one promise for the whole stream.

    The stream has `horizon` rounds. One call of `partial_fit` is one round, of one row or of many; each row is in one
    round only. All points the learner passes through are published (`iterates_`); together they are private. The
    budget is for all rounds: it is charged before the first, and after the last the stream refuses more.

    Parameters
    ----------
    epsilon, delta : the promise. delta = 0 is possible with "igd" and "giga".
    method : how.

        | method | what | noise |
        | --- | --- | --- |
        | "ftrl" | follow the regularised leader | on running sums, by the root of the summing matrix; the best |
        | "tree" | the same | on running sums, by a binary tree (DP-FTRL, Kairouz et al. 2021) |
        | "giga" | a step against the gradient of the round, 1/(αt) long | on each round |
        | "igd" | an implicit step: the gradient is that at its end | on each round |

    loss : "log" or "hinge".
    horizon : for how many rounds the budget is stated; public.
    batch : about how many rows a round has, public; it scales steps, nothing else. None: n / horizon in `fit` where
        the number of rows is public, else a noisy count of the first rows that come, for 2% of the budget.
    alpha : the penalty α/2·‖w‖² added to the loss of every round. None: what the regret bound likes best for "igd" and
        "giga", whose steps are 1/(αt); none for the others.
    eta : the learning rate of "ftrl" and "tree"; from public numbers if None.
    radius : of the ball of coefficients, for features scaled to [-1, 1].
    clip : rows (1, scaled features) longer than this are shrunk onto it; √(1 + d/2) if None.
    watch : share of the budget for counting, in every round, the rows and the mistakes made on them before learning
        from them: an honest estimate of how good the learner has been.
    neighbours, unit, max_rows_per_unit, n, bounds, classes, ledger, random_state : as in every private classifier.
        Where bounds or classes are not given they are estimated from the rows of the first call.

    Attributes
    ----------
    coef_, intercept_ : the mean of the latter half of the iterates, in the units of the data.
    iterates_ : the points played, round by round, and the next one: (rounds + 1, scores, 1 + features), for features
        scaled to [-1, 1], the intercept first.
    rounds_ : how many rounds there were.
    regret_bound_ : the expected regret (that of `regret_not_private`) after `rounds_` rounds of at most `batch` rows is
        at most this: public numbers. Where the learner's own bound is larger than what *any* points of the ball can
        regret, rows · `clip` · √scores · 2·`radius`, it is the latter, and says nothing of what was learnt.
    mistakes_, mistakes_std_ : the fraction of rows the learner got wrong before learning from them, and the noise in
        it; NaN without `watch`.
    classes_, bounds_, release_ : as in every private classifier.

    Notes
    -----
    (ε, δ)-differential privacy of everything published over the whole stream, for adding, removing (or replacing) one
    row in one round, the rows of other rounds being what they are. A round ends when the caller says so (an hour, a
    day), not after so many rows: a row more would shift all that follow. So `fit`, which is given all rows at once,
    deals them to the rounds by a coin of each row's own, not by their order. The event is one Gaussian for all rounds
    (`mechanisms/proofs/online.md`). Between rounds the methods "ftrl" and "tree" keep exact sums in this process; a
    pickled model has none, predicts, and cannot go on.

    | data | what happens |
    | --- | --- |
    | a round without rows | is a round: noise alone |
    | rows with NaN or infinity, or of no known class | count for nothing |
    | a round after the last | `BudgetExceeded`, and no row is read |

    References
    ----------
    P. Jain, P. Kothari, A. Thakurta, "Differentially private online learning", COLT 2012. There every published point
    is a noisy copy of an exact one that goes on, so that one row is paid for in all later rounds, and the regret grows
    like √T. Here the noisy point itself goes on (as Z. Ji, Z. C. Lipton & C. Elkan, arXiv 1412.7584, tell it): a row is
    paid for once and the regret of "igd" and "giga" grows like ln T.
    P. Kairouz et al., "Practical and private (deep) learning without sampling or shuffling", ICML 2021, for "tree";
    H. Fichtenberger, M. Henzinger, J. Upadhyay, "Constant matters", ICML 2023, for the root.

    Examples
    --------
    >>> import numpy as np, discreet as dc
    >>> rng = np.random.default_rng(0)
    >>> model = OnlineClassifier(1.0, 1e-6, horizon=24, batch=500, bounds=dc.Bounds(-1, 1), classes=("no", "yes"))
    >>> for hour in range(24):
    ...     X = rng.uniform(-1, 1, (500, 3))
    ...     model = model.partial_fit(X, np.where(X[:, 0] > X[:, 1], "yes", "no"))
    >>> str(model.predict([[0.9, -0.9, 0.0]])[0]), model.release_.event  # doctest: +ELLIPSIS
    ('yes', Gaussian(noise_multiplier=...))
    """

    in_rounds = True

    iterates_: Floats = field(init=False)
    rounds_: int = field(init=False)
    regret_bound_: float = field(init=False)
    mistakes_: float = field(init=False)
    mistakes_std_: float = field(init=False)

    outlook = "nothing was released, and no stream has begun. The next call begins one, and is charged anew."
    coins = True  # a coin is drawn for each row
    sharpest: ClassVar[dict[str, Any]] = {"horizon": 1}

    method: Method = "ftrl"
    loss: Loss = "log"
    horizon: int = 16
    batch: float | None = None
    alpha: float | None = None
    eta: float | None = None
    radius: float = 5.0
    clip: float | None = None
    watch: float = 0.0

    def fit(self, X: Any, y: Any = None, **options: Any) -> Self:
        """Learn from all rows in `horizon` rounds, from scratch; each row goes to one of them by a coin of its own."""
        with RestoreOnError(self):
            self._forget()
            return super().fit(X, y, **options)

    def partial_fit(self, X: Any, y: Any = None, classes: Sequence[Any] | None = None, **options: Any) -> Self:
        """One round: learn from these rows, which were in no other.

        The first call charges the whole stream. `classes` says the labels there may be, public, if the estimator does
        not. A round that is interrupted, or whose rows cannot be read, counts; do not give its rows again. The model
        is then as it was before it.
        """
        if self.unit is not None:
            raise NotSupported(
                "Rounds of a stream are of different units, which cannot be seen from one round: `partial_fit` takes "
                "no `unit`. Hint: `fit` on all rows, or one row per unit in the whole stream."
            )
        stream = getattr(self, "_stream", None)
        if stream is None:
            if getattr(self, "rounds_", 0):
                raise LedgerError(
                    "This stream was left behind when the model was pickled: it predicts, but cannot go on. Hint: go "
                    "on with the model that was pickled, or start another stream with `fit`."
                )
            with RestoreOnError(self) as before:
                public = {} if classes is None or self._stated_classes() is not None else {"classes": ordered(classes)}
                seen, budget = self._learn_from(before, X, y, options, rounds=1, **public)
            return self._finish_fit(X, seen, budget)
        with RestoreOnError(self):
            return self._round(stream, X, y, options)

    def _round(self, stream: Stream, X: Any, y: Any, options: dict[str, Any]) -> Self:
        """A round after the first."""
        stream.refuse_more()
        self._refuse_arguments(options, y, is_rows(X))
        if not is_rows(X):
            validate_data(self, X, skip_check_array=True, reset=False)
        rows = coded(X, y, self.classes_.tolist())
        if rows.width != self.n_features_in_:
            raise ValueError(f"X has {rows.width} features, but this stream has {self.n_features_in_}.")
        reading = Reading(self.release_.budget, charges=stream.curator._charges, outlook=OVER)
        stream.play(stream.curator.next(reading.of(rows)))
        self._learn(stream)
        self.release_ = stream.curator.summary(type(self).__name__, self.release_.budget, self.release_.notes)
        return self

    def _fit(self, task: Task) -> None:
        curator, known = task.curator, self._batch(task)
        extra = ([] if known else [FOR_COUNT]) + ([float(self.watch)] if self.watch else [])
        main = radial(1 - sum(extra))
        main = main if self.method in ("igd", "giga") else inside(main)
        bounds, shares = task.deal(main, *map(radial, extra))
        batch = known or max(1.0, self._counted(curator, shares[1]) / task.rounds)
        stream = self._begin(task, bounds, shares[0], batch, shares[-1] if self.watch else None)
        task.note(NOTE)
        for part in curator.dealt(shares[0], task.rounds):
            stream.play(part)
        self._stream = stream
        self._learn(stream)

    def _begin(self, task: Task, bounds: Bounds, share: Share, batch: float, watch: Share | None) -> Stream:
        curator = task.curator
        width, scores = curator.width + 1, len(self.classes_) if len(self.classes_) > 2 else 1
        rows = Shrunk(Scaled.from_bounds(bounds, True), self.clip or math.sqrt(1 + curator.width / 2))
        slope = rows.radius * math.sqrt(scores)
        moves = slope * (2 if task.budget.neighbours == "replace-one" else 1)
        noise = moves * deviation_of(curator.buys(share), width * scores) / batch
        game = Game(self.horizon, batch, float(self.radius), slope, width * scores, noise)
        return Stream(curator, share, self._learner(game), rows, self.loss, (scores, width), watch)

    def _learner(self, game: Game) -> Learner:
        if self.method in ("igd", "giga"):
            rule = Igd if self.method == "igd" else Giga
            learner: Learner = rule(game, 1.0).tuned() if self.alpha is None else rule(game, float(self.alpha))
            return learner
        strategy = Roots(self.horizon) if self.method == "ftrl" else Tree(self.horizon)
        leader = Ftrl(game, float(self.alpha or 0.0), strategy)
        return leader.paced() if self.eta is None else Ftrl(game, leader.alpha, strategy, float(self.eta))

    def _learn(self, stream: Stream) -> None:
        """What was learnt so far, in the units of the data."""
        self.iterates_ = np.array(stream.points)
        self.rounds_ = stream.round
        self.regret_bound_ = stream.learner.regret(self.rounds_) * stream.learner.game.batch
        self.mistakes_, self.mistakes_std_ = stream.mistakes
        later = self.iterates_[-((self.rounds_ + 1) // 2) :].mean(axis=0)
        self.coef_ = later[:, 1:] / self.bounds_.half
        self.intercept_ = later[:, 0] - (later[:, 1:] * (self.bounds_.centre / self.bounds_.half)).sum(axis=1)

    def regret_not_private(self, X: Any, y: Any, rounds: Any) -> float:
        """The regret against the best fixed classifier of the ball, computed from the rows themselves: NOT PRIVATE.

        For whoever holds the rows, to look at and not to publish. `rounds` is the number of each row's round, from 0.
        """
        from discreet.models.online.regret import exact_regret

        check_is_fitted(self, "release_")
        rows = as_memory_rows(X, y, labels=True).encode_targets(self.classes_.tolist())
        image = Shrunk(Scaled.from_bounds(self.bounds_, True), self.clip or math.sqrt(1 + rows.width / 2))
        return exact_regret(rows, image, self.loss, self.iterates_, np.asarray(rounds), float(self.radius))

    def _counted(self, curator: Curator, share: Share) -> float:
        there = OneHot(lambda rows: np.where(find_missing(rows), -1, 0), 1)
        return float(curator.measure(BoundedSum(there, name="count"), share).value[0])

    def _batch(self, task: Task) -> float | None:
        if self.batch is not None:
            return float(self.batch)
        if self.n is not None:
            return max(1.0, self.n / self.horizon)  # that of the whole stream
        return None if task.n is None else max(1.0, task.n / task.rounds)

    def _collect_facts(self, rows: Rows, budget: Budget) -> dict[str, Any]:
        return super()._collect_facts(rows, budget) | {"rounds": self.horizon}

    def _forget(self) -> None:
        for name in ("_stream", "rounds_"):
            self.__dict__.pop(name, None)

    def _read_budget(self) -> Budget:
        budget = super()._read_budget()
        for name, choices in (("method", get_args(Method)), ("loss", get_args(Loss))):
            if getattr(self, name) not in choices:
                raise ValueError(
                    f"The `{name}` of OnlineClassifier is one of {', '.join(map(repr, choices))}. "
                    f"Got {getattr(self, name)!r}."
                )
        check_whole("OnlineClassifier", "horizon", self.horizon)
        for name in ("batch", "alpha", "eta", "radius", "clip"):
            if name == "radius" or getattr(self, name) is not None:
                check_positive("OnlineClassifier", name, getattr(self, name))
        if not (is_number(self.watch) and 0 <= self.watch <= 0.9):
            raise ValueError(f"The `watch` of OnlineClassifier must be within 0 and 0.9. Got {self.watch!r}.")
        if self.eta is not None and self.method in ("igd", "giga"):
            raise ValueError(f"`eta` is an option of 'ftrl' and 'tree'; {self.method!r} takes steps of 1/(alpha·t).")
        if budget.pure and self.method not in ("igd", "giga"):
            raise ValueError(f"The method {self.method!r} needs delta > 0. Got delta = 0. Hint: method='giga'.")
        return budget

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # each row is seen once: a few hundred are few
        return tags

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        state.pop("_stream", None)
        return state
