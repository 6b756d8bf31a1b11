"""Property tests try the same examples every time: what passes here passes everywhere."""

from hypothesis import settings

settings.register_profile("same", derandomize=True, deadline=None)
settings.load_profile("same")
