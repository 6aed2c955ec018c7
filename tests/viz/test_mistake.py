"""Each common mistake is really made, on both engines, and each fix does what it is said to do."""

import math
import re
import traceback
from typing import Any

import pytest

import viz
from viz.engines import CORE, TORCH
from viz.experiments.mistake import MistakeLesson
from viz.telling.common_mistakes import FIXES, MISTAKES, TELLS, WRONG, recognise

SECOND = "backward through the graph a second time"
CHANGED = "modified by an inplace operation"
NO_GRAD = "element 0 of tensors does not require grad"
LEGACY = "Legacy autograd function with non-static forward"
NONE = None
E = math.e
H1 = math.tanh(0.5 * 1 + 1)
H2 = math.tanh(0.5 * H1 + 2)
CUT = 2 * (H1 - 1) * (1 - H1**2) + 2 * (H2 - 1) * (1 - H2**2) * H1  # each step's own gradient
WHOLE = CUT + 2 * (H2 - 1) * (1 - H2**2) * 0.5 * (1 - H1**2)  # and what goes back from the second through the first

# (mistake, fix; -1 is the mistake itself) -> what either engine must make of it: (the error, its line), or the values
# and gradients that the program must end with.
CLAIMS: dict[tuple[str, int], Any] = {
    ("second backward", -1): (SECOND, 5),
    ("second backward", 0): {"w": 0.64},  # 2 - 0.1 * 4 = 1.6, and 1.6 - 0.1 * 2 * 1.6 * 3 = 0.64
    ("second backward", 1): {"w": 0.4},  # 2 - 0.1 * 2 * 2 * 4
    ("second backward", 2): (CHANGED, 5),
    ("does not require grad", -1): (NO_GRAD, 4),
    ("does not require grad", 0): {"w.grad": 6.0},
    ("does not require grad", 1): {"w.grad": 6.0},
    ("does not require grad", 2): {"w.grad": NONE, "loss.grad": 1.0},
    ("no zero_grad", -1): {"w": 5.28, "w.grad": -7.2},  # -6 - 1.2
    ("no zero_grad", 0): {"w": 2.88, "w.grad": NONE},
    ("no zero_grad", 1): {"w": 2.88, "w.grad": -1.2},
    ("no zero_grad", 2): {"w.grad": -10.8},  # -6 - 4.8
    ("in-place on a saved value", -1): (CHANGED, 4),
    ("in-place on a saved value", 0): {"x.grad": E, "y": E + 1},
    ("in-place on a saved value", 1): {"x.grad": E, "y": E + 1},
    ("in-place on a saved value", 2): {"x.grad": E + 1, "y": E + 1},
    ("grad is None", -1): {"w.grad": NONE},
    ("grad is None", 0): {"w.grad": [2.0, 4.0]},
    ("grad is None", 1): {"w.grad": [2.0, 4.0]},
    ("grad is None", 2): {"w.grad": [2.0, 4.0], "w.is_leaf": False},
    ("grad is None", 3): {"w.grad": NONE, "w.is_leaf": False},
    ("total += loss", -1): {"total": 2.0, "total.grad_fn": "AddBackward0"},
    ("total += loss", 0): {"w.grad": 2.0},
    ("total += loss", 1): {"total": 2.0, "total.grad_fn": NONE},
    ("total += loss", 2): {"total": 2.0, "total.grad_fn": "AddBackward0"},
    ("state not detached", -1): (SECOND, 6),
    ("state not detached", 0): {"w.grad": CUT},
    ("state not detached", 1): {"w.grad": WHOLE},
    ("state not detached", 2): {"w.grad": WHOLE},
    ("ctx attribute", -1): {"x.grad": 100 * E},
    ("ctx attribute", 0): (CHANGED, None),
    ("ctx attribute", 1): {"x.grad": E},
    ("ctx attribute", 2): {"x.grad": 100 * E},
    ("detach, no_grad and .data", -1): {"w": 20.0, "w.grad": 40.0},
    ("detach, no_grad and .data", 0): {"w": 20.0, "w.grad": 4.0},
    ("detach, no_grad and .data", 1): {"w": 2.0, "w.grad": 4.0},
    ("detach, no_grad and .data", 2): (CHANGED, 5),
    ("detach, no_grad and .data", 3): (CHANGED, 4),
    ("wrong number of gradients", -1): ("returned an incorrect number of gradients", 14),
    ("wrong number of gradients", 0): {"a.grad": 1.0, "b.grad": 3.0},
    ("wrong number of gradients", 1): {"a.grad": 1.0, "b.grad": 3.0},
    ("wrong number of gradients", 2): ("returned a gradient different than None at position 3", 14),
    ("wrong None", -1): {"a.grad": 1.0, "b.grad": NONE},
    ("wrong None", 0): {"a.grad": 1.0, "b.grad": 3.0},
    ("wrong None", 1): ("Jacobian mismatch for output 0 with respect to input 1", 13),
    ("wrong None", 2): {"a.grad": 1.0, "b.grad": NONE},
    ("forgotten un-broadcast", -1): ("attempting to assign a gradient of size", 6),
    ("forgotten un-broadcast", 0): {"b.grad": [24.0, 36.0]},
    ("forgotten un-broadcast", 1): {"b.grad": [24.0, 36.0]},
    ("forgotten un-broadcast", 2): {"b.grad": [8.0, 12.0]},
    ("double backward over a saved intermediate", -1): {"slope": 32.0, "x.grad": 24.0},
    ("double backward over a saved intermediate", 0): {"slope": 32.0, "x.grad": 48.0},
    ("double backward over a saved intermediate", 1): ("marked with @once_differentiable", 17),
    ("double backward over a saved intermediate", 2): ("Jacobian mismatch", 15),
    ("double backward over a saved intermediate", 3): {"slope": 32.0, "x.grad": 24.0},
    ("NaN from where", -1): {"y": [0.0, 2.0], "x.grad": [math.nan, 0.25]},
    ("NaN from where", 0): {"y": [0.0, 2.0], "x.grad": [0.0, 0.25]},
    ("NaN from where", 1): {"y": [0.0, 2.0], "x.grad": [0.0, 0.25]},
    ("NaN from where", 2): ("'SqrtBackward0' returned nan values", 4),
    ("NaN from where", 3): {"y": [0.0, 2.0], "x.grad": [math.nan, 0.25]},
    ("non-static Function", -1): (LEGACY, 11),
    ("non-static Function", 0): {"x.grad": E, "y.grad_fn": "ExpBackward"},
    ("non-static Function", 1): {"x.grad": E, "y.grad_fn": "ExpBackward0"},
    ("non-static Function", 2): (LEGACY, 13),
    ("leaf in-place", -1): ("a leaf Variable that requires grad is being used in an in-place operation", 4),
    ("leaf in-place", 0): {"w": 2.2, "w.is_leaf": True},
    ("leaf in-place", 1): {"w": 2.2, "w.is_leaf": True},
    ("leaf in-place", 2): {"w": 2.2, "w.is_leaf": False, "w.grad": NONE},
    ("view of a leaf", -1): ("a view of a leaf Variable that requires grad is being used in an in-place operation", 3),
    ("view of a leaf", 0): {"loss": 4.0, "w.grad": [0.0, 4.0]},
    ("view of a leaf", 1): {"loss": 4.0, "w.grad": [0.0, 4.0]},
    ("view of a leaf", 2): {"loss": 5.0, "w.grad": [0.0, 4.0]},  # the gradient of 5 = 1 + 4 is [2, 4]
    ("integer leaf", -1): ("Only Tensors of floating point", 1),
    ("integer leaf", 0): {"w.grad": [2.0, 4.0]},
    ("integer leaf", 1): {"w.grad": [2.0, 4.0]},
    ("integer leaf", 2): (NO_GRAD, 3),
    ("backward of a non-scalar", -1): ("grad can be implicitly created only for scalar", 3),
    ("backward of a non-scalar", 0): {"x.grad": [2.0, 4.0]},
    ("backward of a non-scalar", 1): {"x.grad": [1.0, 2.0]},
    ("backward of a non-scalar", 2): {"x.grad": [2.0, 4.0]},
    ("backward of a non-scalar", 3): {"x.grad": [2.0, 0.0]},
}
# Where the graph is marked: the node that the engine names, or the one that the mistake names.
MARKED = {"second backward": "MulBackward0", "does not require grad": "loss", "no zero_grad": "w"}
MARKED |= {"in-place on a saved value": "ExpBackward0", "grad is None": "ToCopyBackward0"}
MARKED |= {"total += loss": "AddBackward0", "state not detached": "TanhBackward0", "ctx attribute": "ExpBackward"}
MARKED |= {"detach, no_grad and .data": "MulBackward0", "wrong number of gradients": "ScaledAddBackward"}
MARKED |= {"wrong None": "ScaledAddBackward", "forgotten un-broadcast": "AddBackward0"}
MARKED |= {"double backward over a saved intermediate": "CubeBackward", "NaN from where": "SqrtBackward0"}
MARKED |= {"leaf in-place": "w", "view of a leaf": "w", "backward of a non-scalar": "MulBackward0"}
ENGINES = [CORE, TORCH]
_lessons = {known.name: MistakeLesson(known) for known in MISTAKES}  # each program runs once for all tests


