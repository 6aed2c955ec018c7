"""Lesson 5, the training loop: one parameter w, so that every number can be followed by hand."""

import weakref

from ..exercise import Exercise
from ..running.helpers import intact, opaque

BOTH = ("tinygrad_edu", "torch")

train = Exercise(
    "train", "train(T, w, batches, lr, epochs)", lesson=5, engines=BOTH, seconds=5.0, may_change=("w", "w.grad")
)


@train.right
def plain_loop(T, w, batches, lr, epochs):
    for _ in range(epochs):
        for x, y in batches:
            loss = ((w * x - y) ** 2).mean()
            loss.backward()
            with T.no_grad():
                w -= lr * w.grad
            w.grad = None
    return w


@train.right
def zeroed_before_backward(T, w, batches, lr, epochs):
    for _ in range(epochs):
        for x, y in batches:
            w.grad = None
            ((w * x - y) ** 2).mean().backward()
            w.data -= lr * w.grad
    return w


@train.right
def with_an_optimizer(T, w, batches, lr, epochs):
    optimizer = T.optim.SGD([w], lr=lr)
    for _ in range(epochs):
        for x, y in batches:
            optimizer.zero_grad()
            ((w * x - y) ** 2).mean().backward()
            optimizer.step()
    return w


@train.wrong(
    "The gradient is never zeroed: backward() *adds* into w.grad, so each step uses the sum of all gradients so far. "
    "Zero it before each backward()."
)
def never_zeroed(T, w, batches, lr, epochs):
    for _ in range(epochs):
        for x, y in batches:
            ((w * x - y) ** 2).mean().backward()
            with T.no_grad():
                w -= lr * w.grad
    return w


@train.wrong(
    "You zero the gradient once per epoch. Every batch takes its own step, so zero it for every batch: move that line "
    "into the inner loop."
)
def zeroed_per_epoch(T, w, batches, lr, epochs):
    for _ in range(epochs):
        w.grad = None
        for x, y in batches:
            ((w * x - y) ** 2).mean().backward()
            with T.no_grad():
                w -= lr * w.grad
    return w


@train.wrong("You zero the gradient after backward() and before the step: the step sees zeros, and w never moves.")
def zeroed_after_backward(T, w, batches, lr, epochs):
    for _ in range(epochs):
        for x, y in batches:
            ((w * x - y) ** 2).mean().backward()
            w.grad.zero_()
            with T.no_grad():
                w -= lr * w.grad
    return w


@train.wrong("The step goes uphill: the gradient points to where the loss grows, so subtract it.")
def uphill(T, w, batches, lr, epochs):
    for _ in range(epochs):
        for x, y in batches:
            ((w * x - y) ** 2).mean().backward()
            with T.no_grad():
                w += lr * w.grad
            w.grad = None
    return w


@train.wrong("You took one step per epoch, with the gradients of all batches. Each batch takes its own step.")
def one_step_an_epoch(T, w, batches, lr, epochs):
    for _ in range(epochs):
        w.grad = None
        for x, y in batches:
            ((w * x - y) ** 2).mean().backward()
        with T.no_grad():
            w -= lr * w.grad
    return w


@train.wrong(
    "The loops are swapped: you ran all epochs of the first batch before the second batch. An epoch goes over all "
    "batches, so the loop over the batches belongs inside."
)
def loops_swapped(T, w, batches, lr, epochs):
    return plain_loop(T, w, [batch for batch in batches for _ in range(epochs)], lr, 1)


@train.wrong("The loss is the *mean* of the squared errors. With their sum, a large batch takes a larger step.")
def sum_for_mean(T, w, batches, lr, epochs):
    return plain_loop(T, w, [(x * len(x) ** 0.5, y * len(x) ** 0.5) for x, y in batches], lr, epochs)


@train.wrong("You used only the first batch of each epoch. Is there a `return` or a `break` inside the loop?")
def first_batch_alone(T, w, batches, lr, epochs):
    return plain_loop(T, w, batches[:1], lr, epochs)


@train.wrong(
    "`w = w - …` gives the name w to the result of a subtraction, which is not a leaf. Its .grad stays None, and the "
    "next step fails. Change w in place, under no_grad."
)
def rebinds(T, w, batches, lr, epochs):
    for _ in range(epochs):
        for x, y in batches:
            ((w * x - y) ** 2).mean().backward()
            w = w - lr * w.grad
    return w


