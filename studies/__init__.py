"""Studies: figures of the literature, made again with methods that keep their promise.

`python -m studies list` names them, `python -m studies sy6` runs one.
"""