def test_every_program_has_its_claim_and_the_fifteen_of_the_course_are_there_in_their_order() -> None:
    assert set(CLAIMS) == {(one.name, position) for one in MISTAKES for position in range(-1, len(one.fixes))}
    numbers = [one.number for one in MISTAKES]
    assert sorted(set(numbers)) == list(range(1, 16))
    assert numbers == sorted(numbers)
    assert len({one.name for one in MISTAKES}) == len(MISTAKES)
    # An error before any tensor is there has no place in the graph.
    assert {one.name for one in MISTAKES} - set(MARKED) == {"non-static Function", "integer leaf"}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("name", "position"), CLAIMS)
def test_each_program_ends_as_it_is_told(name: str, position: int, engine: str) -> None:
    claim, known = CLAIMS[name, position], _lessons[name].mistake
    recording = _lessons[name].outcome(position, engine).recording
    assert recording is not None
    assert position >= 0 or known.silent == (recording.error is None)
    if isinstance(claim, tuple):
        assert recording.error is not None, recording.tensors
        assert position >= 0 or re.search(known.phrase, recording.error["message"])
        phrase, line = claim
        assert phrase in recording.error["message"]
        assert line in (None, recording.error["line"])
        return
    assert recording.error is None
    for what, wanted in claim.items():
        tensor, _, entry = what.partition(".")
        found = recording.tensors[tensor][entry or "value"]
        if entry in ("", "grad") and found is not None:
            found = found["data"]
        numbers = isinstance(wanted, (float, list))
        assert found == (pytest.approx(wanted, rel=1e-5, nan_ok=True) if numbers else wanted), what


