"""For each rule, a program on which a mutant breaks it: the smallest that a run of the suite reports.

Rules about two related programs are not included.
"""

from __future__ import annotations

VIOLATIONS: dict[str, tuple[str, str]] = {
    "gradients/forward": ("tanh-value-off", "a = leaf [1, 2, 3]; b = tanh a"),
    "gradients/op": ("exp-off", "a = leaf [0.9375, 1.875, 2.8125]; b = exp a; backward b with [1, 2, 3]"),
    "gradients/graph": (
        "deep-ends",
        "a = leaf [1, 2, 3]; b = multiply a a; c = multiply b b; d = tanh c; e = multiply d d; f = multiply e e; "
        "g = multiply f f; h = multiply g g; backward h with [1, 2, 3]",
    ),
    "gradients/fan-out": (
        "diamond-once",
        "a = leaf [1, 2, 3]; b = multiply a a; c = add b a; backward c with [1, 2, 3]",
    ),
    "gradients/same-argument": ("argument-once", "a = leaf [1, 2, 3]; b = multiply a a; backward b with [1, 2, 3]"),
    "gradients/several-results": (
        "first-result-only",
        "a = leaf [1, 2, 3]; b, c = split a sizes=(1,2) dim=0; backward c with [1, 2]",
    ),
    "gradients/several-roots": ("first-root-only", "a = leaf [1, 2, 3]; backward a, a with [1, 2, 3], [1, 2, 3]"),
    "gradients/cotangent": ("cotangent-ignored", "a = leaf [1, 2, 3]; backward a with [2, 2, 3]"),
    "gradients/tails": ("logsigmoid-rounds", "a = leaf 40; b = logsigmoid a; backward b with 1"),
    "gradients/elements": (
        "negative-of-last-nan",
        "a = leaf [nan, nan, nan]; b = negative a; backward b with [1, 1, 1]",
    ),
    "gradients/kinks": ("abs-at-zero", "a = leaf f32 [0, 0, 0]; b = abs a; backward b with f32 [1, 1, 1]"),
    "gradients/cotangent-kept": ("cotangent-written", "a = leaf [1, 2, 3]; backward a with [2, 2, 3]"),
    "gradients/equal-leaves": (
        "equal-leaves-merged",
        "a = leaf [1, 2, 3]; b = leaf [1, 2, 3]; c = add a b; backward c with [1, 2, 3]",
    ),
    "gradients/form": ("single-gradients", "a = leaf 1; backward a with 1"),
    "gradients/requires-grad": ("always-requires-grad", "a = leaf [1, 2, 3] const; b = negative a"),
    "accumulation/first": (
        "adds-twice",
        "a = leaf [1, 2, 3]; b = multiply a a; c = multiply b b; backward c with [1, 2, 3]",
    ),
    "accumulation/adds": ("overwrites", "a = leaf [1, 2, 3]; backward a with [1, 2, 3]; backward a with [1, 2, 3]"),
    "accumulation/unreached": (
        "unused-gets-zeros",
        "a = leaf [1, 2, 3]; b = leaf [1, 2, 3]; backward b with [1, 2, 3]",
    ),
    "accumulation/constant": (
        "constant-gets-gradient",
        "a = leaf [1, 2, 3]; b = leaf [1, 2, 3] const; backward a with [1, 2, 3]",
    ),
    "accumulation/zero-to-none": ("clears-to-zeros", "a = leaf [1, 2, 3]; backward a with [1, 2, 3]; zero a"),
    "accumulation/zero-to-zeros": ("clears-to-none", "a = leaf [1, 2, 3]; backward a with [1, 2, 3]; zero a to zeros"),
    "accumulation/assigned": ("assigns-zeros", "a = leaf [1, 2, 3]; backward a with [1, 2, 3]; assign a none"),
    "accumulation/own-object": (
        "shares-gradient",
        "a = leaf [1, 2, 3]; b = leaf [1, 2, 3]; c = add a b; backward c with [1, 2, 3]",
    ),
    "accumulation/assigned-form": ("assigns-anything", "a = leaf [1, 2, 3]; b = leaf [1, 2] const; assign a b"),
    "accumulation/in-place": (
        "adds-to-copies",
        "a = leaf [1, 2, 3]; backward a with [1, 2, 3]; backward a with [1, 2, 3]",
    ),
    "accumulation/replaces": (
        "creates-in-place",
        "a = leaf [1, 2, 3]; backward a with [1, 2, 3]; backward a with [1, 2, 3] create=True",
    ),
    "accumulation/layout": (
        "column-major",
        "a = leaf [[1, 2, 3], [4, -1, 0]]; backward a with [[1, 2, 3], [4, -1, 0]]",
    ),
    "lifetime/same-root-raises": (
        "never-frees",
        "a = leaf [1, 2, 3]; b = multiply a a; backward b with [1, 2, 3]; backward b with [1, 2, 3]",
    ),
    "lifetime/freed-subgraph-raises": (
        "checks-root-only",
        "a = leaf [1, 2, 3]; b = multiply a a; backward b with [1, 2, 3]; c = multiply b b; backward c with [1, 2, 3]",
    ),
    "lifetime/late-retain-raises": (
        "late-retain-revives",
        "a = leaf [1, 2, 3]; b = multiply a a; backward b with [1, 2, 3]; backward b with [1, 2, 3] retain=True",
    ),
    "lifetime/last-call-frees": (
        "retain-sticks",
        "a = leaf [1, 2, 3]; b = multiply a a; backward b with [1, 2, 3] retain=True; backward b with [1, 2, 3]; "
        "backward b with [1, 2, 3]",
    ),
    "lifetime/retained-works": (
        "always-frees",
        "a = leaf [1, 2, 3]; b = multiply a a; backward b with [1, 2, 3] retain=True; backward b with [1, 2, 3]",
    ),
    "lifetime/traversed-only": (
        "frees-whole-graph",
        "a = leaf [1, 2, 3]; b = multiply a a; c = leaf [1, 2, 3]; d = multiply c c; e = add b d; "
        "backward b with [1, 2, 3]; backward d with [1, 2, 3]",
    ),
    "lifetime/independent": (
        "frees-everything",
        "a = leaf [1, 2, 3]; b = multiply a a; c = negative a; backward b with [1, 2, 3]; backward c with [1, 2, 3]",
    ),
    "lifetime/rebuilt": (
        "caches-results",
        "a = leaf [1, 2, 3]; b = multiply a a; backward b with [1, 2, 3]; c = multiply a a; backward c with [1, 2, 3]",
    ),
    "writes/error-or-recorded": (
        "steps-unseen",
        "a = leaf [1, 2, 3]; b = multiply a a; backward b with [1, 2, 3] retain=True; step a sgd lr=0.125; "
        "backward b with [1, 2, 3]",
    ),
    "writes/unsaved-works": (
        "checks-everything",
        "a = leaf [1, 2, 3]; b = negative a; backward b with [1, 2, 3]; step a sgd lr=0.125; backward b with [1, 2, 3]",
    ),
    "writes/value": ("adds-twice-in-place", "a = leaf 1; b = multiply a a; write b add_ a"),
    "writes/aliases": ("views-leave-their-base", "a = leaf [1, 2, -1] const; b = reshape a shape=(3,); write b abs_"),
    "writes/nothing-else": ("writes-beyond", "a = leaf [1, 2, 3]; b = multiply a a; write b abs_"),
    "writes/recorded": (
        "written-gets-nothing",
        "a = leaf [1, 2, 3] const; b = leaf [1, 2, 3]; write a copy_ b; backward a with [1, 2, 3]",
    ),
    "writes/requires-grad": (
        "constants-stay-constant",
        "a = leaf [1, 2, 3] const; b = leaf [1, 2, 3]; write a copy_ b",
    ),
    "writes/leaf-raises": ("leaves-written", "a = leaf [1, 2, 3]; write a abs_"),
    "writes/refused-keeps-values": ("refuses-too-late", "a = leaf [1, 2, 3]; write a reciprocal_"),
    "views/shares": (
        "views-are-copies",
        "a = leaf [1, 2, 3]; b = slice a start=0 stop=3 step=1; write a fill_ value=0.0",
    ),
    "views/own-memory": ("clones-are-views", "a = leaf [1, 2, 3]; b = clone a; write a fill_ value=0.0"),
    "views/history": (
        "views-write-unrecorded",
        "a = leaf [1, 2, 3]; b = negative a; c = reshape b shape=(3,); write c abs_; backward c with [1, 2, 3]",
    ),
    "modes/no-grad-result": ("no-grad-ignored", "a = leaf [1, 2, 3]; no_grad: b = multiply a a"),
    "modes/recorded": ("enable-grad-ignored", "a = leaf [1, 2, 3]; no_grad: enable_grad: b = multiply a a"),
    "modes/restored": ("no-grad-leaks", "a = leaf [1, 2, 3]; no_grad: b = multiply a a; c = multiply a b"),
    "modes/constant": (
        "constants-leak",
        "a = leaf [1, 2, 3]; no_grad: b = multiply a a; c = multiply b a; backward c with [1, 2, 3]",
    ),
    "modes/constant-root": (
        "constant-roots-are-silent",
        "a = leaf [1, 2, 3]; no_grad: b = multiply a a; backward b with [1, 2, 3]",
    ),
    "modes/backward-anywhere": ("unrecorded-call-raises", "a = leaf [1, 2, 3]; no_grad: backward a with [1, 2, 3]"),
    "modes/unrecorded-write": ("unrecorded-writes-cut", "a = leaf [1, 2, 3]; b = multiply a a; no_grad: write b abs_"),
    "modes/frozen-leaf": (
        "frozen-receive",
        "a = leaf [1, 2, 3]; b = multiply a a; requires a False; backward b with [1, 2, 3]",
    ),
    "modes/toggle-refused": ("switches-anything", "a = leaf [1, 2, 3]; b = multiply a a; requires b False"),
    "higher/differentiable": (
        "creates-half",
        "a = leaf [1, 2, 3]; b = sin a; c = multiply b b; "
        "d = grad c wrt a with [1, 2, 3] create=True unused=True; e = square d; backward e with [1, 2, 3]",
    ),
    "higher/plain-raises": (
        "functional-always-creates",
        "a = leaf [1, 2, 3]; b = sin a; c = grad b wrt a with [1, 2, 3]",
    ),
    "higher/op": (
        "higher-doubled",
        "a = leaf [1, 2, 3]; b = leaf [1, 2, 3]; c = multiply a b; backward c with [1, 2, 3] create=True; "
        "d = held a; e = held b; backward d, e with [1, 2, 3], [1, 2, 3]",
    ),
    "higher/op-third": (
        "third-order-off",
        "a = leaf [1, 2, 3]; b = leaf [1, 2, 3]; c = multiply a b; d = leaf [1, 2, 3]; e = multiply c d; "
        "backward e with [0, 2, 3] create=True; f = held a; g = held b; h = held d; "
        "backward f, g, h with [1, 2, 3], [1, 2, 3], [1, 2, 3] create=True; i = held a; j = held b; k = held d; "
        "backward i, j, k with [1, 2, 3], [1, 2, 3], [1, 2, 3]",
    ),
    "functional/value": ("functional-ignores-cotangents", "a = leaf [1, 2, 3]; b = grad a wrt a with [1, 2, 3]"),
    "functional/no-accumulation": ("functional-accumulates", "a = leaf [1, 2, 3]; b = grad a wrt a with [1, 2, 3]"),
    "functional/frees": (
        "functional-keeps",
        "a = leaf [1, 2, 3]; b = multiply a a; c = grad b wrt a with [1, 2, 3]; d = grad b wrt a with [1, 2, 3]",
    ),
    "functional/inner-input": (
        "inner-input-gets-none",
        "a = leaf [1, 2, 3]; b = exp a; c = multiply b b; d = grad c wrt b with [1, 2, 3]",
    ),
    "functional/duplicates": ("duplicates-once", "a = leaf [1, 2, 3]; b, c = grad a wrt a, a with [1, 2, 3]"),
    "functional/unused-raises": (
        "unused-is-allowed",
        "a = leaf [1, 2, 3]; b = leaf [1, 2, 3]; c = grad a wrt b with [1, 2, 3]",
    ),
    "functional/unused-none": (
        "unused-gets-ones",
        "a = leaf [1, 2, 3]; b = leaf [1, 2, 3]; c = grad a wrt b with [1, 2, 3] unused=True",
    ),
    "functional/materialized": (
        "nothing-materialized",
        "a = leaf [1, 2, 3]; b = leaf [1, 2, 3]; c = grad a wrt b with [1, 2, 3] materialize=True",
    ),
    "functional/options": (
        "options-overruled",
        "a = leaf [1, 2, 3]; b = grad a wrt a with [1, 2, 3] unused=False materialize=True",
    ),
    "functional/input-no-grad": (
        "constant-input-gets-none",
        "a = leaf [1, 2, 3]; b = leaf [1, 2, 3] const; c, d = grad a wrt b, a with [1, 2, 3]",
    ),
    "functional/inputs-only": (
        "inputs-first-only",
        "a = leaf [1, 2, 3]; b = multiply a a; backward b inputs a, b with [1, 2, 3]",
    ),
    "functional/no-inputs": ("empty-inputs", "a = leaf [1, 2, 3]; backward a inputs none with [1, 2, 3]"),
    "hooks/called": (
        "hook-never-called",
        "a = leaf [1, 2, 3]; b = multiply a a; c = hook b observe; backward b with [1, 2, 3]",
    ),
    "hooks/result": ("hook-result-ignored", "a = leaf [1, 2, 3]; b = hook a scale 2.0; backward a with [1, 2, 3]"),
    "hooks/order": (
        "hooks-backwards",
        "a = leaf [1, 2, 3]; b = hook a observe; c = hook a observe; backward a with [1, 2, 3]",
    ),
    "hooks/removed": ("removes-nothing", "a = leaf [1, 2, 3]; b = hook a observe; unhook b; backward a with [1, 2, 3]"),
    "hooks/accumulated": (
        "accumulated-never-called",
        "a = leaf [1, 2, 3]; b = hook a observe accumulated; backward a with [1, 2, 3]; backward a with [1, 2, 3]",
    ),
    "hooks/refused": ("constants-hooked", "a = leaf [1, 2, 3]; b = detach a; c = hook b observe"),
    "hooks/raise": ("swallows-exceptions", "a = leaf [1, 2, 3]; b = hook a raise; backward a with [1, 2, 3]"),
    "hooks/shape": ("reshapes-results", "a = leaf [1, 2, 3]; b = hook a misshape; backward a with [1, 2, 3]"),
    "hooks/retained": (
        "retain-overwrites",
        "a = leaf [1, 2, 3]; b = multiply a a; retain b; c = grad b wrt a with [1, 2, 3] retain=True unused=True; "
        "backward b with [1, 2, 3]",
    ),
    "hooks/retain-refused": ("constants-retain", "a = leaf [1, 2, 3] const; retain a"),
    "detach/blocks": ("detach-leaks", "a = leaf [1, 2, 3]; b = detach a; c = multiply a b; backward c with [1, 2, 3]"),
    "detach/values": ("detach-keeps-history", "a = leaf [1, 2, 3]; b = detach a"),
    "detach/root-raises": ("no-grad-is-silent", "a = leaf [1, 2, 3]; b = detach a; backward b with [1, 2, 3]"),
    "detach/keeps-source": (
        "detaches-source",
        "a = leaf [1, 2, 3]; b = multiply a a; c = detach b; backward b with [1, 2, 3]",
    ),
    "detach/in-place": ("detach-in-place-ignored", "a = leaf [1, 2, 3]; detach_ a"),
    "detach/view-raises": ("detaches-views", "a = leaf [1, 2, 3]; b = reshape a shape=(3,); detach_ b"),
    "errors/no-grad-root": ("no-grad-is-silent", "a = leaf [1, 2, 3] const; backward a with [1, 2, 3]"),
    "errors/non-scalar-root": ("implicit-ones", "a = leaf [1, 2, 3]; backward a"),
    "errors/cotangent-shape": ("cotangent-broadcast", "a = leaf [1, 2, 3]; backward a with [1]"),
    "errors/legal-returns": (
        "refuses-high-rank",
        "a = leaf [[[1, 2, 3], [4, -1, 0]], [[-3, -4, 0.5], [1.5, 2.5, 3.5]]]; "
        "backward a with [[[1, 2, 3], [4, -1, 0]], [[-3, -4, 0.5], [1.5, 2.5, 3.5]]]",
    ),
    "errors/refusal-keeps-gradients": ("refusal-clears", "a = leaf [1, 2, 3]; backward a with [1, 2, 3]; backward a"),
    "errors/refusal-keeps-graph": (
        "refusal-frees",
        "a = leaf [1, 2, 3]; b = multiply a a; backward b; backward b with [1, 2, 3]",
    ),
    "errors/atomic": (
        "tears-gradients",
        "a = leaf [1, 2, 3]; b = multiply a a; backward b with [1, 2, 3]; backward b with [1, 2, 3]",
    ),
    "errors/recovers": (
        "nothing-after-an-error",
        "a = leaf [1, 2, 3]; b = multiply a a; backward b with [1, 2, 3]; backward b with [1, 2, 3]; "
        "backward a with [1, 2, 3]",
    ),
    "memory/freed": ("keeps-what-it-walked", "a = leaf [1, 2, 3]; b = multiply a a; backward b with [1, 2, 3]"),
    "memory/retained": (
        "retain-lets-go",
        "a = leaf [1, 2, 3]; b = multiply a a; backward b with [1, 2, 3] retain=True",
    ),
    "memory/dropped": ("keeps-unwalked", "a = leaf [1, 2, 3]; b = multiply a a; drop b"),
    "memory/steady": (
        "leaks-in-the-long-run",
        "a = leaf [1, 2, 3]; b = multiply a a; backward b with [1, 2, 3]; c = multiply a a; backward c with [1, 2, 3]",
    ),
    "memory/cycle": (
        "cycles-stay",
        "a = leaf [1, 2, 3]; b = multiply a a; backward b with [1, 2, 3] create=True; zero a",
    ),
    "optimizers/finite": (
        "fused-without-eps",
        "a = leaf f16 [1, 2]; backward a with f16 [0, 1]; step a adam lr=0.125 fused=True",
    ),
    "optimizers/formula": ("steps-twice", "a = leaf [1, 2, 3]; backward a with [1, 2, 3]; step a sgd lr=0.125"),
    "optimizers/remembers": (
        "forgets-momentum",
        "a = leaf [1, 2, 3]; backward a with [1, 2, 3]; step a sgd lr=0.125 momentum=0.5; "
        "step a sgd lr=0.125 momentum=0.5",
    ),
    "optimizers/skips": ("step-moves-idle", "a = leaf [1, 2, 3]; step a sgd lr=0.125"),
    "optimizers/groups": (
        "groups-ignored",
        "a = leaf [1, 2, 3]; b = leaf [1, 2, 3]; backward a with [1, 2, 3]; "
        "step a, b sgd lr=0.125 groups=((1,(('lr',0.25),)),(1,(('lr',0.25),)))",
    ),
    "optimizers/keeps-gradients": (
        "eats-gradients",
        "a = leaf [1, 2, 3]; backward a with [1, 2, 3]; step a sgd lr=0.125",
    ),
    "optimizers/clears": (
        "clears-first-group",
        "a = leaf [1, 2, 3]; b = leaf [1, 2, 3]; optimizer a, b sgd lr=0.125; backward b with [1, 2, 3]; zero a, b",
    ),
    "optimizers/clips": (
        "clips-each-leaf",
        "a = leaf [1, 2, 3]; b = leaf [1, 2, 3]; c = leaf [1, 2, 3]; backward a with [1, 2, 3]; "
        "backward b with [1, 2, 3]; clip_grad a, b, c norm 1.0",
    ),
    "optimizers/variants": (
        "fused-without-decay",
        "a = leaf [1, 2, 3]; backward a with [1, 2, 3]; "
        "step a adam lr=0.125 betas=(0.5,0.75) weight_decay=0.25 foreach=True",
    ),
    "networks/gradient": (
        "norm-is-constant",
        "a = leaf [0.25, 0.5, 0.75]; b = leaf [0.25, 0.5, 0.75]; c = leaf [[0.25, 0.5, 0.75], [1, -0.25, 0]]; "
        "d = nn_layer_norm c a b normalized_shape=(3,) affine=True; backward d with [[1, 2, 3], [4, -1, 0]]",
    ),
    "networks/random": ("ignores-seeds", "a = leaf [1, 2, 3]; b = dropout a a p=0.5 seed=0"),
    "recurrent/gradient": (
        "truncates",
        "a = leaf [[0.25], [0.5], [0.75], [1], [-0.25], [0]]; "
        "b = leaf [[0.25, 0.5], [0.75, 1], [-0.25, 0], [-0.75, -1], [0.125, 0.375], [0.625, 0.875]]; "
        "c = leaf [0.25, 0.5, 0.75, 1, -0.25, 0]; d = leaf [0.25, 0.5, 0.75, 1, -0.25, 0]; "
        "e = leaf [[[0.25], [0.5]], [[0.75], [1]], [[-0.25], [0]]] const; "
        "f, g = nn_gru e a b c d layers=1 directions=1 batch_first=False bias=True state=False lengths=None; "
        "backward f with [[[1, 2], [3, 4]], [[-1, 0], [-3, -4]], [[0.5, 1.5], [2.5, 3.5]]]",
    ),
    "recurrent/detached-state": (
        "keeps-history",
        "a = leaf [1, 2, 3]; b = leaf [2, 3, 4] const; c = multiply a b; backward c with [1, 2, 3]; d = detach c; "
        "e = multiply a d; backward e with [1, 2, 3]",
    ),
    "recurrent/carried-state": (
        "never-frees",
        "a = leaf [1, 2, 3]; b = leaf [2, 3, 4] const; c = multiply a b; backward c with [1, 2, 3]; "
        "d = multiply a c; backward d with [1, 2, 3]",
    ),
    "training/loop": (
        "derives-yesterday",
        "a = leaf [[0.25, 0.5], [0.75, 1]]; b = leaf [[0.25, 0.5]]; c = leaf [[0.25], [0.5]] const; "
        "d = mse_loss a c reduction='mean'; backward d; step a, b sgd lr=0.125; e = linear a b; "
        "f = mse_loss e c reduction='mean'; backward f",
    ),
}
"""The mutant, and the program in the notation, by the slug that is broken."""
