"""Files: values as JSON and back, names that outlive moves of code, files that are there whole or not at all."""

from discreet.documents.values import attributes, dump, load, of_form, to_form

__all__ = [
    "attributes",
    "dump",
    "load",
    "of_form",
    "to_form",
]
