"""The bank of questions: programs with numbers.

The right answer is computed; the wrong ones are misconceptions. A template is one question with several sets of
numbers. Nobody writes down what is right: the program runs, and an expression is read. A wrong answer is what somebody
would get who believes something false, so it says what that is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

RAISES = "it raises"
VARIANTS = 5


@dataclass(frozen=True)
class Wrong:
    """A wrong answer: an expression in the template's numbers, or a text, and what it would take to believe it."""

    answer: str
    misconception: str
    reply: str


@dataclass(frozen=True)
class Template:
    """A question for several sets of numbers.

    `program` runs with `T` as the engine; `told` is the question's text; `right` is an expression, read afterwards.
    """

    name: str
    lesson: int
    numbers: str
    sets: tuple[tuple[float, ...], ...]
    program: str
    told: str
    right: str
    reply: str
    wrong: tuple[Wrong, ...]

    def given(self, variant: int) -> dict[str, float]:
        """One set of numbers, by name."""
        return dict(zip(self.numbers.split(), self.sets[variant % len(self.sets)], strict=True))


@dataclass(frozen=True)
class Question:
    """A question to ask: its text, the reply to each choice, the right choice, and each wrong one's misconception."""

    template: Template
    variant: int
    text: str
    choices: Mapping[str, str]
    right: str
    misconceptions: Mapping[str, str]


def question(template: Template, variant: int, engine: Any) -> Question:
    """A template with one set of numbers; the right answer is computed on an engine, such as `tinygrad_edu`."""
    given = template.given(variant)
    plain = {name: f"{value:g}" for name, value in given.items()}
    right = computed(template, given, engine)
    wrongs = {_text(one.answer, given): one for one in template.wrong}
    choices = {
        right: _filled(template.reply, plain),
        **{text: _filled(one.reply, plain) for text, one in wrongs.items()},
    }
    ordered = dict(sorted(choices.items(), key=lambda choice: (choice[0] == RAISES, _rank(choice[0]))))
    named = {text: one.misconception for text, one in wrongs.items()}
    return Question(template, variant, _filled(template.told, plain), ordered, right, named)


def computed(template: Template, given: Mapping[str, float], engine: Any) -> str:
    """The right answer on an engine: what the expression gives after the program, or that the program raises."""
    names: dict[str, Any] = {"T": engine, "number": _number}
    plain = {name: f"{value:g}" for name, value in given.items()}
    try:
        exec(_filled(template.program, plain), names)
    except RuntimeError:
        return RAISES
    return _shown(eval(_filled(template.right, plain), names))


def every(engine: Any) -> Iterator[Question]:
    """Every question of the bank."""
    for template in TEMPLATES:
        for variant in range(len(template.sets)):
            yield question(template, variant, engine)


def _filled(text: str, plain: Mapping[str, str]) -> str:
    for name, value in plain.items():
        text = text.replace(f"<{name}>", value)
    return text


def _text(answer: str, given: Mapping[str, float]) -> str:
    """A wrong answer as a choice shows it: an expression in the numbers is computed, any other text stays."""
    if answer.startswith("="):
        return _shown(eval(answer[1:], {"__builtins__": {}}, dict(given)))
    return answer


def _shown(value: Any) -> str:
    if isinstance(value, (bool, str)) or value is None:
        return str(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_shown, value))}]"
    return f"{_number(value):.4g}"


def _number(value: Any) -> float:
    return float(value.item() if hasattr(value, "item") else value) + 0.0


def _rank(text: str) -> tuple[bool, float, str]:
    try:
        return False, float(text), ""
    except ValueError:
        return True, 0.0, text


