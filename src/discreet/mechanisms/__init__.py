"""PRIVATISE: exact noise and exact choice. Mechanisms know nothing of models, ledgers or neighbour relations.

| module | what it does | proof |
| --- | --- | --- |
| `keystream` | fair bits | |
| `lazy`, `tables`, `rejection`, `samplers`, `reals` | exact laws from fair bits | proofs/samplers.md |
| `gaussian`, `laplace`, `norm` | total + noise, on the grid of whole numbers | of the same names |
| `choose` | one of many candidates, by score | proofs/choose.md |
| `points` | a point of a fine public grid, by score | proofs/points.md |
| `smooth` | value + noise in proportion to a smooth bound of its local sensitivity | proofs/smooth.md |
| `propose` | whether a value is stable at a proposed scale, tested with noise | proofs/propose.md |
| `padding` | a count that is never below the truth | proofs/padding.md |
| `threshold` | the first query above a threshold; which keys may be named | proofs/threshold.md |
"""
