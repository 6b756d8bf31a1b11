"""Hyper-parameters chosen within the budget (CL13)."""

from discreet.models.selection.search import PrivateSearchCV

__all__ = ["PrivateSearchCV"]
