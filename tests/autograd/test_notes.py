"""PyTorch's own notes on autograd, section by section: our programs check on both engines what each section describes.

"Autograd mechanics", "Extending PyTorch", "Double backward with custom functions", "Hooks for saved tensors". What the
notes say of complex numbers, of devices and of C++ is not built. The cases around each are in the files beside this one.
"""

from __future__ import annotations

import threading

import numpy as np
from support.both import attempt, leaf, names, same_on_both, values_of

# --- Autograd mechanics --------------------------------------------------------------------------------------------------


@same_on_both
def test_how_autograd_encodes_the_history(T):
    """The graph is made anew in every iteration, by whatever Python does."""
    graphs = []
    for n in range(3):
        x = leaf(T, 1.5)
        y = x
        for _ in range(n):
            y = y * x if n > 1 else y.exp()
        graphs.append((names(y), attempt(lambda y=y: y.backward()), x.grad))
    return graphs


@same_on_both
def test_saved_tensors_an_input_is_itself_and_an_output_is_another_object(T):
    x = leaf(T)
    y, z = x.pow(2), x.exp()
    return (
        x is y.grad_fn._saved_self,
        z.grad_fn._saved_result is z,
        bool((z.grad_fn._saved_result == z).all()),
        z.grad_fn._saved_result.data_ptr() == z.data_ptr(),
    )


@same_on_both
def test_gradients_for_non_differentiable_functions(T):
    """Without a derivative: a subgradient of minimum norm, a continuous extension, or a value defined nearby; else NaN."""
    points = leaf(T, -1.0, 0.0, 1.0)
    functions = {
        "relu": lambda x: x.relu(),
        "abs": lambda x: x.abs(),
        "sign": lambda x: x.sign(),
        "round": lambda x: x.round(),
        "sqrt": lambda x: x.sqrt(),
        "log": lambda x: x.log(),
        "max": lambda x: (x * 0).max(),
        "maximum": lambda x: T.maximum(x, x * 1),
        "clamp": lambda x: x.clamp(min=0.0, max=1.0),
        "floor": lambda x: x.floor(),
        "norm": lambda x: (x * 0).norm(),
    }
    return {name: T.autograd.grad(f(points).sum(), points)[0] for name, f in functions.items()}


@same_on_both
def test_setting_requires_grad_freezes_a_part(T):
    frozen, free = leaf(T, 1.0, 2.0), leaf(T, 3.0, 4.0)
    frozen.requires_grad_(False)
    y = frozen * free
    y.sum().backward()
    late = attempt(lambda: y.requires_grad_(False))
    return frozen.grad, free.grad, (frozen * 2).requires_grad, late


@same_on_both
def test_grad_modes(T):
    x = leaf(T)
    seen = [(x * 2).requires_grad]
    with T.no_grad():
        seen.append((x * 2).requires_grad)
        seen.append(T.ones(1, requires_grad=True).requires_grad)
    with T.inference_mode():
        inside = x * 2
        seen.append(inside.is_inference())
    later = attempt(lambda: inside * x), attempt(lambda: inside.add_(1)), attempt(lambda: inside.requires_grad_())
    return seen, later


@same_on_both
def test_evaluation_mode_is_no_grad_mode(T):
    """`eval()` changes what dropout and batch normalization compute, but nothing about the graph."""
    layer = T.nn.Sequential(T.nn.Linear(2, 2), T.nn.Dropout(0.5), T.nn.BatchNorm1d(2))
    layer.eval()
    for p in layer.parameters():
        T.nn.init.ones_(p)
    y = layer(T.ones(3, 2))
    return y.requires_grad, T.is_grad_enabled(), values_of(y), values_of(T.nn.Dropout(0.5).eval()(T.ones(3)))


@same_on_both
def test_in_place_operations_and_their_correctness_checks(T):
    x = leaf(T)
    wrong, right = x.exp(), x * 2
    wrong.mul_(2)
    right.mul_(2)
    return attempt(lambda: wrong.sum().backward()), attempt(lambda: right.sum().backward()), x.grad, wrong._version


@same_on_both
def test_multithreaded_autograd(T):
    """Passes in several threads add to one leaf; each thread has its own grad mode."""
    x = T.ones(2, dtype=T.float64, requires_grad=True)
    modes, lock = [], threading.Lock()

    def work():
        modes.append(T.is_grad_enabled())
        y = ((x + 3) * 4 * 0.5).sum()
        with lock:
            y.backward()

    with T.no_grad():
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return modes, x.grad


