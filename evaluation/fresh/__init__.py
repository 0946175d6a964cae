"""Fresh faults: written by people who had seen neither what is drawn nor the faults of the zoo.

The zoo grew up beside the strategies, and says what they are known to catch. These say what they catch that nobody
thought of: they are written from the rules' sentences, the documents and the adapter protocol alone, before anybody
works on what is drawn, and are measured as they are (`python -m evaluation.fresh`).
"""
