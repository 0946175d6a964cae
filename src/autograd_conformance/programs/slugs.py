"""The slugs of the rules, as constants: code that names a rule names the constant, so that the type checker finds a
misspelt name. `rules.catalogue` has a row for each slug.

A slug never changes, because records, replay files and files of known differences contain it. If one has to change
nevertheless, `reporting.records.renamed_rules` reads the old one.
"""

from __future__ import annotations

from typing import NewType

Slug = NewType("Slug", str)
"""The name of a rule, such as ``accumulation/adds``: `family/name`. At run time it is a string."""

Family = NewType("Family", str)
"""The part of a slug before the slash, such as ``accumulation``; also the name of a suite."""


def family(slug: Slug) -> Family:
    """Returns the family of a rule: ``accumulation`` for ``accumulation/adds``."""
    return Family(slug.partition("/")[0])


GRADIENTS = Family("gradients")
ACCUMULATION = Family("accumulation")
LIFETIME = Family("lifetime")
WRITES = Family("writes")
VIEWS = Family("views")
MODES = Family("modes")
HIGHER = Family("higher")
FUNCTIONAL = Family("functional")
HOOKS = Family("hooks")
DETACH = Family("detach")
ERRORS = Family("errors")
MEMORY = Family("memory")
RELATIONS = Family("relations")
OPTIMIZERS = Family("optimizers")
NETWORKS = Family("networks")
RECURRENT = Family("recurrent")
AUTOCAST = Family("autocast")
TRAINING = Family("training")
SEQUENCES = Family("sequences")
ARTICLES = Family("articles")

GRADIENTS_FORWARD = Slug("gradients/forward")
GRADIENTS_OP = Slug("gradients/op")
GRADIENTS_GRAPH = Slug("gradients/graph")
GRADIENTS_FAN_OUT = Slug("gradients/fan-out")
GRADIENTS_SAME_ARGUMENT = Slug("gradients/same-argument")
GRADIENTS_SEVERAL_RESULTS = Slug("gradients/several-results")
GRADIENTS_SEVERAL_ROOTS = Slug("gradients/several-roots")
GRADIENTS_COTANGENT = Slug("gradients/cotangent")
GRADIENTS_COTANGENT_KEPT = Slug("gradients/cotangent-kept")
GRADIENTS_EQUAL_LEAVES = Slug("gradients/equal-leaves")
GRADIENTS_FORM = Slug("gradients/form")
GRADIENTS_REQUIRES_GRAD = Slug("gradients/requires-grad")
GRADIENTS_TAILS = Slug("gradients/tails")
GRADIENTS_DIGITS = Slug("gradients/digits")
GRADIENTS_ELEMENTS = Slug("gradients/elements")
GRADIENTS_CANCELLATION = Slug("gradients/cancellation")

ACCUMULATION_FIRST = Slug("accumulation/first")
ACCUMULATION_ADDS = Slug("accumulation/adds")
ACCUMULATION_UNREACHED = Slug("accumulation/unreached")
ACCUMULATION_CONSTANT = Slug("accumulation/constant")
ACCUMULATION_ZERO_TO_NONE = Slug("accumulation/zero-to-none")
ACCUMULATION_ZERO_TO_ZEROS = Slug("accumulation/zero-to-zeros")
ACCUMULATION_ASSIGNED = Slug("accumulation/assigned")
ACCUMULATION_OWN_OBJECT = Slug("accumulation/own-object")
ACCUMULATION_ASSIGNED_FORM = Slug("accumulation/assigned-form")
ACCUMULATION_IN_PLACE = Slug("accumulation/in-place")
ACCUMULATION_REPLACES = Slug("accumulation/replaces")
ACCUMULATION_LAYOUT = Slug("accumulation/layout")

