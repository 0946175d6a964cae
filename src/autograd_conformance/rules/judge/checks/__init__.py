"""The checks of the judge: one module for each kind of effect that an instruction can have.

A function called `check_...` changes nothing: it compares, and returns the violation. A function called `judge_...`
may also note waived violations, and what it observed or adopted, in the state of judging, `Judging`.
"""
