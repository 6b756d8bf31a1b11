"""Passes: how many readings of the rows a minimum may take, and the weakest penalty that so many are enough for."""

from __future__ import annotations

import math
from dataclasses import replace

from discreet.bounds import Bounds
from discreet.curator.task import Task
from discreet.models.erm.accelerated import Minimiser
from discreet.models.erm.problem import Objective, UnitVectors

STEP = 2.0 ** (1 / 8)  # from one Λ that is tried to the next
LARGEST = 2.0**40  # of a Λ that may be given
FINEST, COARSEST = 2.0**-16, 2.0**-8  # tolerances that methods ask for


def refuse_weak_penalty(task: Task, objective: Objective) -> None:
    """Raise, before anything is charged, where a given Λ surely asks for more passes than there may be."""
    if objective.strength is None:
        return
    least = Minimiser(
        UnitVectors.from_bounds(Bounds(-1, 1).matched(task.width - 1)),
        objective.loss,
        1,
        float(objective.strength),
        float(objective.radius),
        COARSEST,
        float(max(1, task.n or 1)),
    )
    if least.passes > objective.passes:
        enough = strengthen_penalty(replace(least, finest=FINEST), objective.passes).strength
        if enough > LARGEST:
            raise ValueError(
                f"`max_passes` = {objective.passes:,} passes over the rows are too few for any `strength`: "
                f"{objective.strength!r} takes {least.passes:,} or more. Hint: a larger `max_passes`."
            )
        raise ValueError(
            f"The `strength` must be at least {_round_up(enough)} for `max_passes` = {objective.passes:,} passes "
            f"over the rows. Got {objective.strength!r}, which takes {least.passes:,} or more. Hint: a larger "
            "`strength`, or a larger `max_passes`."
        )


def cap_passes(minimiser: Minimiser, task: Task, objective: Objective) -> Minimiser:
    """The minimiser; with a Λ that is larger, and a remark, where it would take more passes than there may be.

    By then the number of rows may have been paid for, so that it is too late to refuse. A Λ that is raised here has no
    upper limit, unlike one that is given: the proofs ask for none.
    """
    made = strengthen_penalty(minimiser, objective.passes)
    if made is not minimiser:
        enough = f"so that {objective.passes:,} passes over the rows are enough"
        task.note(f"the penalty was raised to Λ = {made.strength:.3g}, {enough}")
    return made


def strengthen_penalty(minimiser: Minimiser, passes: int) -> Minimiser:
    """The same with the least Λ, not below its own, that so many passes are enough for; within 9%.

    >>> from discreet.models.shared.losses import HuberHinge
    >>> image = UnitVectors.from_bounds(Bounds(-1, 1).matched(3))
    >>> weak = Minimiser(image, HuberHinge(0.5), 1, 2.0**-10, 32.0, 2.0**-12, 1000.0)
    >>> weak.passes, strengthen_penalty(weak, 5000).passes, strengthen_penalty(weak, 10**6) is weak
    (32869, 4961, True)
    """
    made, step = minimiser, 0
    while made.passes > passes:
        step += 1
        made = replace(minimiser, strength=minimiser.strength * STEP**step)
    return made


def _round_up(value: float) -> str:
    """To two digits, not below it.

    >>> _round_up(0.01234), _round_up(5.0)
    ('0.013', '5')
    """
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return f"{math.ceil(value / unit - 1e-9) * unit:.2g}"