@pytest.mark.parametrize("known", MISTAKES, ids=lambda one: one.name)
def test_there_are_two_or_more_things_to_try_one_of_them_fixes_and_every_edit_finds_its_place_once(known: Any) -> None:
    kinds = [fix.kind for fix in known.fixes]
    assert 2 <= len(kinds) <= 4
    assert FIXES in kinds
    assert set(kinds) <= {FIXES, TELLS, WRONG}
    assert known.program.count(known.at) == 1
    for fix in known.fixes:
        text = known.program
        for old, new in fix.edits:
            assert text.count(old) == 1, (fix.label, old)
            text = text.replace(old, new)
        assert text == known.fixed(fix) != known.program


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", MARKED)
def test_where_it_goes_wrong_is_marked_in_the_graph(name: str, engine: str) -> None:
    lesson = _lessons[name]
    recording = lesson.outcome(-1, engine).recording
    assert recording is not None
    key = lesson.marked(recording) or ""
    op = recording.graph.ops.get(key)
    assert (op.name if op is not None else recording.graph.values[key].name) == MARKED[name]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("known", [one for one in MISTAKES if one.phrase], ids=lambda one: one.name)
@pytest.mark.filterwarnings("ignore")
def test_what_a_student_pastes_finds_the_lesson(known: Any, engine: str) -> None:
    with pytest.raises(Exception) as raised:
        exec(compile(known.program, "<cell>", "exec"), {"T": viz.engines.load(engine).module})
    error = raised.value
    for text in (str(error), f"{type(error).__name__}: {error}", "".join(traceback.format_exception(error))):
        assert known.name in (viz.mistake(text).name, "state not detached")


