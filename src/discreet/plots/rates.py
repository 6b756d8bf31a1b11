"""Pictures of ROC and calibration curves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from discreet.plots.style import FAINT, choose_look, make_axes, use_quiet_style


def roc(curve: Any, *, label: str | None = None, axes: Any = None) -> Any:
    """A picture of an ROC curve, with the diagonal of a guess.

    Parameters
    ----------
    curve : the result of `discreet.evaluate.roc` or `roc_of`; or several by name.
    label : the label of a single curve; its area if None.
    axes : matplotlib axes; new ones if None.

    Notes
    -----
    A curve of `roc` is exact, and for those who may see the test rows; a curve of `roc_of` is private.

    Examples
    --------
    >>> from discreet import evaluate
    >>> roc(evaluate.roc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])).get_legend().get_texts()[0].get_text()
    'AUC 0.750'
    """
    curves = dict(curve) if isinstance(curve, Mapping) else {label or "": curve}
    with use_quiet_style():
        axes = make_axes(axes, (4.2, 4.0))
        _draw_diagonal(axes)
        for number, (name, one) in enumerate(curves.items()):
            given = name if name and name == label else f"{name}{', ' if name else ''}AUC {one.auc:.3f}"
            axes.plot(one.fpr, one.tpr, label=given, **{**choose_look(number), "marker": ""})
        axes.set(xlabel="false positive rate", ylabel="true positive rate")
        axes.legend(loc="lower right")
    return axes


def calibration(curve: Any, *, label: str | None = None, axes: Any = None) -> Any:
    """A picture of the share of positive rows by predicted probability; a calibrated model lies on the diagonal.

    Parameters
    ----------
    curve : the result of `discreet.evaluate.calibration` or `calibration_of`; or several by name.
    label : the label of a single curve.
    axes : matplotlib axes; new ones if None.

    Notes
    -----
    A curve of `calibration` is exact, and for those who may see the test rows; a curve of `calibration_of` is private.

    Examples
    --------
    >>> from discreet import evaluate
    >>> calibration(evaluate.calibration([0, 1, 1, 1], [0.1, 0.1, 0.9, 0.9], bins=2)).get_ylabel()
    'observed share'
    """
    curves = dict(curve) if isinstance(curve, Mapping) else {label or "": curve}
    with use_quiet_style():
        axes = make_axes(axes, (4.2, 4.0))
        _draw_diagonal(axes)
        for number, (name, one) in enumerate(curves.items()):
            there = np.isfinite(one.observed)
            axes.plot(one.predicted[there], one.observed[there], label=name or None, **choose_look(number))
            if one.interval is not None:
                axes.vlines(one.predicted, *one.interval, color=choose_look(number)["color"], linewidth=0.8)
        axes.set(xlabel="predicted probability", ylabel="observed share")
        if any(curves):
            axes.legend(loc="upper left")
    return axes


def _draw_diagonal(axes: Any) -> None:
    axes.plot([0, 1], [0, 1], **FAINT, zorder=0)
    axes.set_aspect("equal")
    axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
