"""A server that shares no code with the suite: `python server.py [FAULT]`.

It has leaves, `sin` and `backward`. FAULT names one fault, in the handshake or in programs with `sin`.
"""

import json
import math
import os
import signal
import subprocess
import sys
import time

FAULT = sys.argv[1] if len(sys.argv) > 1 else ""
HANDSHAKE = {
    "protocol": 1, "name": "far", "version": "0.1", "language": "Plain 1",
    "capabilities": ["IMPERATIVE", "ACCUMULATES", "COTANGENTS"], "ops": ["sin"], "dtypes": ["float64"],
}  # fmt: skip
HANDSHAKES = {
    "no ops": {"ops": None},
    "an op that there is not": {"ops": ["sin", "sine"]},
    "a capability that there is not": {"capabilities": ["IMPERATIVE", "TELEPATHY"]},
    "another version": {"protocol": 2},
    "a word that there is not": {"colour": "red"},
    "a trait that there is not": {"traits": {"friendly": True}},
    "a source of no trait": {"trait_sources": {"friendly": "https://docs.example"}},
    "a package without a version": {"packages": {"numpy": None}},
    "a claim that needs another": {"capabilities": ["FUNCTIONAL", "COTANGENTS"]},
    "no dtype": {"dtypes": []},
    "half a program": {"programs_each": 0.5},
    "a name that leads elsewhere": {"name": "../../evil"},
    "a name from the root": {"name": "/etc/evil"},
    "a name that turns back": {"name": "far/../../evil"},
}


def number(x):
    return x if math.isfinite(x) else str(x)


def read(x):
    return float(x)


def sin(x):
    return math.sin(x) if math.isfinite(x) else math.nan


def cos(x):
    return math.cos(x) if math.isfinite(x) else math.nan


def tensor(values, shape):
    dtype = "float32" if FAULT == "another dtype" else "float64"
    return {"shape": shape, "dtype": dtype, "data": [number(x) for x in values]}


def changed(observation):
    """Make one value of an observation invalid."""
    for step in observation:
        for each in [*step["returned"], *filter(None, step.get("gradients", {}).values())]:
            each.update(TENSORS.get(FAULT, {}))
    outcomes = OUTCOMES.get(FAULT, {})
    return [outcomes.get(at, step) for at, step in enumerate(observation)]


TENSORS = {
    "data of another dtype": {"array": "float32"},
    "a short dtype": {"dtype": "f8"},
    "a dtype with a blank": {"dtype": "float64 ", "array": "float64"},
    "a flag that is a number": {"requires_grad": 1},
    "one identity": {"identity": 7},
    "a truth for an identity": {"identity": True},
}
SKIPPED = {"skipped": True}
RAISED = {"raised": {"kind": "UNKNOWN", "type": "Error", "message": "no"}}
OUTCOMES = {
    "skips all": dict.fromkeys(range(3), SKIPPED),
    "skips the op": {1: SKIPPED, 2: SKIPPED},
    "skips the call": {2: SKIPPED},
    "continues without a value": {1: RAISED},
    "skips after an error": {1: RAISED, 2: SKIPPED},
}


def child(*words):
    """Start a process that inherits the output and outlives this one."""
    subprocess.Popen([sys.executable, *words], stdin=subprocess.DEVNULL)


def run(program):
    """Run a program. A value is its elements and shape, with the factors of its derivative."""
    values, shapes, made, grads, observation = {}, {}, {}, {}, []
    for at, step in enumerate(program["instructions"]):
        name = f"%{at}"
        if step["do"] == "leaf":
            values[name], shapes[name], grads[name] = [read(x) for x in step["data"]], step["shape"], None
        elif step["do"] == "apply":
            (arg,) = step["args"]
            values[name], shapes[name] = [sin(x) for x in values[arg]], shapes[arg]
            made[name] = (arg, [cos(x) for x in values[arg]])
        elif step["do"] == "backward":
            (root,), (cotangent,) = step["roots"], step["cotangents"]
            given = [1.0] if cotangent is None else [read(x) for x in cotangent["data"]]
            while root in made:
                root, factors = made[root]
                given = [g * f for g, f in zip(given, factors)]
            held = grads[root] or [0.0] * len(given)
            grads[root] = [h + g for h, g in zip(held, given)]
        if step["do"] == "backward":
            held = {leaf: None if g is None else tensor(g, shapes[leaf]) for leaf, g in grads.items()}
            observation.append({"returned": [], "gradients": held})
        else:
            observation.append({"returned": [tensor(values[name], shapes[name])]})
    return observation


