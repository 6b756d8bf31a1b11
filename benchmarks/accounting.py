"""Our ε and time beside those of dp-accounting, in the same run.

python benchmarks/accounting.py
"""

import time
import warnings

from discreet import accounting
from discreet.events import Composed, Event, Gaussian, Laplace, Repeated, Sampled

CASES: dict[str, Event] = {
    "1000 Gaussians, σ = 10": Repeated(Gaussian(10.0), 1000),
    "DP-SGD, q = .01, σ = 1, T = 1e3": Repeated(Sampled(0.01, Gaussian(1.0)), 1_000),
    "DP-SGD, q = .01, σ = 1, T = 1e4": Repeated(Sampled(0.01, Gaussian(1.0)), 10_000),
    "DP-SGD, q = .01, σ = 1, T = 1e5": Repeated(Sampled(0.01, Gaussian(1.0)), 100_000),
    "500 Laplace, b = 20, and a Gaussian, σ = 10": Composed((Repeated(Laplace(20.0), 500), Gaussian(10.0))),
    "1000 Laplace, b = 10, on samples, q = .1": Repeated(Sampled(0.1, Laplace(10.0)), 1000),
}


def peer_epsilon(event: Event, delta: float) -> float:
    from dp_accounting import pld

    return float(pld.PLDAccountant(value_discretization_interval=1e-3).compose(translated(event)).get_epsilon(delta))


def translated(event: Event):
    import dp_accounting as dp

    match event:
        case Gaussian(noise):
            return dp.GaussianDpEvent(noise)
        case Laplace(scale):
            return dp.LaplaceDpEvent(scale)
        case Sampled(rate, inner):
            return dp.PoissonSampledDpEvent(rate, translated(inner))
        case Repeated(inner, times):
            return dp.SelfComposedDpEvent(translated(inner), times)
        case Composed(events):
            return dp.ComposedDpEvent([translated(part) for part in events])
    raise TypeError(type(event).__name__)


def timed(function, *arguments):
    start = time.perf_counter()
    return function(*arguments), time.perf_counter() - start


def peer(event: Event, delta: float) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            peer_epsilon(Gaussian(1.0), 1e-5)  # imports are not timed
            value, seconds = timed(peer_epsilon, event, delta)
    except ImportError:
        return "dp-accounting is not installed"
    ours = accounting.epsilon(event, delta)
    return f"{value:12.6f} {seconds:8.3f} {ours / value:9.5f}"


def main() -> None:
    accounting.epsilon(Repeated(Sampled(0.5, Gaussian(2.0)), 3), 1e-5)
    print(f"{'':45}{'δ':>7} {'ours':>12} {'s':>8} {'dp-acc.':>12} {'s':>8} {'ratio':>9}")
    for name, event in CASES.items():
        for delta in (1e-5, 1e-12):
            value, seconds = timed(accounting.epsilon, event, delta)
            print(f"{name:45}{delta:7.0e} {value:12.6f} {seconds:8.3f} {peer(event, delta)}", flush=True)


if __name__ == "__main__":
    main()
