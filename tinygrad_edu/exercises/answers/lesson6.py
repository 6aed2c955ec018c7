"""Lesson 6, stopping gradients: what still receives a gradient, and what must not."""

from ..exercise import Exercise

BOTH = ("tinygrad_edu", "torch")

freeze_middle = Exercise(
    "freeze_middle",
    "freeze_middle(T, w1, w2, w3, x)",
    lesson=6,
    engines=BOTH,
    may_change=("w1.requires_grad", "w2.requires_grad", "w3.requires_grad"),
)


@freeze_middle.right
def parameter_frozen(T, w1, w2, w3, x):
    w2.requires_grad_(False)
    return w3 * T.tanh(w2 * T.tanh(w1 * x))


@freeze_middle.right
def parameter_detached(T, w1, w2, w3, x):
    return w3 * T.tanh(w2.detach() * T.tanh(w1 * x))


@freeze_middle.wrong(
    "w1 gets no gradient: its path to the loss ends at the middle layer or before it, under no_grad or at a detach(). "
    "Freeze the parameter w2, not the computation: the layer's input must stay connected."
)
def under_no_grad(T, w1, w2, w3, x):
    h = T.tanh(w1 * x)
    with T.no_grad():
        h = T.tanh(w2 * h)
    return w3 * h


@freeze_middle.wrong(
    "No parameter receives a gradient: all of them are frozen, or nothing was recorded. Freeze only w2."
)
def freezes_all(T, w1, w2, w3, x):
    for w in (w1, w2, w3):
        w.requires_grad_(False)
    return w3 * T.tanh(w2 * T.tanh(w1 * x))


@freeze_middle.wrong("Nothing is frozen: w2 still receives a gradient.")
def freezes_nothing(T, w1, w2, w3, x):
    return w3 * T.tanh(w2 * T.tanh(w1 * x))


@freeze_middle.wrong("You froze the first layer. The middle one is w2.")
def freezes_the_first(T, w1, w2, w3, x):
    return w3 * T.tanh(w2 * T.tanh(w1.detach() * x))


@freeze_middle.criterion(
    "The output is the output of all three layers", cases=[(0.5, 2.0, -1.0, 1.0)], anything=["w1", "w2", "w3", "x"]
)
def layers_value(answer, T, w1, w2, w3, x):
    w1, w2, w3 = (T.tensor(w, requires_grad=True) for w in (w1, w2, w3))
    return answer(T, w1, w2, w3, T.tensor(x)).detach()


@freeze_middle.criterion(
    "w1 and w3 receive gradients, w2 does not",
    points=2,
    cases=[(0.5, 2.0, -1.0, 1.0), (-1.0, 0.5, 2.0, 0.5)],
    anything=["w1", "w2", "w3", "x"],
)
def layers_grads(answer, T, w1, w2, w3, x):
    w1, w2, w3 = (T.tensor(w, requires_grad=True) for w in (w1, w2, w3))
    out = answer(T, w1, w2, w3, T.tensor(x))
    if out.requires_grad:
        out.backward()
    return {"w1.grad": w1.grad, "w2.grad": w2.grad, "w3.grad": w3.grad}


stop_gradient = Exercise("stop_gradient", "stop_gradient(T, y)", lesson=6, engines=BOTH)


@stop_gradient.right
def detach(T, y):
    return y.detach()


@stop_gradient.right
def detach_of_an_alias(T, y):
    return y.view(y.shape).detach()


@stop_gradient.wrong(
    "The result has the same numbers but a version counter of its own, as `.data` and a way through NumPy give it: a "
    "later in-place change goes unnoticed, and the gradient is silently wrong. `detach()` shares the counter, so "
    "backward() raises."
)
def data(T, y):
    return y.data


@stop_gradient.wrong(
    "Gradients still flow through the result. `clone()` is an op of the graph like any other, and no_grad affects only "
    "what is computed under it: y was computed before."
)
def clone(T, y):
    return y.clone()