@train.criterion(
    "One batch, one step: w moves against the gradient",
    cases=[(1.0, [([1.0], [3.0])], 0.25, 1), (0.0, [([2.0], [1.0])], 0.125, 1), (-1.0, [([0.0], [1.0])], 0.5, 1)],
    anything=["w"],
)
def one_step(answer, T, w, batches, lr, epochs):
    batches = [(T.tensor(x), T.tensor(y)) for x, y in batches]
    return answer(T, T.tensor(w, requires_grad=True), batches, lr, epochs).detach()


@train.criterion(
    "Every step uses the gradient of its own batch",
    points=2,
    cases=[
        (1.0, [([1.0], [3.0])], 0.25, 2),
        (0.0, [([1.0], [2.0]), ([2.0], [2.0])], 0.125, 1),
        (0.0, [([1.0, 2.0], [2.0, 4.0]), ([3.0, 1.0], [6.0, 2.0])], 0.0625, 3),
        (0.0, [([1.0], [2.0]), ([2.0], [2.0])], 0.0625, 2),
        (2.0, [([0.0, -1.0], [1.0, 1.0]), ([1.0, 1.0], [-2.0, 0.0])], 0.25, 2),
        (1.0, [([1.0], [3.0])], 0.25, 0),
    ],
)
def many_steps(answer, T, w, batches, lr, epochs):
    batches = [(T.tensor(x), T.tensor(y)) for x, y in batches]
    return answer(T, T.tensor(w, requires_grad=True), batches, lr, epochs).detach()


sgd_step = Exercise("sgd_step", "sgd_step(T, w, lr)", lesson=5, engines=BOTH, may_change=("w", "w.grad"))


@sgd_step.right
def in_place_under_no_grad(T, w, lr):
    with T.no_grad():
        w -= lr * w.grad
    return w


@sgd_step.right
def through_data(T, w, lr):
    w.data = w.data - lr * w.grad
    return w


@sgd_step.wrong(
    "`w = w - …` is an op of the graph. Its result is not a leaf, and its .grad stays None from the next step on. "
    "Change w in place, under no_grad."
)
def update_in_the_graph(T, w, lr):
    return w - lr * w.grad


@sgd_step.wrong(
    "You moved another tensor, which requires no grad: the result of `w - …` under no_grad, or a copy. The next "
    "backward() finds nothing to train in it, and w did not move. Change w in place: `w -= …`."
)
def rebinding_under_no_grad(T, w, lr):
    with T.no_grad():
        return w - lr * w.grad


@sgd_step.wrong(
    "The new tensor is a leaf that requires grad, but it is no longer the parameter: the model and the optimizer still "
    "hold the old tensor. Change w in place."
)
def a_new_parameter(T, w, lr):
    return (w - lr * w.grad).detach().requires_grad_()


@sgd_step.wrong("The step goes uphill: the gradient points to where the loss grows, so subtract it.")
def step_uphill(T, w, lr):
    with T.no_grad():
        w += lr * w.grad
    return w


@sgd_step.wrong("The learning rate is missing: the step is lr times the gradient.")
def whole_gradient(T, w, lr):
    with T.no_grad():
        w -= w.grad
    return w


@sgd_step.wrong(
    "You may not change a leaf that requires grad in place while gradients are recorded. Do it under no_grad."
)
def outside_of_no_grad(T, w, lr):
    w -= lr * w.grad
    return w


@sgd_step.criterion(
    "w is moved to w - lr · w.grad",
    cases=[(2.0, 0.5, 0.5), (-1.0, 4.0, 0.25), (0.0, -1.0, 1.0), (1.0, 1.0, 0.25), (3.0, 0.0, 0.5)],
)
def moved(answer, T, w, grad, lr):
    parameter = T.tensor(w, requires_grad=True)
    parameter.grad = T.tensor(grad)
    after = answer(T, parameter, lr)
    told = {"w": parameter.detach()}
    if (
        grad and parameter.item() == w and hasattr(after, "is_leaf") and after is not parameter
    ):  # which other tensor was moved?
        told |= {"returned": after.detach(), "is_leaf": after.is_leaf, "requires_grad": after.requires_grad}
    return told


