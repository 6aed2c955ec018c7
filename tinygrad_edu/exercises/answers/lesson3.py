"""Lesson 3, order and accumulation: an engine over a graph of names, `{"L": ["a", "b"], …}`, a node and its inputs."""

from collections import Counter
from graphlib import CycleError, TopologicalSorter

from ..exercise import Exercise

ALONE: dict[str, list[str]] = {"L": []}
CHAIN = {"L": ["b"], "b": ["a"], "a": []}
TREE = {"L": ["a", "b"], "a": ["x"], "b": ["y"], "x": [], "y": []}
DIAMOND = {"L": ["a", "b"], "a": ["x"], "b": ["x"], "x": []}
LATE = {"L": ["a", "b"], "b": ["a"], "a": ["x"], "x": []}  # a is reached before everything that uses it has run
SHUFFLED = {"x": [], "b": ["a"], "L": ["a", "b"], "a": ["x"]}  # the same graph, not listed from the root
SQUARE = {"L": ["x", "x"], "x": ["w"], "w": []}
TWICE = {"L": ["b", "x", "x"], "b": ["x"], "x": ["w"], "w": []}
NAMED = {"loss": ["error", "weight"], "error": ["weight", "input"], "weight": ["bias"], "input": [], "bias": []}

topological_order = Exercise("topological_order", "topological_order(root, inputs)", lesson=3)


def uses(root, inputs):
    """Count how often each node that `root` needs is an input of another such node."""
    count, stack = {root: 0}, [root]
    while stack:
        for name in inputs[stack.pop()]:
            if name not in count:
                count[name] = 0
                stack.append(name)
            count[name] += 1
    return count


@topological_order.picture
def as_tensors(T, root, inputs, local=None):
    """Sums whose local derivatives are `local`; a node of one input has 2 where none are given."""
    made = {}
    for name in reversed(by_counting_uses(root, inputs)):
        slopes = local[name] if local else [2.0] if len(inputs[name]) == 1 else [None] * len(inputs[name])
        terms = [
            made[one] if slope is None else made[one] * slope for one, slope in zip(inputs[name], slopes, strict=True)
        ]
        made[name] = sum(terms[1:], terms[0]) if terms else T.tensor(1.0, requires_grad=True)
    return made


@topological_order.right
def by_counting_uses(root, inputs):
    waiting, order, ready = uses(root, inputs), [], [root]
    while ready:
        order.append(ready.pop())
        for name in inputs[order[-1]]:
            waiting[name] -= 1
            if waiting[name] == 0:
                ready.append(name)
    return order


@topological_order.right
def reversed_postorder(root, inputs):
    seen, order = set(), []

    def visit(name):
        if name not in seen:
            seen.add(name)
            for other in inputs[name]:
                visit(other)
            order.append(name)

    visit(root)
    return order[::-1]


@topological_order.wrong(
    "This is preorder: each node comes as soon as it is first met. But a node must wait until everything that uses it "
    "has run. Otherwise it passes on an incomplete gradient."
)
def preorder(root, inputs):
    order = []

    def visit(name):
        if name not in order:
            order.append(name)
            for other in inputs[name]:
                visit(other)

    visit(root)
    return order


@topological_order.wrong(
    "This goes level by level: each node comes as soon as it is first met from above. But a node that is met early may "
    "be used late, and it has to wait for everything that uses it."
)
def level_by_level(root, inputs):
    order = [root]
    for name in order:
        order.extend(dict.fromkeys(other for other in inputs[name] if other not in order))
    return order


@topological_order.wrong(
    "A node comes once for every path to it. Remember which nodes you visited: each runs once, with the sum of what "
    "arrives."
)
def visits_twice(root, inputs):
    order, stack = [], [root]
    while stack:
        order.append(stack.pop())
        stack.extend(inputs[order[-1]])
    return order