@pytest.mark.parametrize("engine", ENGINES)
def test_the_warning_about_a_non_leaf_finds_its_lesson(engine: str) -> None:
    T = viz.engines.load(engine).module
    with pytest.warns(UserWarning) as said:
        _ = (T.ones(2, requires_grad=True) * 2).grad
    assert viz.mistake(str(said[0].message)).name == "grad is None"


def test_what_is_asked_for_is_found_by_its_number_and_anything_else_is_answered() -> None:
    assert viz.mistake(15).name == "leaf in-place"
    with pytest.raises(ValueError, match="no mistake is called 'zero grad'; there is 'no zero_grad'"):
        viz.mistake("zero grad")
    pasted = "Traceback (most recent call last):\n  File …\nRuntimeError: CUDA error: device-side assert triggered "
    with pytest.raises(ValueError, match="does not match any of the common mistakes"):
        viz.mistake(pasted * 2)
    assert recognise("name 'x' is not defined") is None


def test_changes_say_what_was_and_what_is() -> None:
    told = [str(change) for change in viz.mistake("ctx attribute").changes(0)]
    assert told == ["raises: nothing → RuntimeError in line 10", "x.grad: 271.8 → None: no gradient has arrived"]
    assert viz.mistake("wrong None").changes(2) == []


def test_a_terminal_gets_the_whole_lesson_as_text() -> None:
    text = repr(viz.mistake("does not require grad"))
    assert "→  3 loss = T.tensor((y.item() - 5) ** 2)" in text
    assert f"tinygrad_edu (line 4): RuntimeError: {NO_GRAD}" in text
    assert "✗ loss.requires_grad = True" in text
    assert "    w.grad: None: no gradient has arrived → 6" in text
    assert "tinygrad_edu: raises no error: a silent mistake" in repr(viz.mistake("NaN from where"))
    assert "The gradients are never reset (silent)" in repr(viz.mistakes())
    shown = viz.mistakes()._repr_html_()
    assert all(f'viz.mistake("{one.name}")' in shown for one in MISTAKES)


def test_both_engines_are_quoted_in_their_own_words() -> None:
    text = repr(viz.mistake("in-place on a saved value"))
    assert "[torch.FloatTensor []], which is output 0 of Exp, is at version 1" in text
    assert "tinygrad_edu (line 4" in text and "PyTorch (line 4" in text


def test_a_missing_pytorch_is_a_sentence_in_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(name: str) -> Any:
        if name == TORCH:
            raise ModuleNotFoundError("PyTorch is not installed: pip install torch")
        return real(name)

    real = viz.engines.load
    monkeypatch.setattr("viz.engines.load", load)
    text = repr(viz.mistake("integer leaf"))
    assert "PyTorch: PyTorch is not installed: pip install torch" in text
    assert "tinygrad_edu (line 1): RuntimeError" in text