@sgd_step.criterion(
    "It is the same tensor, moved, and still a leaf that requires grad",
    points=2,
    cases=[(2.0, 0.5, 0.5), (0.0, -1.0, 1.0)],
)
def still_the_parameter(answer, T, w, grad, lr):
    parameter = T.tensor(w, requires_grad=True)
    parameter.grad = T.tensor(grad)
    after = answer(T, parameter, lr)
    told = {"is_leaf": parameter.is_leaf, "requires_grad": parameter.requires_grad, "moved": parameter.item() != w}
    if not told["moved"] and hasattr(after, "is_leaf") and after is not parameter:
        told |= {"returned": {"is_leaf": after.is_leaf, "requires_grad": after.requires_grad}}
    return told


log_loss = Exercise("log_loss", "log_loss(T, losses)", lesson=5, engines=BOTH)


@log_loss.right
def numbers(T, losses):
    total, n = 0.0, 0
    for loss in losses:
        total += loss.item()
        n += 1
    return total / n


@log_loss.right
def detached(T, losses):
    kept = [loss.detach() for loss in losses]
    return sum(kept) / len(kept)


@log_loss.wrong(
    "`total += loss` builds a graph over all steps, so the saved tensors of every step stay in memory. Add "
    "`loss.item()` or `loss.detach()`."
)
def keeps_every_graph(T, losses):
    total, n = 0.0, 0
    for loss in losses:
        total = total + loss
        n += 1
    return total / n


@log_loss.wrong(
    "The total, or a list of the losses, kept the graph of every step until the end. Take the number out at every step."
)
def detaches_at_the_end(T, losses):
    return keeps_every_graph(T, losses).detach()


@log_loss.wrong("You returned the sum: divide by the number of losses.")
def total_for_mean(T, losses):
    return sum(loss.item() for loss in losses)


@log_loss.wrong("You returned a list of the losses. Their mean is one number: the sum divided by their count.")
def a_list(T, losses):
    return [loss.item() for loss in losses]


@log_loss.wrong("You returned the last loss. Return the mean of all of them.")
def the_last(T, losses):
    for loss in losses:
        last = loss.item()
    return last


@log_loss.criterion(
    "The result is the mean of the losses", cases=[([1.0, 3.0],), ([2.0, 0.5, 0.5],), ([5.0],)], anything=["values"]
)
def mean_value(answer, T, values):
    class Losses:  # computes each loss when it is asked for, and knows its length
        def __iter__(self):
            return (w * value for value in values)

        def __len__(self):
            return len(values)

        def __getitem__(self, i):
            return w * values[i]

    w = T.tensor(1.0, requires_grad=True)
    mean = answer(T, Losses())
    return mean if isinstance(mean, (list, tuple)) else float(mean.detach() if hasattr(mean, "detach") else mean)


