"""Fresh faults: written by people who knew neither the strategies nor the mutants.

The mutants were written together with the strategies, and show what the strategies catch by design. Fresh faults show
what they catch that nobody thought of. Their authors had only the rules' sentences, the documents and the adapter
protocol. `python -m evaluation.fresh` measures a set before the strategies are changed for it.
"""