@same_on_both
def test_a_graph_that_two_threads_share_is_freed_by_the_first_pass(T):
    x = leaf(T)
    middle = x.exp()
    errors = []

    def work():
        errors.append(attempt(lambda: middle.sum().backward()))

    for _ in range(2):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    return errors, x.grad


@same_on_both
def test_whether_a_hook_is_fired(T):
    """Hooks do not run where no gradient is needed: for an input that was not requested, or a part without requires_grad."""
    x, w, fired = leaf(T), leaf(T), []
    x.register_hook(lambda g: fired.append("x"))
    w.register_hook(lambda g: fired.append("w"))
    y = x * w
    y.register_hook(lambda g: fired.append("y"))
    T.autograd.grad(y.sum(), x, retain_graph=True)
    first = list(fired)
    y.sum().backward(inputs=[w])
    return first, fired


@same_on_both
def test_the_order_in_which_hooks_are_fired(T):
    """A tensor's hooks run before its node's; pre-hooks before the node, post-hooks after it; in order of registration."""
    x, order = leaf(T), []
    y = x.exp()
    y.grad_fn.register_hook(lambda into, out: order.append("post"))
    y.grad_fn.register_prehook(lambda out: order.append("pre"))
    y.register_hook(lambda g: order.append("tensor"))
    y.retain_grad()
    y.register_hook(lambda g: order.append(("tensor again", y.grad is None)))
    x.register_post_accumulate_grad_hook(lambda leaf: order.append(("accumulated", leaf.grad is not None)))
    x.register_hook(lambda g: order.append("leaf"))
    y.sum().backward()
    return order


@same_on_both
def test_hooks_of_a_tensor_that_is_modified_in_place(T):
    """A hook that was there before sees the gradient of the value before; `retain_grad` moves along."""
    x, seen = leaf(T), []
    y = x * 1
    y.register_hook(lambda g: seen.append(("before", values_of(g))))
    y.retain_grad()
    y.mul_(3)
    y.register_hook(lambda g: seen.append(("after", values_of(g))))
    y.sum().backward()
    return seen, y.grad


@same_on_both
def test_a_pass_in_the_thread_that_asks_for_it(T):
    x, threads = leaf(T), []
    x.register_hook(lambda g: threads.append(threading.current_thread() is threading.main_thread()))
    with T.autograd.set_multithreading_enabled(False):
        x.exp().sum().backward()
    T.autograd.set_multithreading_enabled(False)(lambda: x.exp().sum().backward())()
    T.autograd.set_multithreading_enabled(True)  # as a function it is set at once, and stays
    return threads, x.grad


# --- Hooks for saved tensors ---------------------------------------------------------------------------------------------


@same_on_both
def test_hooks_for_saved_tensors_of_one_tensor_and_by_default(T):
    x, seen = leaf(T), []
    y = x.pow(2)
    y.grad_fn._raw_saved_self.register_hooks(lambda t: t * 4, lambda t: t / 2)
    y.sum().backward()
    twice = x.grad.clone()
    with T.autograd.graph.saved_tensors_hooks(lambda t: seen.append(tuple(t.shape)) or t.numpy(force=True), T.tensor):
        z = x.sin() * x
    z.sum().backward()
    return twice, x.grad, seen


@same_on_both
def test_hooks_for_saved_tensors_may_be_disabled_and_nest(T):
    x, seen = leaf(T), []

    def hooks(label):
        return T.autograd.graph.saved_tensors_hooks(lambda t: seen.append(label) or t, lambda t: t)

    with hooks("outer"), hooks("inner"):
        (x * x).sum().backward()

    def nested():
        with T.autograd.graph.disable_saved_tensors_hooks("not here"), hooks("never"):
            return x * x

    return seen, attempt(nested)


# --- Extending PyTorch ---------------------------------------------------------------------------------------------------


@same_on_both
def test_a_linear_function_with_an_optional_bias(T):
    class Linear(T.autograd.Function):
        @staticmethod
        def forward(input, weight, bias):
            out = input.mm(weight.t())
            return out if bias is None else out + bias.unsqueeze(0).expand_as(out)

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, grad):
            input, weight, bias = ctx.saved_tensors
            into, by, plus = ctx.needs_input_grad
            return (
                grad.mm(weight) if into else None,
                grad.t().mm(input) if by else None,
                grad.sum(0) if bias is not None and plus else None,
            )

    x, w, b = leaf(T, [[1.0, 2.0]]), leaf(T, [[0.5, -1.0], [2.0, 3.0]]), leaf(T, [0.1, 0.2])
    Linear.apply(x, w, b).sum().backward()
    return x.grad, w.grad, b.grad, T.autograd.gradcheck(Linear.apply, (x, w, b)), Linear.apply(x, w, None)