@log_loss.criterion(
    "No graph of an earlier step stays alive",
    points=2,
    cases=[([1.0, 2.0, 3.0, 4.0, 5.0, 6.0],)],
    measure=lambda alive, values: {
        "graphs alive at once during the loop": max(2, *alive[:-1]),
        "graphs alive after it": max(2, alive[-1]),
        "losses that were asked for": min(len(values), len(alive) - 1),
    },
)
def alive_graphs(answer, T, values):
    # ctx lives as long as its node, so a weak reference to it tells whether a step's graph still exists
    class Scale(T.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            steps.append(weakref.ref(ctx))
            return x * factor

        @staticmethod
        def backward(ctx, grad_output):
            return grad_output, None

    def count():
        intact()
        alive.append(sum(step() is not None for step in steps))

    def at(i):
        loss = Scale.apply(w, values[i])
        count()
        return loss

    def losses():
        for i in range(len(values)):
            yield at(i)

    begin, item = opaque(lambda _: losses()), opaque(at)

    class Losses:
        def __iter__(self):
            return begin(None)

        def __len__(self):
            return len(values)

        def __getitem__(self, i):
            return item(i)

    steps, alive, w = [], [], T.tensor(1.0, requires_grad=True)
    mean = answer(T, Losses())
    count()  # while the mean still exists
    del mean
    return alive


accumulate_gradients = Exercise(
    "accumulate_gradients", "accumulate_gradients(T, w, micro_batches)", lesson=5, engines=BOTH, may_change=("w.grad",)
)


@accumulate_gradients.right
def divided_by_k(T, w, micro_batches):
    for x, y in micro_batches:
        loss = ((w * x - y) ** 2).mean() / len(micro_batches)
        loss.backward()


@accumulate_gradients.right
def divided_afterwards(T, w, micro_batches):
    for x, y in micro_batches:
        ((w * x - y) ** 2).mean().backward()
    w.grad /= len(micro_batches)


@accumulate_gradients.wrong(
    "The gradients of k micro-batches add up: the result is k times too large. Divide each loss by k."
)
def not_divided(T, w, micro_batches):
    for x, y in micro_batches:
        ((w * x - y) ** 2).mean().backward()


@accumulate_gradients.wrong(
    "You zero the gradient between micro-batches: only the last one counts. Here adding up is what you want."
)
def zeroed_between(T, w, micro_batches):
    for x, y in micro_batches:
        w.grad = None
        (((w * x - y) ** 2).mean() / len(micro_batches)).backward()


@accumulate_gradients.wrong(
    "You zero the gradient between micro-batches, so only the last one is left, and nothing divides it. Leave the "
    "reset out, and divide each loss by k."
)
def zeroed_and_not_divided(T, w, micro_batches):
    for x, y in micro_batches:
        w.grad = None
        ((w * x - y) ** 2).mean().backward()


@accumulate_gradients.wrong(
    "You reset w.grad after each backward(): what it had added is gone, and nothing is left at the end. Leave the "
    "reset out."
)
def reset_after_each(T, w, micro_batches):
    for x, y in micro_batches:
        (((w * x - y) ** 2).mean() / len(micro_batches)).backward()
        w.grad = None


@accumulate_gradients.wrong(
    "Your `return` stands inside the loop, so the function ends after its first micro-batch. Leave it out."
)
def returns_in_the_loop(T, w, micro_batches):
    for x, y in micro_batches:
        (((w * x - y) ** 2).mean() / len(micro_batches)).backward()
        return


@accumulate_gradients.wrong(
    "You divide w.grad in every turn, so what came first is divided again and again. Divide once, after the loop."
)
def divided_in_the_loop(T, w, micro_batches):
    for x, y in micro_batches:
        ((w * x - y) ** 2).mean().backward()
        w.grad /= len(micro_batches)


@accumulate_gradients.wrong(
    "You divided by the number of samples; each loss is already the mean of its micro-batch. Divide by k, their number."
)
def divided_by_samples(T, w, micro_batches):
    for x, y in micro_batches:
        (((w * x - y) ** 2).mean() / (len(micro_batches) * len(x))).backward()


@accumulate_gradients.wrong(
    "backward() ran once, for all of them. Until then the graph of every micro-batch stays in memory, although "
    "micro-batches are meant to save memory. Call backward() once for each."
)
def one_backward(T, w, micro_batches):
    (sum(((w * x - y) ** 2).mean() for x, y in micro_batches) / len(micro_batches)).backward()


@accumulate_gradients.wrong(
    "You called backward() on the running sum each time, so the first micro-batch counts again and again. Call it only "
    "on the loss of the current micro-batch."
)
def running_sum(T, w, micro_batches):
    total = 0.0
    for x, y in micro_batches:
        total = total + ((w * x - y) ** 2).mean() / len(micro_batches)
        total.backward(retain_graph=True)


@accumulate_gradients.wrong("Each loss is the *mean* over its micro-batch; you took the sum.")
def sum_for_mean_of_a_batch(T, w, micro_batches):
    for x, y in micro_batches:
        (((w * x - y) ** 2).sum() / len(micro_batches)).backward()


@accumulate_gradients.criterion(
    "w.grad is the gradient of the mean over the whole batch",
    points=2,
    cases=[
        (1.0, [([1.0, 2.0], [3.0, 2.0]), ([2.0, 1.0], [0.0, 0.0])]),
        (0.5, [([1.0, 0.0], [1.0, 1.0])] * 4),
        (-1.0, [([2.0], [3.0])]),
    ],
    anything=["w"],
)
def whole_batch(answer, T, w, micro_batches):
    w, passes = T.tensor(w, requires_grad=True), []
    w.register_hook(opaque(lambda grad: passes.append(1)))
    answer(T, w, [(T.tensor(x), T.tensor(y)) for x, y in micro_batches])
    return {"w.grad": w.grad, "passes that reached w": len(passes)}
