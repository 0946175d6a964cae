"""How much of everything the matrix runs, so that all of it takes half an hour on two cores."""

OTHERS = 8
"""Programs per test of the families that a member is not about."""

STANDARD = 600
"""Programs per rule in the standard profile; each op by itself gets a tenth."""

RACED, RACED_BY_HAND = 8, 4
"""One in so many generated members, and of those made by hand, is raced, chosen by its name's checksum."""

SURE = ("sign", "slight", "first_lost", "last_lost", "element", "single")
"""The kinds of generated members that lie wherever their op is used: these a few programs have to catch."""

QUICK_BUDGET = 6.0
"""CPU seconds of a rival's lap in a sample."""
