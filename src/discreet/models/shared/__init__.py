"""What models share: the estimators that others inherit from, their parameters, and steps that several take."""