LIFETIME_SAME_ROOT_RAISES = Slug("lifetime/same-root-raises")
LIFETIME_FREED_SUBGRAPH_RAISES = Slug("lifetime/freed-subgraph-raises")
LIFETIME_DEFAULT_FREES = Slug("lifetime/default-frees")
LIFETIME_LATE_RETAIN_RAISES = Slug("lifetime/late-retain-raises")
LIFETIME_LAST_CALL_FREES = Slug("lifetime/last-call-frees")
LIFETIME_RETAINED_WORKS = Slug("lifetime/retained-works")
LIFETIME_TRAVERSED_ONLY = Slug("lifetime/traversed-only")
LIFETIME_INDEPENDENT = Slug("lifetime/independent")
LIFETIME_REBUILT = Slug("lifetime/rebuilt")
LIFETIME_NOTHING_SAVED = Slug("lifetime/nothing-saved")

WRITES_ERROR_OR_RECORDED = Slug("writes/error-or-recorded")
WRITES_UNSAVED_WORKS = Slug("writes/unsaved-works")
WRITES_VALUE = Slug("writes/value")
WRITES_ALIASES = Slug("writes/aliases")
WRITES_NOTHING_ELSE = Slug("writes/nothing-else")
WRITES_RECORDED = Slug("writes/recorded")
WRITES_REQUIRES_GRAD = Slug("writes/requires-grad")
WRITES_LEAF_RAISES = Slug("writes/leaf-raises")
WRITES_REFUSED_KEEPS_VALUES = Slug("writes/refused-keeps-values")
WRITES_OVERLAP = Slug("writes/overlap")

VIEWS_SHARES = Slug("views/shares")
VIEWS_OWN_MEMORY = Slug("views/own-memory")
VIEWS_HISTORY = Slug("views/history")
VIEWS_RESTRICTED = Slug("views/restricted")

MODES_NO_GRAD_RESULT = Slug("modes/no-grad-result")
MODES_RECORDED = Slug("modes/recorded")
MODES_RESTORED = Slug("modes/restored")
MODES_CONSTANT = Slug("modes/constant")
MODES_CONSTANT_ROOT = Slug("modes/constant-root")
MODES_BACKWARD_ANYWHERE = Slug("modes/backward-anywhere")
MODES_UNRECORDED_WRITE = Slug("modes/unrecorded-write")
MODES_FROZEN_LEAF = Slug("modes/frozen-leaf")
MODES_TOGGLE_REFUSED = Slug("modes/toggle-refused")

AUTOCAST_GRADIENT = Slug("autocast/gradient")
AUTOCAST_NESTED = Slug("autocast/nested")
AUTOCAST_UNRECORDED = Slug("autocast/unrecorded")
AUTOCAST_HIGHER = Slug("autocast/higher")
AUTOCAST_WRITTEN = Slug("autocast/written")

HIGHER_DIFFERENTIABLE = Slug("higher/differentiable")
HIGHER_PLAIN_RAISES = Slug("higher/plain-raises")
HIGHER_OP = Slug("higher/op")
HIGHER_OP_THIRD = Slug("higher/op-third")
HIGHER_UNSUPPORTED = Slug("higher/unsupported")

FUNCTIONAL_VALUE = Slug("functional/value")
FUNCTIONAL_NO_ACCUMULATION = Slug("functional/no-accumulation")
FUNCTIONAL_FREES = Slug("functional/frees")
FUNCTIONAL_INNER_INPUT = Slug("functional/inner-input")
FUNCTIONAL_DUPLICATES = Slug("functional/duplicates")
FUNCTIONAL_UNUSED_RAISES = Slug("functional/unused-raises")
FUNCTIONAL_UNUSED_NONE = Slug("functional/unused-none")
FUNCTIONAL_MATERIALIZED = Slug("functional/materialized")
FUNCTIONAL_OPTIONS = Slug("functional/options")
FUNCTIONAL_INPUT_NO_GRAD = Slug("functional/input-no-grad")
FUNCTIONAL_INPUTS_ONLY = Slug("functional/inputs-only")
FUNCTIONAL_NO_INPUTS = Slug("functional/no-inputs")