@stop_gradient.wrong(
    "This copies the numbers: it stops the gradient, but it no longer shares memory with y. `detach()` costs no copy."
)
def copy(T, y):
    return y.detach().clone()


@stop_gradient.wrong("You can set `requires_grad = False` only on a leaf. For the result of an op, use `detach()`.")
def requires_grad_false(T, y):
    y.requires_grad = False
    return y


@stop_gradient.criterion(
    "No gradient flows through the result", points=2, cases=[(3.0, 2.0), (-1.0, 5.0)], anything=["w", "v"]
)
def stopped(answer, T, w, v):
    w, v = T.tensor([w], requires_grad=True), T.tensor([v], requires_grad=True)
    y = w * 2.0
    (answer(T, y) * v + y).sum().backward()
    return {"w.grad": w.grad, "v.grad": v.grad}


@stop_gradient.criterion("A later in-place change of y is noticed by backward()", cases=[(3.0, 2.0)])
def noticed(answer, T, w, v):
    w, v = T.tensor([w], requires_grad=True), T.tensor([v], requires_grad=True)
    y = w * 2.0
    product = answer(T, y) * v
    with T.no_grad():
        y.mul_(10.0)
    product.sum().backward()
    return v.grad


td_loss = Exercise("td_loss", "td_loss(T, w, state, reward, next_state, gamma)", lesson=6, engines=BOTH)


@td_loss.right
def target_detached(T, w, state, reward, next_state, gamma):
    target = reward + gamma * (w * next_state).detach()
    return (w * state - target) ** 2


@td_loss.right
def target_under_no_grad(T, w, state, reward, next_state, gamma):
    with T.no_grad():
        target = reward + gamma * (w * next_state)
    return (target - w * state) ** 2


@td_loss.wrong(
    "Nothing is detached, so the target also moves towards the prediction. The target must count as a constant: detach "
    "it."
)
def nothing_detached(T, w, state, reward, next_state, gamma):
    return (w * state - (reward + gamma * w * next_state)) ** 2


@td_loss.wrong("The wrong branch is detached: the prediction `w * state` must learn, and the target must stand still.")
def wrong_branch(T, w, state, reward, next_state, gamma):
    return ((w * state).detach() - (reward + gamma * w * next_state)) ** 2


@td_loss.wrong(
    "No gradient is left, so nothing learns: w gets none from the prediction either. Only the target must stand still: "
    "detach it, and nothing else."
)
def both_detached(T, w, state, reward, next_state, gamma):
    return (w.detach() * state - (reward + gamma * w.detach() * next_state)) ** 2


@td_loss.wrong("gamma is missing: the value of the next state counts gamma times.")
def without_gamma(T, w, state, reward, next_state, gamma):
    return (w * state - (reward + (w * next_state).detach())) ** 2


@td_loss.criterion(
    "Loss and gradient are those of a fixed target",
    points=2,
    cases=[(2.0, 1.0, 1.0, 2.0, 0.5), (0.5, 3.0, -1.0, 1.0, 0.25)],
    anything=["w", "state", "reward", "next_state", "gamma"],
    random=lambda rng: (*rng.uniform(-2, 2, size=4).round(1).tolist(), 0.5),
)
def fixed_target(answer, T, w, state, reward, next_state, gamma):
    w = T.tensor(w, requires_grad=True)
    loss = answer(T, w, T.tensor(state), reward, T.tensor(next_state), gamma)
    if loss.requires_grad:
        loss.backward()
    return {"loss": loss.detach(), "w.grad": w.grad}


truncated_rnn = Exercise("truncated_rnn", "truncated_rnn(T, w, inputs)", lesson=6, engines=BOTH, may_change=("w.grad",))


@truncated_rnn.right
def detached_state(T, w, inputs):
    h = T.tensor(0.0)
    for x in inputs:
        h = T.tanh(w * h.detach() + x)
        (h**2).backward()
    return h


