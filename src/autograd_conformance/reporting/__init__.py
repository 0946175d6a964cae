"""Reports of a run, all made from its records alone: summaries, Markdown pages, a site, badges, comparisons.

`records` defines, writes and reads the records. `analysis` derives verdicts, causes and coverage from them. `merging`
adds up several runs and `comparison` compares them. `render`, `drawing` and `site` write what people read.
``python -m autograd_conformance.reporting FILE`` prints the report of a record file.
"""