@topological_order.wrong(
    "Some nodes never become ready: you count a node's inputs where you should count its uses, which are the gradients "
    "it waits for. In a diamond the two numbers differ."
)
def counts_inputs_for_uses(root, inputs):
    waiting, order, ready = {name: len(inputs[name]) for name in inputs}, [], [root]
    while ready:
        order.append(ready.pop())
        for name in inputs[order[-1]]:
            waiting[name] -= 1
            if waiting[name] == 0:
                ready.append(name)
    return order


@topological_order.wrong(
    "The order is reversed: this is the order of the forward pass, inputs first. Backward starts at the root."
)
def forward_order(root, inputs):
    return by_counting_uses(root, inputs)[::-1]


@topological_order.wrong(
    "You took the nodes in the order of the dict. A dict may list a graph in any order: start at the root and follow "
    "the inputs."
)
def as_it_is_written(root, inputs):
    return list(inputs)


@topological_order.wrong(
    "You left out the nodes without inputs. They are the leaves: backward exists to deliver their gradients, and "
    "`AccumulateGrad` is a node like the others."
)
def leaves_left_out(root, inputs):
    return [name for name in by_counting_uses(root, inputs) if inputs[name]]


@topological_order.wrong("You left out the root. It runs first: it receives the seed.")
def root_left_out(root, inputs):
    return by_counting_uses(root, inputs)[1:]


def order_faults(order, root, inputs):
    """Say what is wrong with an order: nodes are missing, come twice, or come too early."""
    needed = uses(root, inputs)
    first = {name: place for place, name in reversed(list(enumerate(order)))}
    early = [a for b in needed for a in inputs[b] if a in first and b in first and first[a] < first[b]]
    twice = sorted(name for name, count in Counter(order).items() if count > 1)
    missing = sorted(set(needed) - set(order))
    return {"missing": missing, "more than once": twice, "too early": sorted(set(early))}


@topological_order.criterion(
    "Every node that the root needs is there, once",
    cases=[*(("L", g) for g in (ALONE, CHAIN, DIAMOND, TREE, LATE)), ("loss", NAMED)],
    measure=lambda order, root, inputs: order_faults(order, root, inputs) | {"too early": []},
)
def complete(answer, root, inputs):
    return list(answer(root, inputs))


@topological_order.criterion(
    "A node comes after everything that uses it",
    points=2,
    cases=[
        *(("L", g) for g in (ALONE, CHAIN, DIAMOND, LATE, {**LATE, "L": ["b", "a"]}, SHUFFLED, SQUARE, TWICE)),
        ("loss", NAMED),
    ],
    measure=order_faults,
)
def users_first(answer, root, inputs):
    return list(answer(root, inputs))


smallest_graph = Exercise("smallest_graph", 'smallest_graph = {"L": ["a", …], …}', lesson=3)

smallest_graph.right({"L": ["a", "b"], "b": ["a"], "a": ["x"], "x": []})
smallest_graph.right({"L": ["p", "q"], "p": ["r"], "q": ["p"], "r": []})
smallest_graph.wrong(
    "In a chain there is only one order. Something must be used twice before an order can be wrong.", name="chain"
)(CHAIN)
smallest_graph.wrong(
    "In a tree nothing is used twice: every node has its complete gradient as soon as it is met.", name="tree"
)(TREE)
smallest_graph.wrong(
    "Something is used twice here, but everything that uses it comes before it in this order, so its sum is complete "
    "in time. A node must be met early and used late.",
    name="diamond",
)(DIAMOND)
smallest_graph.wrong(
    "A node is met too early here, but it does no harm. It has no inputs, so it passes nothing on, and what arrives "
    "late is still added. Give it an input to pass its gradient to.",
    name="early_and_harmless",
)({"L": ["a", "b"], "b": ["a"], "a": []})
smallest_graph.wrong(
    "`L` uses nothing here. Each node lists the nodes that it was *computed from*, and `L`, the result, lists its "
    "inputs. Reverse the arrows.",
    name="reversed_arrows",
)({"x": ["a"], "a": ["L", "b"], "b": ["L"], "L": []})
smallest_graph.wrong(
    "The order goes wrong here, but there is a smaller graph that shows it: leave out what the mistake does not need.",
    name="too_large",
)({"L": ["a", "b"], "b": ["c"], "c": ["a"], "a": ["x"], "x": []})
smallest_graph.wrong("This goes in a circle: a node would wait for its own result.", name="circle")(
    {"L": ["a"], "a": ["L"]}
)
smallest_graph.wrong("There is no L. The root of the graph must have this name.", name="no_root")({"a": ["b"], "b": []})


