"""Fixed features: public functions of one row each. They learn nothing, so they cost nothing.

>>> import discreet as dc
>>> from sklearn.pipeline import make_pipeline
>>> from discreet.models import LinearRegression
>>> features = RandomFourierFeatures(50, bounds=dc.Bounds(0, 10, target=(-1, 1)))
>>> pipeline = make_pipeline(features, LinearRegression(epsilon=1.0, bounds=features.out_bounds))
"""

from discreet.features.base import FixedFeatures
from discreet.features.fourier import RandomFourierFeatures
from discreet.features.landmarks import LandmarkFeatures
from discreet.features.orientations import OrientationHistograms
from discreet.features.projection import RandomProjection

__all__ = ["FixedFeatures", "LandmarkFeatures", "OrientationHistograms", "RandomFourierFeatures", "RandomProjection"]
