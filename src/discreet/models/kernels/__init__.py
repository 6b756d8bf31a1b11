"""Kernel machines: private linear models of public features."""

from discreet.models.kernels.ridge import KernelRidge
from discreet.models.kernels.svc import KernelSVC

__all__ = ["KernelRidge", "KernelSVC"]