def what_it_shows(graph):
    """Run the nodes of a graph in the naive order: level by level from L, each as soon as it is first met."""
    inputs = {name: list(graph.get(name, [])) for name in {*graph, *(n for row in graph.values() for n in row)}}
    try:
        tuple(TopologicalSorter(inputs).static_order())
    except CycleError:
        return "a circle"
    if "L" not in inputs:
        return "no L"
    if not inputs["L"] and len(inputs) > 1:
        return "arrows the other way"
    reached = uses("L", inputs)
    inputs = {name: row for name, row in inputs.items() if name in reached}
    if max(uses("L", inputs).values()) < 2:
        return "a chain" if all(len(row) < 2 for row in inputs.values()) else "a tree"
    met, queue = {"L": 0}, ["L"]
    for name in queue:
        new = [n for n in dict.fromkeys(inputs[name]) if n not in met]
        queue += new
        met |= {n: len(met) + i for i, n in enumerate(new)}
    early = {a for b in met for a in inputs[b] if met[a] < met[b]}
    if not any(inputs[a] for a in early):
        return "early, and harmless" if early else "in time"
    return "too early" if len(inputs) <= 4 else "too early, in a large graph"


@smallest_graph.criterion(
    "Level by level from L, some node passes on its gradient before it is complete, and no smaller graph shows this",
    points=2,
    cases=[()],
    measure=what_it_shows,
)
def shown(answer):
    return answer


backward_pass = Exercise("backward_pass", "backward_pass(order, inputs, local)", lesson=3)


@backward_pass.picture
def given_order(T, order, inputs, local):
    return as_tensors(T, order[0], inputs, local)


@backward_pass.right
def accumulate(order, inputs, local):
    grads = {name: 0.0 for name in order}
    grads[order[0]] = 1.0
    for name in order:
        for other, slope in zip(inputs[name], local[name], strict=True):
            grads[other] += grads[name] * slope
    return grads


@backward_pass.right
def accumulate_by_pulling(order, inputs, local):
    grads = {order[0]: 1.0}
    for name in order[1:]:
        grads[name] = sum(
            grads[user] * slope
            for user in order
            if user in grads
            for other, slope in zip(inputs[user], local[user], strict=True)
            if other == name
        )
    return grads


@backward_pass.wrong("A node that is used twice receives two gradients, and you need their sum: write `+=`, not `=`.")
def assigns(order, inputs, local):
    grads = {name: 0.0 for name in order}
    grads[order[0]] = 1.0
    for name in order:
        for other, slope in zip(inputs[name], local[name], strict=True):
            grads[other] = grads[name] * slope
    return grads


@backward_pass.wrong("The seed is missing: dL/dL is 1. Starting from 0, every gradient stays 0.")
def seed_is_zero(order, inputs, local):
    grads = {name: 0.0 for name in order}
    for name in order:
        for other, slope in zip(inputs[name], local[name], strict=True):
            grads[other] += grads[name] * slope
    return grads


@backward_pass.wrong(
    "You started every node with the gradient 1. Only the root starts with 1; the others start with 0."
)
def seed_everywhere(order, inputs, local):
    grads = {name: 1.0 for name in order}
    for name in order:
        for other, slope in zip(inputs[name], local[name], strict=True):
            grads[other] += grads[name] * slope
    return grads


@backward_pass.wrong(
    "You passed on only the local derivative. The chain rule multiplies it by the gradient that the node received."
)
def local_alone(order, inputs, local):
    grads = {name: 0.0 for name in order}
    grads[order[0]] = 1.0
    for name in order:
        for other, slope in zip(inputs[name], local[name], strict=True):
            grads[other] += slope
    return grads


