"""Whatever the answer is, the student gets a reply at once, and the notebook continues."""

import collections
import contextlib
import functools
import html
import re
import signal
import sys
import threading
import time

import numpy as np
import pytest

import tinygrad_edu as tg
from tinygrad_edu.exercises import all_exercises, check, get
from tinygrad_edu.exercises.judging.judge import known
from tinygrad_edu.exercises.running import probe
from tinygrad_edu.sandbox import time_limit as timing
from tinygrad_edu.sandbox.time_limit import Budget, TimeUp, time_limit

pytestmark = pytest.mark.outer


def loop_that_catches_everything(grad_output, x):
    while True:
        try:
            x = x + 1
        except BaseException:
            x = 0


def exits(grad_output, x):
    raise SystemExit(0)


def half_written(grad_output, x):
    raise NotImplementedError


class EndlessMessage(Exception):
    def __str__(self):
        while True:
            pass


class LastWord(Exception):
    __traceback__ = property(lambda self: 1 / 0)

    def __str__(self):
        BaseException.__traceback__.__set__(self, None)
        raise SystemExit


def raises(kind):
    def answer(grad_output, x):
        raise kind

    return answer


ODD = {"unanswered": (None, "Not answered yet."), "an ellipsis": (..., "Not answered yet.")}
ODD |= {"half-written": (half_written, "Not answered yet.")}
ODD |= {"no return": (lambda grad_output, x: None, "It returned nothing (None). Is a `return` missing?")}
ODD |= {"raising": (lambda grad_output, x: 1 / 0, "It raised ZeroDivisionError: division by zero")}
ODD |= {"exiting": (exits, "It raised SystemExit: 0")}
ODD |= {"wrong arguments": (lambda x: x, "It is called as relu_backward(grad_output, x).")}
ODD |= {"no function": (0.5, "Wrong type: `relu_backward` should be a function, and it is of type float.")}
ODD |= {"a string": (lambda grad_output, x: "1", "Wrong type: expected a number, but got a string.")}
ODD |= {"too many values": (lambda grad_output, x: (1, 2), "Wrong type: expected a number, but got a tuple or list.")}
ODD |= {"NaN": (lambda grad_output, x: float("nan"), "There is NaN")}
ODD |= {"endless loop": (loop_that_catches_everything, "Endless loop?")}
ODD |= {"an error whose message has no end": (raises(EndlessMessage), "Endless loop?")}
ODD |= {"an error that ends the process when asked": (raises(LastWord), "It raised LastWord.")}


@pytest.mark.parametrize("what", ODD)
def test_each_odd_answer_has_its_own_message(what):
    answer, message = ODD[what]
    report = check("relu_backward", answer)
    assert report.points == 0
    assert message in repr(report)
    assert html.escape(message.replace("`", "")) in re.sub("</?code>|`", "", report._repr_html_())


def test_an_answer_that_sleeps_is_ended_by_the_clock_on_the_wall_in_any_thread(monkeypatch):
    monkeypatch.setattr(timing, "WALL", 0.3)
    ended = []

    def sleeps():
        with pytest.raises(TimeUp), time_limit(Budget(60)):
            while True:
                time.sleep(0.01)
        ended.append(True)

    sleeps()
    thread = threading.Thread(target=sleeps)
    thread.start()
    thread.join(timeout=240)
    assert ended == [True, True]


def test_only_an_answers_own_processor_time_counts_so_a_busy_machine_makes_none_worse():
    def slow(grad_output, a, b):
        time.sleep(1.2 * get("mul_backward").seconds if grad_output == 1 and a == 2 else 0)
        return grad_output * b, grad_output * a

    assert check("mul_backward", slow).passed


def test_the_first_use_of_pytorch_does_not_count_for_the_answer(monkeypatch):
    exercise = get("mul_backward")

    def slow():
        began = time.process_time()
        while time.process_time() - began < exercise.seconds + 1.5:
            pass

    monkeypatch.setattr(probe, "use_torch_once", functools.cache(slow))
    monkeypatch.setattr(type(exercise), "available", ("tinygrad_edu", "torch"))
    assert check("mul_backward", lambda grad_output, a, b: (grad_output * b, grad_output * a)).passed


