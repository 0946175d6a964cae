"""The ledger: what the five articles claim, claim by claim, with the programs that decide each."""