@backward_pass.wrong(
    "In x*x the input appears twice, and each place sends its own gradient. A dict or a set of inputs keeps only one "
    "of them."
)
def square_counted_once(order, inputs, local):
    grads = {name: 0.0 for name in order}
    grads[order[0]] = 1.0
    for name in order:
        for other, slope in dict(zip(inputs[name], local[name], strict=True)).items():
            grads[other] += grads[name] * slope
    return grads


@backward_pass.wrong(
    "Only the root passed its gradient on. Either a `return` inside the loop ended it after one node, or the loop went "
    "through the order from its end, where the nodes have received nothing yet. Backward starts at the root, which "
    "comes first."
)
def from_the_end(order, inputs, local):
    grads = {name: 0.0 for name in order}
    grads[order[0]] = 1.0
    for name in reversed(order):
        for other, slope in zip(inputs[name], local[name], strict=True):
            grads[other] += grads[name] * slope
    return grads


@backward_pass.wrong(
    "You returned the gradients of the leaves. Return the gradient of every node, including the root's 1."
)
def leaves_alone(order, inputs, local):
    return {name: grad for name, grad in accumulate(order, inputs, local).items() if not inputs[name]}


@backward_pass.criterion(
    "Along a chain the local derivatives multiply",
    cases=[(["L", "b", "a"], CHAIN, {"L": [2.0], "b": [5.0], "a": []}), (["L"], ALONE, {"L": []})],
    anything=["local"],
)
def along_a_chain(answer, order, inputs, local):
    return answer(order, inputs, local)


@backward_pass.criterion(
    "Gradients that arrive on several paths are summed",
    points=2,
    cases=[
        (["L", "a", "b", "x"], DIAMOND, {"L": [2.0, 3.0], "a": [5.0], "b": [7.0], "x": []}),
        (["L", "b", "a", "x"], LATE, {"L": [2.0, 3.0], "b": [5.0], "a": [7.0], "x": []}),
    ],
    anything=["local"],
)
def several_paths(answer, order, inputs, local):
    return answer(order, inputs, local)


@backward_pass.criterion(
    "x * x receives a gradient from each factor",
    cases=[(["L", "x", "w"], SQUARE, {"L": [3.0, 3.0], "x": [2.0], "w": []})],
)
def square(answer, order, inputs, local):
    return answer(order, inputs, local)


BOTH = ("tinygrad_edu", "torch")

every_gradient = Exercise("every_gradient", "every_gradient(T, w, x)", lesson=3, engines=BOTH, may_change=("w.grad",))


@every_gradient.right
def retained(T, w, x):
    p = w * x
    d = p - 1
    L = d**2
    for t in (p, d, L):
        t.retain_grad()
    L.backward()
    return {"w": w.grad, "p": p.grad, "d": d.grad, "L": L.grad}


@every_gradient.right
def asked_for(T, w, x):
    p = w * x
    d = p - 1
    L = d * d
    grads = T.autograd.grad(L, [w, p, d], retain_graph=True)
    return dict(zip("wpd", grads, strict=True), L=T.ones_like(L))


@every_gradient.wrong(
    "Values in between have None: the engine drops their gradients as soon as it has passed them on. Call "
    "`retain_grad()` on each *before* backward(), or ask `autograd.grad` for them."
)
def nothing_retained(T, w, x):
    p = w * x
    d = p - 1
    L = d**2
    L.backward()
    return {"w": w.grad, "p": None, "d": None, "L": None}


@every_gradient.wrong(
    "The gradient of L itself is missing: it is the seed, 1, and `retain_grad()` keeps that one, too."
)
def loss_not_retained(T, w, x):
    return retained(T, w, x) | {"L": None}


@every_gradient.wrong("You returned the values of the forward pass. Return their gradients.")
def values(T, w, x):
    p = w * x
    d = p - 1
    return {"w": w.detach(), "p": p.detach(), "d": d.detach(), "L": (d**2).detach()}


