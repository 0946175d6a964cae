"""Reports: everything that is published about a run, made from its stream of records and from nothing else.

`records` are the values, `stream` writes and reads them, `summary` judges them, `differences` says which known
differences a run really showed, `parts` orders what a failure shows; `terminal`, `text` and `markdown` render. Reading
a file and printing it: ``python -m autograd_conformance.reporting FILE``.
"""