def _template(text: str) -> Template:
    title, numbers, *lines = re.sub(r"\n  (?! )", " ", text).split("\n")
    lesson, name = title.split(". ")
    names, sets = numbers.split(" = ")
    marked = {mark: [line[2:] for line in lines if line.startswith(mark)] for mark in "?+-"}
    right, reply = marked["+"][0].split(" | ")
    return Template(
        name=name,
        lesson=int(lesson),
        numbers=names,
        sets=tuple(tuple(float(n) if "." in n else int(n) for n in row.split()) for row in sets.split(", ")),
        program="\n".join(line[4:] for line in lines if line.startswith("    ")),
        told=marked["?"][0],
        right=right,
        reply=reply,
        wrong=tuple(Wrong(*line.split(" | ")) for line in marked["-"]),
    )


# Of each question: its lesson and name; its numbers, in sets; the program; `?` the question; `+` what is read and the
# reply to it; `-` the wrong answers, each with its misconception and the reply. A line indented by two goes on.
_BANK = """
1. slope of a product
a b = 3 2, 5 4, 2 7, 4 3, 6 5
    w = T.tensor(<a>., requires_grad=True)
    x = T.tensor(<b>.)
    y = w * x
    y.backward()
? `w = <a>`, `x = <b>`, `y = w * x`. What is `w.grad`?
+ w.grad | Yes: if w rises by 0.01, y rises by <b> times as much.
- =a | own-value | That is w itself. What multiplies w is x, and that is the slope.
- =a * b | value-for-slope | That is y. The slope says how fast y moves, not where it is.
- 1 | slope-is-one | That would be so for a sum. A product stretches by the other factor.

1. chain of two slopes
a b = 3 2, 1 4, 3 5, 4 3, 5 6
    w = T.tensor(<a>., requires_grad=True)
    y = (w * <b>) ** 2
    y.backward()
? `w = <a>` and `y = (w * <b>) ** 2`. What is `w.grad`?
+ w.grad | Yes: the slope of the square, times the slope of what is squared.
- =2 * a * b | inner-slope-forgotten | That is the slope of the square alone. What is squared grows <b> times as fast as
  w.
- =(a * b) ** 2 | value-for-slope | That is y, not its slope.
- =2 * a | outer-argument | That squares w alone, before the factor.

1. a closed relu
a k = 3 2, 1 4, 2 5, 4 3, 5 6
    x = T.tensor(-<a>., requires_grad=True)
    y = T.relu(x * <k>)
    y.backward()
? `x = -<a>` and `y = relu(x * <k>)`. What is `x.grad`?
+ x.grad | Yes: relu is flat below 0, so nothing passes.
- =k | relu-passes-always | That is the slope of x * <k>. But relu is flat where its input is negative.
- =-k | sign-of-input | The sign of the input decides whether a gradient passes, not its sign.

2. a result is no leaf
a b = 3 2, 5 4, 2 7, 4 3, 6 5
    w = T.tensor(<a>., requires_grad=True)
    y = w * <b>
? `w = tensor(<a>., requires_grad=True)` and `y = w * <b>`. What is `y.is_leaf`?
+ y.is_leaf | Yes: y was recorded, so it has a node, and is not where a graph begins.
- True | every-tensor-is-a-leaf | A leaf was made by nobody, or by nothing that requires a gradient. y was recorded.

2. a result without history
a b = 3 2, 5 4, 2 7, 4 3, 6 5
    x = T.tensor(<a>.)
    y = x * <b>
? `x = tensor(<a>.)`, without `requires_grad`, and `y = x * <b>`. What is `y.is_leaf`?
+ y.is_leaf | Yes: nothing in it requires a gradient, so nothing was recorded.
- False | computed-is-no-leaf | It was computed, but not recorded: nothing in it requires a gradient.

2. the last op names the node
a b = 3 2, 5 4, 2 7, 4 3, 6 5
    w = T.tensor(<a>., requires_grad=True)
    y = w * <b> + 1
    name = y.grad_fn.name()
? `w = <a>` requires a gradient, and `y = w * <b> + 1`. What is `y.grad_fn`?
+ name | Yes: the node of the last op. The product's is behind it.
- MulBackward0 | first-op | That is the node behind it: `y.grad_fn.next_functions[0][0]`.
- AccumulateGrad | leaf-node | That belongs to the leaf w, at the end of the way back.
- None | no-node-before-backward | The node is made in the forward pass, when the op runs.

2. what no_grad computes is a constant
a = 3, 6, 5, 4, 7
    w = T.tensor(<a>., requires_grad=True)
    with T.no_grad():
        c = w * w
    y = c * w
    y.backward()
? `w = <a>`. Under `no_grad`, `c = w * w`. After the block, `y = c * w`. What is `w.grad`?
+ w.grad | Yes: c counts as the number that it was, and only the last product was recorded.
- =3 * a ** 2 | no-grad-is-seen-through | That is the slope of w³. But what ran under no_grad was not recorded.
- =2 * a | wrong-part-kept | That is the slope of c, which is the part that was not recorded.
- it raises | no-grad-poisons | The last product ran outside of the block, and was recorded.

3. two ways meet
a k = 3 2, 1 4, 2 3, 4 2, 1 5
    x = T.tensor(<a>., requires_grad=True)
    b = x * <k>
    y = b * b + b
    y.backward()
? `x = <a>`, `b = x * <k>`, `y = b * b + b`. What is `x.grad`?
+ x.grad | Yes: b receives 2b from the square and 1 from the sum, and passes on <k> times as much.
- =k * 2 * a * k | last-way-lost | b is also added. The gradient of that way, 1, is missing.
- =k | first-way-only | That is what comes through the sum alone. The square sends 2b as well.
- =2 * a * k + 1 | inner-slope-forgotten | That is the gradient of b. x moves b <k> times as fast.

3. gradients add up
a b = 3 2, 5 4, 2 7, 4 3, 6 5
    w = T.tensor(1., requires_grad=True)
    (w * <a>).backward()
    (w * <b>).backward()
? `(w * <a>).backward()`, and then `(w * <b>).backward()`. What is `w.grad`?
+ w.grad | Yes: a leaf keeps the sum, until you clear it.
- =b | backward-overwrites | That would be the second gradient alone. backward adds to what is there.
- =a * b | gradients-multiply | Slopes of one way multiply. These are two losses, one after the other.
- it raises | second-backward-raises | Each pass has a graph of its own, so nothing was freed that is needed.

3. the gradient of an intermediate
a k = 3 2, 1 4, 2 5, 4 3, 5 6
    w = T.tensor(<a>., requires_grad=True)
    y = w * <k>
    z = y * y
    z.backward()
    import warnings
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        got = y.grad
? `w = <a>`, `y = w * <k>`, `z = y * y`, `z.backward()`. What is `y.grad`?
+ got | Yes: y is no leaf. Its gradient passed through and was not kept; `y.retain_grad()` would keep it.
- =2 * a * k | intermediates-keep-grad | That number did pass through y. But only leaves keep their gradient.
- 0 | none-is-zero | No gradient was kept. That is None, which is not 0.

4. a number that is used for each element
a b c = 1 2 4, 3 1 6, 2 6 3, 4 3 8, 5 2 4
    s = T.tensor(2., requires_grad=True)
    x = T.tensor([<a>., <b>., <c>.])
    y = (x * s).sum()
    y.backward()
? `x = [<a>, <b>, <c>]`, `s = 2`, `y = (x * s).sum()`. What is `s.grad`?
+ s.grad | Yes: s was used three times, and three gradients are added.
- =[a, b, c] | no-unbroadcast | These are the three gradients. A gradient has the shape of its tensor: they are summed.
- =(a + b + c) / 3 | broadcast-is-averaged | They are added, not averaged: each use moves the loss by its own amount.
- 3 | counts-uses | That is how often s was used. Each use counts with its factor.

4. the gradient of a mean
n = 4, 5, 8, 10, 2
    x = T.ones(<n>).requires_grad_()
    y = x.mean()
    y.backward()
? `x` has <n> elements, and `y = x.mean()`. What is `x.grad[0]`?
+ x.grad[0] | Yes: if one element rises, the mean rises by one <n>th of that.
- 1 | mean-as-sum | That would be the sum. The mean divides by <n>.
- =n | inverse | The mean divides by <n>; it does not multiply.

4. backward from a vector
a b = 3 2, 5 4, 2 7, 4 3, 6 5
    x = T.tensor([1., <a>.], requires_grad=True)
    y = x * <b>
    y.backward()
    got = x.grad[0]
? `x = [1, <a>]`, `y = x * <b>`, `y.backward()`. What is `x.grad[0]`?
+ got | Yes: y is no single number, so nobody knows what should go down. Give it a gradient, or sum it.
- =b | vector-is-summed | That is what y.sum().backward() gives. y alone is no single number.
- 1 | seed-for-each | Ones are the first gradient only where you say so: y.backward(ones).

5. two steps without clearing
k = 1, 2, 3, 4, 5
    w = T.tensor(10., requires_grad=True)
    for _ in range(2):
        (w * <k>).backward()
        with T.no_grad():
            w -= w.grad
? `w = 10`. Twice: `(w * <k>).backward()`, then `w -= w.grad` under `no_grad`. `w.grad` is never cleared. What is `w`?
+ w | Yes: the second step uses the sum of both gradients.
- =10 - 2 * k | backward-overwrites | So it would be if each step began with an empty gradient.
- =10 - k | second-step-lost | The second pass runs, too, and adds to what is there.

5. a weight that was bound anew
k = 2, 3, 4, 5, 6
    w = T.tensor(10., requires_grad=True)
    (w * <k>).backward()
    w = w - 0.1 * w.grad
    (w * <k>).backward()
    import warnings
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        got = w.grad
? `(w * <k>).backward()`, then `w = w - 0.1 * w.grad`, then `(w * <k>).backward()` again. What is `w.grad`?
+ got | Yes: w is now the result of a subtraction, and no leaf. Its gradient went on to the old w.
- =k | rebinding-updates | The name w now stands for a result. Only the old leaf keeps gradients.
- =2 * k | rebinding-accumulates | The old leaf holds that. The name w stands for something else now.

5. one step of descent
a k = 3 2, 5 4, 4 5, 4 3, 5 6
    w = T.tensor(<a>., requires_grad=True)
    (w * <k>).backward()
    with T.no_grad():
        w -= 0.5 * w.grad
? `w = <a>`, the loss is `w * <k>`, and the learning rate 0.5. What is `w` after one step?
+ w | Yes: half of the gradient <k> is taken away.
- =a + 0.5 * k | ascent | That climbs. The gradient points uphill, and we go the other way.
- =a - k | rate-forgotten | That is a whole gradient. The rate is 0.5.
- =a - 0.5 * a * k | loss-for-gradient | That takes the loss for the gradient.

6. one of two ways is cut
a = 3, 2, 5, 4, 7
    w = T.tensor(<a>., requires_grad=True)
    y = w * w.detach()
    y.backward()
? `w = <a>` and `y = w * w.detach()`. What is `w.grad`?
+ w.grad | Yes: the detached factor counts as the number <a>.
- =2 * a | detach-is-seen-through | That is the slope of w². One of the two ways was cut.
- 0 | detach-cuts-everything | Only the way through the detached factor is cut.
- None | detach-changes-its-tensor | detach gives another tensor. w itself still requires a gradient.

6. an input that asks for nothing
a b = 3 2, 5 4, 2 7, 4 3, 6 5
    w = T.tensor(<a>., requires_grad=True)
    x = T.tensor(<b>.)
    (w * x).backward()
? `w = <a>` requires a gradient, `x = <b>` does not. After `(w * x).backward()`, what is `x.grad`?
+ x.grad | Yes: nobody asked for it, so it was not computed.
- =a | everything-gets-a-gradient | That would be its slope. It was never computed: x requires no gradient.
- 0 | none-is-zero | Nothing was computed. That is None, which is not 0.

6. a loss without history
a b = 3 2, 5 4, 2 7, 4 3, 6 5
    w = T.tensor(<a>., requires_grad=True)
    with T.no_grad():
        loss = w * <b>
    loss.backward()
    got = w.grad
? `w = <a>` requires a gradient. Under `no_grad`, `loss = w * <b>`. Then `loss.backward()`. What is `w.grad`?
+ got | Yes: nothing was recorded, so there is no way back.
- =b | no-grad-is-seen-through | The product was not recorded, so nobody knows its slope.
- None | silence | It does not pass in silence: backward has nothing to begin with.
- 0 | no-grad-is-zero | no_grad is no zero gradient. It is no gradient, and no graph.

6. a target that does not move
a k b = 3 2 4, 2 5 1, 4 2 3, 1 3 6, 5 2 7
    w = T.tensor(<a>., requires_grad=True)
    y = (w * <k>).detach() * w + w * <b>
    y.backward()
? `w = <a>` and `y = (w * <k>).detach() * w + w * <b>`. What is `w.grad`?
+ w.grad | Yes: the detached part is the number that it was, and the sum adds <b>.
- =2 * a * k + b | detach-is-seen-through | That counts the way through the detached part as well.
- =b | detach-cuts-everything | The detached part still multiplies w, as a number does.

7. a saved value was written to
a k = 3 2, 1 4, 2 5, 4 3, 5 6
    w = T.tensor(<a>., requires_grad=True)
    b = w * <k>
    y = b * b
    b += 1
    y.backward()
    got = w.grad
? `w = <a>`, `b = w * <k>`, `y = b * b`, then `b += 1`, then `y.backward()`. What is `w.grad`?
+ got | Yes: the product kept b for its rule, and b has another version now.
- =2 * a * k * k | saved-is-copied | So it would be if the product had kept a copy. It keeps the tensor itself.
- =2 * (a * k + 1) * k | saved-is-reread | That would be a wrong gradient without an error. The version is compared, so
  it raises.

7. a write that nobody minds
a k = 3 2, 1 4, 2 5, 4 3, 5 6
    w = T.tensor(<a>., requires_grad=True)
    b = w * <k>
    y = b + 1
    b += 1
    y.backward()
    got = w.grad
? `w = <a>`, `b = w * <k>`, `y = b + 1`, then `b += 1`, then `y.backward()`. What is `w.grad`?
+ got | Yes: a sum keeps nothing for its rule, so nothing that is needed was overwritten.
- it raises | every-write-raises | Only a value that a rule needs matters. What does the rule of a sum need?
- =2 * k | write-counts-twice | y was made before the write, and does not see it.

7. a leaf is written to
a = 3, 2, 5, 4, 7
    w = T.tensor(<a>., requires_grad=True)
    w += 1
    got = w
? `w = <a>` is a leaf that requires a gradient. Then `w += 1`. What is `w`?
+ got | Yes: a leaf that was written to would be no leaf any more. Write under `no_grad`.
- =a + 1 | leaf-may-be-written | It raises at once, before any backward. Under no_grad it would be so.

7. a write into a view
k = 3, 2, 5, 4, 7
    w = T.tensor([1., 1.], requires_grad=True)
    base = w * 2
    part = base[:1]
    part *= <k>
    base.sum().backward()
    got = [w.grad[0], w.grad[1]]
? `base = w * 2` has two elements, `part = base[:1]`, then `part *= <k>`, then `base.sum().backward()`. What is
  `w.grad`?
+ got | Yes: part is the same memory, so base changed too, and its history with it.
- [2, 2] | view-is-a-copy | A slice is a view: writing into it writes into base.
- =[2 * k, 2 * k] | write-hits-everything | Only the first element was written to.
- it raises | every-write-raises | No rule needed what was overwritten.

8. a second pass
a = 3, 2, 5, 4, 7
    w = T.tensor(<a>., requires_grad=True)
    y = w * w
    y.backward()
    y.backward()
    got = w.grad
? `w = <a>`, `y = w * w`, then `y.backward()` twice. What is `w.grad`?
+ got | Yes: the first pass freed what the product had kept.
- =4 * a | graph-is-kept | So it would be with retain_graph=True in the first pass.
- =2 * a | second-pass-overwrites | The second pass does not run: what it needs was freed.

8. a second pass where nothing was kept
a b = 3 2, 5 4, 2 7, 4 3, 6 5
    w = T.tensor(<a>., requires_grad=True)
    y = w + <b>
    y.backward()
    y.backward()
    got = w.grad
? `w = <a>`, `y = w + <b>`, then `y.backward()` twice. What is `w.grad`?
+ got | Yes: a sum keeps nothing, so nothing was freed, and the gradients add up.
- it raises | second-backward-raises | It raises at a node that needs what was freed. A sum needs nothing.
- 1 | backward-overwrites | The second pass adds to what is there.

8. a pass that keeps the graph
a = 3, 2, 5, 4, 7
    w = T.tensor(<a>., requires_grad=True)
    y = w * w
    y.backward(retain_graph=True)
    y.backward()
    got = w.grad
? `w = <a>`, `y = w * w`, then `y.backward(retain_graph=True)`, then `y.backward()`. What is `w.grad`?
+ got | Yes: both passes run, and both add.
- =2 * a | backward-overwrites | The second pass adds to what is there.
- it raises | second-backward-raises | The first pass was told to keep what the second one needs.

9. the slope of a slope
a = 3, 6, 5, 4, 7
    w = T.tensor(<a>., requires_grad=True)
    y = w ** 3
    (g,) = T.autograd.grad(y, w, create_graph=True)
    g.backward()
? `w = <a>`, `y = w ** 3`, `(g,) = autograd.grad(y, w, create_graph=True)`, `g.backward()`. What is `w.grad`?
+ w.grad | Yes: g is 3w², and its slope is 6w.
- =3 * a * a | first-derivative | That is g, the first slope. backward from g gives the slope of g.
- =3 * a * a + 6 * a | grad-accumulates | autograd.grad returns its gradient, and adds nothing to w.grad.
- it raises | no-second-order | create_graph recorded the backward pass, so g has a history.

9. a slope without history
a = 3, 6, 5, 4, 7
    w = T.tensor(<a>., requires_grad=True)
    y = w ** 3
    (g,) = T.autograd.grad(y, w)
    g.backward()
    got = w.grad
? `w = <a>`, `y = w ** 3`, `(g,) = autograd.grad(y, w)`, `g.backward()`. What is `w.grad`?
+ got | Yes: without create_graph nobody recorded what the backward pass did.
- =6 * a | always-second-order | That is the second slope. The backward pass was not recorded.
- =3 * a * a | grad-accumulates | autograd.grad returns that number and adds nothing to w.grad.

10. a way around
a = 2, 3, 4, 5, 6
    x = T.tensor(1., requires_grad=True)
    y = x
    for _ in range(3):
        y = y + y * <a>
    y.backward()
? `y = x`, and three times `y = y + y * <a>`. What is `x.grad`?
+ x.grad | Yes: each block passes on 1 + <a>, and the three multiply.
- =a ** 3 | skip-forgotten | That is the way through all three products. The sums open further ways.
- =1 + 3 * a | skips-add | Blocks in a row multiply. Within a block, the two ways add.
- 1 | skip-alone | That is the way around all three blocks, one of eight ways.

10. a product of slopes
n = 2, 3, 4, 5, 6
    x = T.tensor(1., requires_grad=True)
    y = x
    for _ in range(<n>):
        y = y * 0.5
    y.backward()
? `y = x`, and <n> times `y = y * 0.5`. What is `x.grad`?
+ x.grad | Yes: slopes in a row multiply, and small ones vanish.
- =0.5 | last-slope-only | That is one block. There are <n> in a row.
- =0.5 * n + 0.25 | slopes-add | Slopes in a row multiply. They add where ways meet.
"""
TEMPLATES = tuple(map(_template, _BANK.strip().split("\n\n")))
