"""How much of everything the matrix runs, so that all of it takes half an hour on two cores."""

OTHERS = 8
"""Programs per test of the families that a mutant is not about."""

STANDARD = 600
"""Programs per rule in the standard profile; each op by itself gets a tenth."""

COMPARED, COMPARED_BY_HAND = 8, 4
"""One in so many generated mutants, and of those made by hand, is compared, chosen by its name's checksum."""

WITHIN_ROUNDING = {
    "mutants/astype_float32_slight": "its cotangent is float32 in any case; one part in a million is within rounding",
    "mutants/deg2rad_single": "the derivative is 0.017; rounding is measured by the cotangent, sixty times as large",
}
"""Generated mutants whose fault is no larger than what rounding may explain: no program can show it."""

ALWAYS_WRONG = ("sign", "slight", "first_lost", "last_lost", "element", "single")
"""The kinds of generated mutants that are wrong wherever their op is used: these a few programs have to kill."""

QUICK_BUDGET = 6.0
"""CPU seconds of a baseline's round in a sample."""