def test_a_dict_that_fills_itself_is_a_dict_and_a_custom_error_is_the_error_it_was_made_from():
    def backward_pass(order, inputs, local):
        grads = collections.defaultdict(float, {order[0]: 1.0})
        for name in order:
            for other, slope in zip(inputs[name], local[name], strict=True):
                grads[other] += grads[name] * slope
        return grads

    class NoGradient(RuntimeError):
        pass

    def first_gradient(output, gradient=None):
        if output.size > 1 and (gradient is None or gradient.shape != output.shape):
            raise NoGradient("none fits")
        return gradient if gradient is not None else output * 0 + 1

    assert check("backward_pass", backward_pass).passed
    assert check("first_gradient", first_gradient).passed
    assert not check("first_gradient", raises(NotImplementedError)).points


def test_a_loop_outside_the_main_thread_ends_too():
    reports = []
    thread = threading.Thread(target=lambda: reports.append(check("relu_backward", loop_that_catches_everything)))
    thread.start()
    thread.join(timeout=240)
    assert "Endless loop?" in repr(reports[0])


class NamelessType(type):
    __name__ = property(lambda cls: 1 / 0)


class Nameless(metaclass=NamelessType):
    pass


class NamelessError(Exception, metaclass=NamelessType):
    pass


class SpeaksOnNoTerms:
    def __getattribute__(self, name):
        raise SystemExit(name)


def test_what_the_judges_own_wrong_answers_warn_of_is_not_said_to_the_student(recwarn):
    known.cache_clear()
    assert check("train", all_exercises()["train"].rights[0]).passed
    assert [str(warning.message) for warning in recwarn] == []


def sign_of_one(T, w, x):
    p = w * x
    d = 1 - p
    L = d**2
    for t in (p, d, L):
        t.retain_grad()
    L.backward()
    return {"w": w.grad, "p": p.grad, "d": d.grad, "L": L.grad}


def reward_for_state(T, w, state, reward, next_state, gamma):
    return (w * reward - reward - gamma * (w * next_state).detach()) ** 2


def half_chord(f, x, eps):
    return (f(x + eps / 2) - f(x - eps / 2)) / eps


def minus_bias(T):
    class Linear(T.autograd.Function):
        @staticmethod
        def forward(ctx, x, weight, bias):
            ctx.save_for_backward(x, weight)
            return x @ weight.t() - bias

        @staticmethod
        def backward(ctx, grad_output):
            x, weight = ctx.saved_tensors
            return grad_output @ weight, grad_output.t() @ x, grad_output.sum(0)

    return Linear


def last_for_input(T, w1, w2, w3, x):
    w2.requires_grad_(False)
    return w3 * T.tanh(w2 * T.tanh(w1 * w3))


def forgets_the_vector(T, f, x, v):
    (grad,) = T.autograd.grad(f(x), x, create_graph=True)
    return T.autograd.grad(grad, x)[0] * v