@every_gradient.wrong("Everything got the gradient of w. Each value has its own slope: retain it there.")
def one_for_all(T, w, x):
    (((w * x) - 1) ** 2).backward()
    return {name: w.grad for name in ("w", "p", "d", "L")}


@every_gradient.criterion(
    "w, p, d and L have the slope of L seen from there",
    points=3,
    cases=[(2.0, 3.0), (0.5, -4.0), (-1.0, 1.0)],
    anything=["w", "x"],
)
def every_slope(answer, T, w, x):
    found = answer(T, T.tensor(w, requires_grad=True), T.tensor(x))
    detached = {name: grad.detach() if hasattr(grad, "detach") else grad for name, grad in dict(found).items()}
    return {name: float(grad) if hasattr(grad, "detach") else grad for name, grad in detached.items()}


halve_gradient = Exercise("halve_gradient", "halve_gradient(T, y, seen)", lesson=3, engines=BOTH, may_change=("seen",))


@halve_gradient.right
def with_a_function(T, y, seen):
    def hook(grad):
        seen.append(grad)
        return grad / 2

    return y.register_hook(hook)


@halve_gradient.right
def in_one_line(T, y, seen):
    return y.register_hook(lambda grad: seen.append(grad.clone()) or grad * 0.5)


@halve_gradient.wrong(
    "The hook returned nothing, so the gradient went on unchanged. A hook changes it by what it *returns*."
)
def only_looks(T, y, seen):
    return y.register_hook(lambda grad: seen.append(grad))


@halve_gradient.wrong("Nothing was put into `seen`: append the gradient as it arrived.")
def only_halves(T, y, seen):
    return y.register_hook(lambda grad: grad / 2)


@halve_gradient.wrong("You put the halved gradient into `seen`. Put the gradient that *arrived* there.")
def sees_the_half(T, y, seen):
    def hook(grad):
        seen.append(grad / 2)
        return grad / 2

    return y.register_hook(hook)


@halve_gradient.wrong(
    "The hook changed the gradient in place. It does not belong to the hook: others may hold the same tensor, and "
    "theirs is halved too. Return a new tensor."
)
def halves_in_place(T, y, seen):
    def hook(grad):
        seen.append(grad.clone())
        return grad.mul_(0.5)

    return y.register_hook(hook)


@halve_gradient.wrong(
    "`seen` holds the very tensor that you then halved in place, so it shows the half, and so does everyone else who "
    "holds it. Return a new tensor: `grad / 2`."
)
def halves_what_was_seen(T, y, seen):
    def hook(grad):
        seen.append(grad)
        return grad.mul_(0.5)

    return y.register_hook(hook)


@halve_gradient.wrong(
    "The handle is missing: return what `register_hook` returns, and not y, or nobody can remove the hook again."
)
def no_handle(T, y, seen):
    with_a_function(T, y, seen)


@halve_gradient.wrong("You doubled the gradient. Let half of it pass.")
def doubles(T, y, seen):
    return y.register_hook(lambda grad: seen.append(grad.clone()) or grad * 2)


@halve_gradient.criterion(
    "`seen` holds what arrived, and half of it goes on",
    points=2,
    cases=[([3.0], [2.0]), ([1.0, -2.0], [0.5, 4.0])],
    anything=["x", "grad_output"],
)
def on_its_way(answer, T, x, grad_output):
    x, other, grad_output = T.tensor(x, requires_grad=True), T.tensor(x, requires_grad=True), T.tensor(grad_output)
    z, y, seen = other * 2, x * 2, []  # y is recorded last, so its hook runs first
    answer(T, y, seen)
    (y + z).backward(grad_output)  # both receive the very same tensor
    return {"seen": seen, "x.grad": x.grad, "what is beside it": other.grad, "what was handed in": grad_output}


@halve_gradient.criterion("The handle removes the hook", cases=[(3.0,)])
def taken_away(answer, T, x):
    x = T.tensor(x, requires_grad=True)
    y, seen = x * 2, []
    handle = answer(T, y, seen)
    if not hasattr(handle, "remove"):
        return "no handle"
    handle.remove()
    y.backward()
    return len(seen), x.grad
