"""How much of everything the matrix runs, so that all of it takes half an hour on two cores."""

OTHERS = 8
"""Programs per test of the families that a member is not about."""

STANDARD = 600
"""Programs per rule in the standard profile; each op by itself gets a tenth."""

RACED, RACED_BY_HAND = 8, 4
"""One in so many generated members, and of those made by hand, is raced, chosen by its name's checksum."""

BELOW = {
    "zoo/astype_float32_slight": "its cotangent is float32 in any case, and one part in a million is within rounding",
    "zoo/deg2rad_single": "the derivative is 0.017, and rounding is measured by the cotangent, sixty times as large",
}
"""Generated members whose lie is no larger than what rounding may explain: no program can tell it."""

SURE = ("sign", "slight", "first_lost", "last_lost", "element", "single")
"""The kinds of generated members that lie wherever their op is used: these a few programs have to catch."""

QUICK_BUDGET = 6.0
"""CPU seconds of a rival's lap in a sample."""