INPUT = "input: grad_output = 1, a = 2, b = 3\n      expected: (3, 2)\n      got: (2, 3)"
SAID = [
    ("mul_backward", lambda grad_output, a, b: grad_output * b, "Wrong type: expected 2 values, but got a number."),
    ("mul_backward", lambda grad_output, a, b: (grad_output * b,), "Wrong shape: expected 2 values, but got 1."),
    ("mul_backward", lambda grad_output, a, b: (grad_output * b, None), "Value 2 of 2: It is None"),
    ("mul_backward", lambda grad_output, a, b: (grad_output * a, grad_output * b), INPUT),
    ("mul_backward", lambda grad_output, a, b: (b, a), "mul_backward: 1 of 3 points"),
    (
        "mul_backward",
        lambda grad_output, a, b: (grad_output * b, grad_output * a + 1),
        "Value 2 is 1 too large on every input. Value 1 is right.",
    ),
    *(
        (id, lambda *given: None, "Is a `return` missing")
        for id in ("train", "log_loss", "topological_order", "line_loss")
    ),
    ("backward_pass", lambda order, inputs, local: {"L": 1.0}, "There is no entry for 'b', 'a'."),
    ("backward_pass", lambda order, inputs, local: dict.fromkeys(order, 0.5), "At 'L': The numbers differ."),
    ("backward_pass", lambda order, inputs, local: dict.fromkeys([*order, "x"], 0), "Nobody asked for 'x'."),
    ("every_gradient", sign_of_one, "`d` has the wrong sign on every input."),
    ("td_loss", reward_for_state, "wrong exactly where `state` differs from `reward`."),
    ("central_difference", half_chord, "The numbers differ."),
    ("linear", minus_bias(tg), "The result lacks `2 * bias`: add it."),
    ("freeze_middle", last_for_input, "The numbers differ."),
    ("hvp", forgets_the_vector, "grad can be implicitly created only for scalar outputs"),
    ("topological_order", lambda root, inputs: sorted(inputs), "On this input this does not hold."),
    ("sgd_step", lambda w: w, "It is called as sgd_step(T, w, lr)."),
    ("relu_backward", Nameless(), "it is of type Nameless."),
    ("relu_backward", SpeaksOnNoTerms(), "it is of type SpeaksOnNoTerms."),
    ("relu_backward", lambda grad_output, x: Nameless(), "but got a value of type Nameless"),
    ("relu_backward", lambda grad_output, x: SpeaksOnNoTerms(), "but got a value of type SpeaksOnNoTerms"),
    ("relu_backward", raises(NamelessError("told")), "It raised NamelessError: told"),
    ("truncated_rnn", get("truncated_rnn").wrongs[0].answer, "`retain_graph=True`"),
    ("straight_through", get("straight_through").wrongs[0].answer, "the *difference* between"),
]
NOT_SAID = {"hvp": "create_graph", "freeze_middle": "exactly where", "central_difference": "exactly where"}


@pytest.mark.parametrize("place", range(len(SAID)), ids=lambda place: f"{SAID[place][0]}: {SAID[place][2][:30]}")
def test_what_is_said_of_an_answer(place):
    id, answer, said = SAID[place]
    report = check(id, answer)
    assert not report.passed
    assert said in repr(report)
    assert NOT_SAID.get(id, "???") not in repr(report)


def test_how_an_answer_is_called_is_not_said_when_a_call_in_it_failed():
    names = {}
    exec(compile("def f(T, w, lr):\n    (lambda: 0)(w)\n", "<answer>", "exec"), names)
    assert "It is called as" not in repr(check("sgd_step", names["f"]))


def test_what_an_answer_says_neither_runs_in_a_browser_nor_steers_the_terminal_nor_turns_the_line_round():
    said = "<script>alert(1)</script> half a letter \ud800, a screen wiped \x1b[2J, a line turned round \u202e"
    report = check("relu_backward", raises(ValueError(said)))
    assert "<script>" not in report._repr_html_()
    for text in (repr(report), report._repr_html_()):
        assert "half a letter \ufffd, a screen wiped \ufffd[2J, a line turned round \ufffd" in text
        text.encode()


def test_what_a_hint_marks_as_code_or_stresses_is_shown_so():
    words = {"truncated_rnn": "<code>retain_graph=True</code>", "straight_through": "the <em>difference</em>"}
    for id, said in words.items():
        assert said in check(id, get(id).wrongs[0].answer)._repr_html_()


@pytest.mark.parametrize("id", all_exercises())
def test_the_third_try_and_none_before_brings_a_next_hint(id):
    told = [repr(check(id, get(id).wrongs[0].answer)) for _ in range(3)]
    assert ["next hint" in text for text in told] == [False, False, True]
    assert "next hint: It raised" not in told[2], "what came says it already"


