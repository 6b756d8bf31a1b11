"""Audits that can fail: the same one passes a mechanism and catches its twin whose noise is too small."""

import hashlib
import math
import os
import warnings
from dataclasses import replace
from fractions import Fraction
from unittest import mock

import numpy as np
from scipy.stats import chi, gamma
from sklearn.base import clone

from discreet import Bounds, NoiseWarning
from discreet.audit import audit
from discreet.curator import Curator
from discreet.curator.total_noise import size_of
from discreet.engines.memory import Memory
from discreet.events import Gaussian
from discreet.mechanisms import choose, norm, samplers
from discreet.mechanisms.keystream import Keystream
from discreet.models.online import row_gradients as losses
from discreet.models.sgd import row_gradients as design
from discreet.query import grid as lattice
from discreet.query import images
from discreet.query import moment_sums as powers

SURE = 1 - 1e-6
FIRST = 300  # runs before the first look
TIMES = int(os.environ.get("DISCREET_AUDIT_TIMES", "1"))  # `make audit` asks for more runs, of noise that is new


def stream(seed):
    """The same noise in every run of a test: what is caught once is caught always. Other noise in a `make audit`."""
    if TIMES == 1:
        return Keystream.seeded(seed)
    word = os.environ.get("DISCREET_TEST_NOISE", "")
    return Keystream.seeded(int.from_bytes(hashlib.sha256(f"{word}\0{seed}".encode()).digest()[:8]))


def catch(run, *pair, runs, first=FIRST, **options):
    """How many runs it takes to prove that a broken mechanism is broken: at most so many, and at least `first`.

    Parameters
    ----------
    run, pair, options : as `discreet.audit` takes them.
    """
    found = _attack(run, *pair, runs=TIMES * runs, first_look=min(first, runs), **options)
    assert found.violated, f"not caught: {found}"
    print(f"\nsabotaged: {found}")  # shown by pytest -s
    return found.runs


def acquit(run, *pair, runs, **options):
    """Audit a sound mechanism, as often as its broken twin had to be: fails with probability below 1e-6."""
    found = _attack(run, *pair, runs=TIMES * runs, **options)
    assert not found.violated, str(found)
    print(f"\nhonest: {found}")
    return found


def _attack(run, *pair, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoiseWarning)  # hardly any rows are what is asked for
        return audit(run, *pair, confidence=SURE, **options)


def caught(run, pair, runs, monkeypatch, factor, *kinds, delta=0.0, first=FIRST, event=None):
    """Audit a twin of a mechanism until it is caught, and the mechanism as often; the seed is fixed.

    Parameters
    ----------
    run, pair : a function of a data set, or an estimator; two neighbouring data sets, or () for its worst case.
    runs : the twin must be caught with so many.
    first : runs before the first look; all of them, where only all of them tell enough.
    factor, kinds : as in `weaken`.
    delta : at which ε is bounded.
    event : what is declared, where releases do not say.
    """
    monkeypatch.setattr("discreet.mechanisms.keystream._DEFAULT", stream(2033))
    options = {"delta": delta, "event": event}
    honest = acquit(run, *pair, runs=runs, **options) if runs <= first else None  # where there is only one look
    with monkeypatch.context() as patch:
        weaken(patch, factor, *kinds)
        needed = catch(run, *pair, runs=runs, first=first, **options)
    return honest or acquit(run, *pair, runs=needed, **options)


def weaken(monkeypatch, factor, *kinds):
    """All noise of the library, or that of some kinds ("gaussian", "laplace", "norm", "choice"), times a factor."""
    factor, draw, radial, rate = Fraction(factor), samplers.unwrapped, norm.norm_noise, choose.rate_of
    for kind in kinds or ("gaussian", "laplace", "norm", "choice"):
        name, twin = {
            "gaussian": ("gaussian.unwrapped", lambda law, scale, *rest: draw(law, scale * factor, *rest)),
            "laplace": ("laplace.unwrapped", lambda law, scale, *rest: draw(law, scale * factor, *rest)),
            "norm": ("norm.norm_noise", lambda d, scale, *rest: radial(d, scale * factor, *rest)),
            "choice": ("choose.rate_of", lambda *numbers: rate(*numbers) / factor),
        }[kind]
        monkeypatch.setattr(f"discreet.mechanisms.{name}", twin)


class Unclipped:
    """NumPy, but for what clips: values stay as they are."""

    def __getattr__(self, name):
        return getattr(np, name)

    @staticmethod
    def clip(values, low, high, out=None):
        if out is None:
            return values
        np.copyto(out, values)
        return out


class Unshrunk(Unclipped):
    """And rows are not shortened either."""

    @staticmethod
    def minimum(one, factor):
        return np.ones_like(factor)


def unclip(monkeypatch):
    """Rows are bounded nowhere: not to the bounds, not to the norm of a sum, not to the radius of a ball."""
    monkeypatch.setattr(lattice, "compute_norms", lambda z, order: np.zeros(z.shape[1]))
    monkeypatch.setattr(Bounds, "scale", lambda self, X: (X - self.centre) / self.half)
    monkeypatch.setattr(Bounds, "scale_target", lambda self, y: (y - self.target_scale[0]) / self.target_scale[1])
    for module in (images, powers, lattice, design):
        monkeypatch.setattr(module, "np", Unclipped())
    monkeypatch.setattr(losses, "np", Unshrunk())


def exposed(estimator, data, neighbour):
    """A fit of noisy sums, told by one number: the log of how much likelier its answers are on the neighbour.

    No attack is better (Neyman & Pearson 1933), and it is made of what was released: later questions follow from
    earlier answers, and the attacker knows both data sets, whose classes must be 0, 1, ...
    """

    def run(given):
        release, answers = answered(estimator, given)
        loss = sum(_loss(asked, *(away(asked, value, side) for side in (data, neighbour))) for asked, value in answers)
        return replace(release, parts=(), value=np.array([loss]))

    return run


def answered(estimator, data):
    """The release of a fit; and each noisy sum in it, as what was asked and the answer."""
    answers, honest = [], Curator._answer

    def spy(self, asked):
        found = honest(self, asked)
        answers.append((asked, found.value))
        return found

    with mock.patch.object(Curator, "_answer", spy):
        return clone(estimator).fit(*data).release_, answers


def away(asked, value, data):
    """How far an answer is from the exact sum over some data, in scales of the noise that was paid for."""
    query, exponent = asked.query, asked.query.exponent(asked.widths)
    off = value - np.ldexp(Memory(*data).sum(query).astype(np.float64), exponent)
    moved = math.ldexp(float(query.sensitivity(asked.widths, asked.share.budget.neighbours)), exponent)
    return float(np.linalg.norm(off[_own(asked, off)])) / (moved * size_of(asked.event))


def law(asked, value):
    """The law of that distance, for the data that were asked of: of the length of noise in so many coordinates."""
    size = len(value) * (len(value) + 1) // 2 if asked.query.is_symmetric else np.size(value)
    return chi(size) if isinstance(asked.event, Gaussian) else gamma(size)


def _own(asked, value):
    """The entries that have noise of their own, where noise is drawn for a triangle."""
    return np.triu_indices(len(value)) if asked.query.is_symmetric and asked.query.is_triangle else ...


def _loss(asked, far, near):
    return (far**2 - near**2) / 2 if isinstance(asked.event, Gaussian) else far - near