@same_on_both
def test_an_argument_that_is_not_a_tensor_and_gradients_that_are_not_materialised(T):
    class Scale(T.autograd.Function):
        @staticmethod
        def forward(ctx, x, k):
            ctx.set_materialize_grads(False)
            ctx.k = k
            return x * k, x * 1

        @staticmethod
        def backward(ctx, grad, other):
            return (None if grad is None else grad * ctx.k), None

    x = leaf(T)
    first, second = Scale.apply(x, 5)
    first.sum().backward()
    return x.grad, attempt(lambda: Scale.apply(x, 5)[1].sum().backward()), x.grad, names(second)


@same_on_both
def test_forward_mode_of_a_function(T):
    class Cube(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.save_for_forward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, grad):
            return 3 * ctx.saved_tensors[0] ** 2 * grad

        @staticmethod
        def jvp(ctx, tangent):
            return 3 * ctx.saved_tensors[0] ** 2 * tangent

    fw = T.autograd.forward_ad
    with fw.dual_level():
        dual = fw.make_dual(T.tensor([2.0, 3.0], dtype=T.float64), T.tensor([1.0, 0.5], dtype=T.float64))
        tangent = fw.unpack_dual(Cube.apply(dual)).tangent
    return values_of(tangent), T.autograd.gradcheck(Cube.apply, leaf(T), check_forward_ad=True)


# --- Double backward with custom functions -------------------------------------------------------------------------------


def third(T, function):
    """The first three derivatives of `function`, at some points."""
    y = x = leaf(T)
    found = []
    y = function(x)
    for _ in range(3):
        if not y.requires_grad:
            break
        (y,) = T.autograd.grad(y.sum(), x, create_graph=True, allow_unused=True)
        if y is None:
            break
        found.append(values_of(y))
    return found


@same_on_both
def test_saving_the_inputs(T):
    class Square(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2 * ctx.saved_tensors[0]

    return third(T, Square.apply), T.autograd.gradgradcheck(Square.apply, leaf(T))


@same_on_both
def test_saving_the_outputs(T):
    class Exp(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            result = T.exp(x)
            ctx.save_for_backward(result)
            return result

        @staticmethod
        def backward(ctx, grad):
            return ctx.saved_tensors[0] * grad

    return third(T, Exp.apply), T.autograd.gradgradcheck(Exp.apply, leaf(T))


@same_on_both
def test_saving_intermediate_results_as_outputs(T):
    class Sinh(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            up, down = T.exp(x), T.exp(-x)
            ctx.save_for_backward(up, down)
            return (up - down) / 2, up, down

        @staticmethod
        def backward(ctx, grad, grad_up, grad_down):
            up, down = ctx.saved_tensors
            return grad * (up + down) / 2 + grad_up * up - grad_down * down

    def sinh(x):
        return Sinh.apply(x)[0]

    return third(T, sinh), T.autograd.gradcheck(sinh, leaf(T)), T.autograd.gradgradcheck(sinh, leaf(T))


@same_on_both
def test_saving_intermediate_results_that_are_no_outputs_is_silently_wrong_and_gradgradcheck_tells(T):
    class Sinh(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            up, down = T.exp(x), T.exp(-x)
            ctx.up, ctx.down = up, down
            return (up - down) / 2

        @staticmethod
        def backward(ctx, grad):
            return grad * (ctx.up + ctx.down) / 2

    x = leaf(T)
    first = T.autograd.gradcheck(Sinh.apply, x)
    return third(T, Sinh.apply), first, attempt(lambda: T.autograd.gradgradcheck(Sinh.apply, x))[0]


@same_on_both
def test_when_backward_is_not_tracked(T):
    """A rule that computes outside autograd must say that it is only differentiable once."""

    class Cos(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return T.tensor(np.sin(x.detach().numpy()))

        @staticmethod
        @T.autograd.function.once_differentiable
        def backward(ctx, grad):
            return T.tensor(grad.numpy() * np.cos(ctx.saved_tensors[0].detach().numpy()))

    x = leaf(T)
    (g,) = T.autograd.grad(Cos.apply(x).sum(), x, create_graph=True)
    return values_of(g), attempt(lambda: g.sum().backward())