HOOKS_CALLED = Slug("hooks/called")
HOOKS_RESULT = Slug("hooks/result")
HOOKS_ORDER = Slug("hooks/order")
HOOKS_REMOVED = Slug("hooks/removed")
HOOKS_ACCUMULATED = Slug("hooks/accumulated")
HOOKS_REFUSED = Slug("hooks/refused")
HOOKS_RAISE = Slug("hooks/raise")
HOOKS_SHAPE = Slug("hooks/shape")
HOOKS_RETAINED = Slug("hooks/retained")
HOOKS_RETAIN_REFUSED = Slug("hooks/retain-refused")

DETACH_BLOCKS = Slug("detach/blocks")
DETACH_VALUES = Slug("detach/values")
DETACH_ROOT_RAISES = Slug("detach/root-raises")
DETACH_KEEPS_SOURCE = Slug("detach/keeps-source")
DETACH_IN_PLACE = Slug("detach/in-place")
DETACH_VIEW_RAISES = Slug("detach/view-raises")

ERRORS_NO_GRAD_ROOT = Slug("errors/no-grad-root")
ERRORS_NON_SCALAR_ROOT = Slug("errors/non-scalar-root")
ERRORS_COTANGENT_SHAPE = Slug("errors/cotangent-shape")
ERRORS_LEGAL_RETURNS = Slug("errors/legal-returns")
ERRORS_REFUSAL_KEEPS_GRADIENTS = Slug("errors/refusal-keeps-gradients")
ERRORS_REFUSAL_KEEPS_GRAPH = Slug("errors/refusal-keeps-graph")
ERRORS_ATOMIC = Slug("errors/atomic")
ERRORS_RECOVERS = Slug("errors/recovers")

MEMORY_FREED = Slug("memory/freed")
MEMORY_RETAINED = Slug("memory/retained")
MEMORY_DROPPED = Slug("memory/dropped")
MEMORY_STEADY = Slug("memory/steady")
MEMORY_CYCLE = Slug("memory/cycle")
MEMORY_AFTER_ERROR = Slug("memory/after-error")

RELATIONS_SUM = Slug("relations/sum")
RELATIONS_SCALING = Slug("relations/scaling")
RELATIONS_SHARING = Slug("relations/sharing")
RELATIONS_ORDER = Slug("relations/order")
RELATIONS_REPEATED = Slug("relations/repeated")
RELATIONS_INTERLEAVED = Slug("relations/interleaved")

OPTIMIZERS_FORMULA = Slug("optimizers/formula")
OPTIMIZERS_REMEMBERS = Slug("optimizers/remembers")
OPTIMIZERS_SKIPS = Slug("optimizers/skips")
OPTIMIZERS_GROUPS = Slug("optimizers/groups")
OPTIMIZERS_KEEPS_GRADIENTS = Slug("optimizers/keeps-gradients")
OPTIMIZERS_CLEARS = Slug("optimizers/clears")
OPTIMIZERS_CLIPS = Slug("optimizers/clips")
OPTIMIZERS_VARIANTS = Slug("optimizers/variants")

NETWORKS_GRADIENT = Slug("networks/gradient")
NETWORKS_MODULE = Slug("networks/module")
NETWORKS_RANDOM = Slug("networks/random")

RECURRENT_GRADIENT = Slug("recurrent/gradient")
RECURRENT_MODULE = Slug("recurrent/module")
RECURRENT_PACKED = Slug("recurrent/packed")
RECURRENT_DETACHED_STATE = Slug("recurrent/detached-state")
RECURRENT_CARRIED_STATE = Slug("recurrent/carried-state")

TRAINING_LOOP = Slug("training/loop")
TRAINING_MICRO_BATCHES = Slug("training/micro-batches")
TRAINING_LOSSES = Slug("training/losses")
TRAINING_APART = Slug("training/apart")

SEQUENCES_HISTORY = Slug("sequences/history")

ARTICLES_CLAIMS = Slug("articles/claims")