def rounded(observation):
    for step in observation:
        for each in step["returned"]:
            each["data"] = [float(f"{x:.6g}") if isinstance(x, float) else x for x in each["data"]]
    return observation


def write(text):
    sys.stdout.write(text)
    sys.stdout.flush()


def reply_to(request):
    """The reply to a request for a program, or a faulty one."""
    whole = json.dumps({"id": request["id"], "observation": run(request["program"])}) + "\n"
    if FAULT == "dies after its reply":
        write(whole)
        sys.exit(3)
    if FAULT == "rounds":
        return json.dumps({"id": request["id"], "observation": rounded(run(request["program"]))}) + "\n"
    if not any(step.get("op") == "sin" for step in request["program"]["instructions"]):
        return whole
    if FAULT == "dies":
        os.kill(os.getpid(), signal.SIGSEGV)
    if FAULT == "ends":
        sys.stderr.write("warming up\nout of luck\n")
        sys.exit(7)
    if FAULT == "hangs":
        time.sleep(1e6)
    if FAULT == "half a line, then the end":
        write(whole[:20])
        os._exit(0)
    if FAULT == "half a line, then nothing":
        write(whole[:20])
        time.sleep(1e6)
    if FAULT == "ends, and leaves a child":
        child("-c", "import time; time.sleep(60)")
        os._exit(0)
    if FAULT == "is killed, and leaves a child":
        child("-c", "import time; time.sleep(60)")
        os.kill(os.getpid(), signal.SIGKILL)
    if FAULT == "ends, and its child writes on":
        child(
            "-c", f"import sys, time; time.sleep(0.3); sys.stdout.write({whole!r}); sys.stdout.flush(); time.sleep(60)"
        )
        os._exit(0)
    if FAULT == "drips":
        for byte in whole.encode() * 1000:
            write(chr(byte).replace("\n", " "))
            time.sleep(0.005)
    if FAULT == "pads its reply":
        return " " * (96 << 20) + whole
    if FAULT in TENSORS or FAULT in OUTCOMES:
        return json.dumps({"id": request["id"], "observation": changed(run(request["program"]))}) + "\n"
    if FAULT == "garbage":
        return "computing sin...\n" + whole
    if FAULT == "not an object":
        return "[]\n"
    if FAULT == "an older reply":
        return whole.replace('"id": ', '"id": 1')
    if FAULT == "no observation":
        return json.dumps({"id": request["id"]}) + "\n"
    if FAULT == "an error message":
        return json.dumps({"id": request["id"], "error": "far: sin is not wired up"}) + "\n"
    if FAULT == "too short":
        return json.dumps({"id": request["id"], "observation": run(request["program"])[:1]}) + "\n"
    if FAULT == "no gradients":
        observation = run(request["program"])
        return (
            json.dumps({"id": request["id"], "observation": [{"returned": s["returned"]} for s in observation]}) + "\n"
        )
    if FAULT == "null for a number":
        return whole.replace('"data": [', '"data": [null, ', 1)
    if FAULT == "closes its output":
        os.close(1)
        time.sleep(1e6)
    return whole


def main():
    if FAULT == "is a launcher":
        subprocess.Popen([sys.executable, __file__])
        os._exit(0)
    if FAULT == "ends before the handshake":
        sys.exit("no such library")
    if FAULT == "prints a banner":
        write("Welcome to Far!\n")
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "hello":
            reply = {**HANDSHAKE, **HANDSHAKES.get(FAULT, {})}
            if FAULT == "another order each time":
                names = sorted(("limits", "packages"), reverse=os.getpid() % 2 == 0)
                reply |= {name: {"limits": {"sin": {}}, "packages": {"b": "1"}}[name] for name in names}
                reply["notes"] = [f"one of its objects is at {os.getpid()}"]
            if FAULT == "another digest each time":
                reply["digest"] = str(os.getpid())
            if FAULT == "no such device":
                reply = {"error": f"far has no device {request['device']!r}"}
            write(json.dumps({name: value for name, value in reply.items() if value is not None}) + "\n")
        else:
            write(reply_to(request))
    if FAULT == "stays":
        time.sleep(1e6)


main()
