"""Sizes of the matrix's work, chosen so that the whole run takes half an hour on two cores."""

OTHERS = 8
"""Programs per test of the families other than a mutant's own."""

STANDARD = 600
"""Programs per rule in the standard profile; a single op gets a tenth of them."""

COMPARED, COMPARED_BY_HAND = 8, 4
"""The baselines run on one in 8 generated and one in 4 handmade mutants, chosen by a checksum of the name."""

WITHIN_ROUNDING = {
    "mutants/astype_float32_slight": "its cotangent is float32 in any case; one part in a million is within rounding",
    "mutants/deg2rad_single": "the derivative is 0.017; rounding is measured by the cotangent, sixty times as large",
}
"""Generated mutants whose fault is within rounding, so that no program can detect it; with the reason."""

ALWAYS_WRONG = ("sign", "slight", "first_lost", "last_lost", "element", "single")
"""Kinds of generated mutants whose fault affects every use of the op, so that a few programs must kill them."""

QUICK_BUDGET = 6.0
"""CPU seconds of a baseline's round with `--sample`."""