@truncated_rnn.right
def detached_after_backward(T, w, inputs):
    h = T.tensor(0.0)
    for x in inputs:
        h = T.tanh(w * h + x)
        (h * h).backward()
        h = h.detach()
    return h


@truncated_rnn.wrong(
    "Each loss went back through all the steps before it, so the gradient is different. This happens with "
    "`retain_graph=True`, or with one backward() for the sum of the losses, and it is slower with each step. Detach "
    "the state."
)
def retain_graph(T, w, inputs):
    h = T.tensor(0.0)
    for x in inputs:
        h = T.tanh(w * h + x)
        (h**2).backward(retain_graph=True)
    return h


@truncated_rnn.wrong(
    "The state still carries the last step's graph, whose saved tensors are freed: 'Trying to backward through the "
    "graph a second time'. Detach the state before the next step."
)
def state_not_detached(T, w, inputs):
    h = T.tensor(0.0)
    for x in inputs:
        h = T.tanh(w * h + x)
        (h**2).backward()
    return h


@truncated_rnn.wrong("You compute the state under no_grad, so w gets no gradient from it. Detach only the *old* state.")
def state_under_no_grad(T, w, inputs):
    h = T.tensor(0.0)
    for x in inputs:
        with T.no_grad():
            h = T.tanh(w * h + x)
    return h


@truncated_rnn.criterion(
    "The last state is right", cases=[(0.5, [1.0]), (2.0, [0.5]), (0.5, [1.0, 0.5, -0.25])], anything=["w", "inputs"]
)
def last_state(answer, T, w, inputs):
    last = answer(T, T.tensor(w, requires_grad=True), [T.tensor(x) for x in inputs])
    return last if last is None else float(last.detach())


@truncated_rnn.criterion(
    "w.grad sums the gradients of single steps",
    points=2,
    cases=[(0.5, [1.0, 0.5]), (0.5, [1.0, 0.5, -0.25]), (2.0, [0.5, 0.5])],
    anything=["w", "inputs"],
)
def one_step_gradients(answer, T, w, inputs):
    w = T.tensor(w, requires_grad=True)
    answer(T, w, [T.tensor(x) for x in inputs])
    return w.grad


straight_through = Exercise("straight_through", "straight_through(T, x)", lesson=6, engines=BOTH)


@straight_through.right
def difference_detached(T, x):
    return x + (T.round(x) - x).detach()


@straight_through.right
def rounded_under_no_grad(T, x):
    with T.no_grad():
        step = T.round(x) - x
    return step + x


@straight_through.wrong(
    "The value is right, but no gradient comes back to x: everything is detached, or computed under no_grad. Detach "
    "only the *difference* between the rounded value and x, so that x itself carries the gradient."
)
def all_detached(T, x):
    return (x + T.round(x) - x).detach()


@straight_through.wrong("round() is flat: its gradient is 0 everywhere, so nothing learns. Let x carry the gradient.")
def plain_round(T, x):
    return T.round(x)


@straight_through.wrong("The gradient is right, but the value is x itself. Round it in the forward pass.")
def not_rounded(T, x):
    return x * 1.0


@straight_through.wrong(
    "The two are swapped: the value is x, and the gradient is that of round, 0. The part outside `detach()` carries "
    "the gradient."
)
def exchanged(T, x):
    return T.round(x) + (x - T.round(x)).detach()


@straight_through.criterion("The value is rounded", cases=[([0.3, 1.75],), ([-1.25, 2.0],), ([0.75],)], anything=["x"])
def rounded(answer, T, x):
    return answer(T, T.tensor(x, requires_grad=True)).detach()


@straight_through.criterion(
    "The gradient passes straight through",
    points=2,
    cases=[([0.3], [1.0]), ([0.3, 1.75], [2.0, -1.0])],
    anything=["x", "weights"],
)
def through(answer, T, x, weights):
    x = T.tensor(x, requires_grad=True)
    y = (answer(T, x) * T.tensor(weights)).sum()
    if y.requires_grad:
        y.backward()
    return x.grad