TOLD = [("relu_backward", ODD[what][0], "") for what in ("no return", "raising")] + [("td_loss", reward_for_state, "")]
TOLD += [("central_difference", half_chord, "Your answer is right on 6 of the 11 inputs that were tried.")]


@pytest.mark.parametrize(("id", "answer", "further"), TOLD)
def test_who_makes_no_known_mistake_is_told_only_what_was_seen_at_the_third_try(id, answer, further):
    told = [repr(check(id, answer)) for _ in range(4)]
    assert [text.partition("next hint: ")[2] for text in told] == ["", "", further, further]
    assert not any(wrong.hint in text for wrong in get(id).wrongs for text in told)


@pytest.mark.parametrize(
    ("id", "answer", "shown"),
    [
        ("mul_backward", lambda grad_output, a, b: (a, b), "Every gradient has arrived: a.grad = 3, b.grad = 2."),
        ("td_loss", reward_for_state, "detach of 1 gives"),
        ("line_loss", get("line_loss").wrongs[1].answer, "element 0 of tensors does not require grad"),
        ("he_weight", lambda noise: noise, None),  # no tensor, no stage
    ],
)
def test_the_third_try_plays_the_smallest_input_that_was_missed(id, answer, shown):
    stages = [getattr(report, "stage", None) for report in [check(id, answer) for _ in range(3)]]
    assert stages[:2] == [None, None]
    assert shown in stages[2].scene["steps"][-1]["sentence"] if shown else stages[2] is None


def test_an_unknown_exercise_is_answered_with_the_nearest_names():
    with pytest.raises(KeyError, match="did you mean mul_backward"):
        check("mul_backwards", None)


def test_blank_predictions_do_not_reveal_what_is_right():
    blank = dict.fromkeys(("made", "constant", "product", "constant_product", "under_no_grad", "detached", "cast"))
    blank |= dict.fromkeys(("cast_to_itself", "rebound"))
    assert repr(check("predict_leaf", blank)) == "predict_leaf: 0 of 3 points, not yet\n  Not answered yet."
    begun = repr(check("predict_leaf", blank | {"made": True, "constant": True, "product": False}))
    assert begun.startswith("predict_leaf: 1 of 3 points, not yet\n  ✓ Tensors that you made")
    assert "      Not answered yet.\n      input: name = 'detached'\n  ✗ Casts" in begun
    assert "expected" not in begun


@pytest.mark.parametrize("id", ["predict_leaf", "predict_raise"])
def test_an_omitted_prediction_is_not_revealed(id):
    text = repr(check(id, {"made": False, "exp": False}))
    assert "Not answered yet." in text
    assert text.count("expected") == 1


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="no signals to block")
def test_an_answer_that_blocks_the_signal_is_ended_and_the_next_one_too():
    def mul_backward(grad_output, a, b):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
        while True:
            pass

    assert "Endless loop?" in repr(check("mul_backward", mul_backward))
    assert check("mul_backward", lambda grad_output, a, b: (grad_output * b, grad_output * a)).passed
    assert signal.SIGALRM not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


@pytest.mark.parametrize("endless", [False, True])
def test_an_answer_that_switches_numpys_warnings_off_leaves_them_as_they_were(endless):
    before = np.geterr()
    with pytest.raises(TimeUp) if endless else contextlib.nullcontext(), time_limit(Budget(0.1)):
        np.seterr(all="ignore")
        while endless:
            pass
    assert np.geterr() == before != {**before, "divide": "ignore"}


def test_a_finalizer_that_swallows_the_end_of_the_time_says_nothing_and_the_end_comes_again(capsys):
    class Slow:
        def __del__(self):
            while True:
                pass

    hook = sys.unraisablehook
    with pytest.raises(TimeUp), time_limit(Budget(0.1)):
        Slow()
        while True:
            pass
    assert sys.unraisablehook is hook  # to which a word would be a warning: an error
    assert capsys.readouterr().err == ""
