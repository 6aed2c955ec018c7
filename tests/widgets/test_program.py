"""A program is read from the user's own text, and an edit changes that text alone where the toggle says."""

import pytest

from viz.experiments.edits import edit
from viz.experiments.program import ProgramError, parse

LINE = """\
# one step of linear regression
x = T.tensor(2.0)
y = T.tensor(1.0)
w = T.tensor(0.3, requires_grad=True)  # the weight
b = T.tensor(0.1, requires_grad=True)
d = w * x
e = (d
     + b)
L = (e - y) ** 2
L.backward()"""


def edited(source, **edits):
    return edit(parse(source), edits).source


def test_the_parts_of_a_program_are_found():
    program = parse(LINE)
    inputs = [("x", 2, 2.0, False), ("y", 3, 1.0, False), ("w", 4, 0.3, True), ("b", 5, 0.1, True)]
    assert [(i.name, i.line, i.value, i.requires_grad) for i in program.inputs] == inputs
    assert program.values == ("d", "e", "L")
    kinds = [(6, 6, "compute"), (7, 8, "compute"), (9, 9, "compute"), (10, 10, "backward")]
    assert [(line.first, line.last, line.kind) for line in program.lines][4:] == kinds
    assert program.passes == set()


def test_what_is_added_has_no_line_of_origin_and_answers_for_the_line_it_was_added_to():
    made = edit(parse(LINE), {})
    assert made.source == LINE
    assert made.origin == tuple([*range(1, 8), 7, 9, 10])
    made = edit(parse(LINE), {"retain_grad": ["d"], "no_grad": [9]})
    assert made.source.splitlines()[6] == "d.retain_grad()"
    assert made.origin[6] is None
    assert [origin for origin in made.origin if origin is not None] == [*range(1, 8), 7, 9, 10]
    made = edit(parse(LINE), {"backwards": 2})
    assert [made.line_of(line) for line in (6, 10, 11, None)] == [6, 10, 10, None]


@pytest.mark.parametrize(
    ("written", "name", "wanted", "expected"),
    [
        ("w = T.tensor(0.3)", "w", True, "w = T.tensor(0.3, requires_grad=True)"),
        ("w = T.tensor(0.3, requires_grad=True)", "w", False, "w = T.tensor(0.3, requires_grad=False)"),
        ("w = T.tensor([1., 2.],)  # é", "w", True, "w = T.tensor([1., 2.], requires_grad=True,)  # é"),
        ("ü, w = T.ones(2), T.ones(3)", "w", True, "ü, w = T.ones(2), T.ones(3, requires_grad=True)"),
        ("w = T.tensor(1.).requires_grad_()", "w", False, "w = T.tensor(1.).requires_grad_(False)"),
        ("w = T.tensor(1.)\nw.requires_grad = True", "w", False, "w = T.tensor(1.)\nw.requires_grad = False"),
        ("w = T.tensor(1.)\nw.requires_grad_()", "w", False, "w = T.tensor(1.)\nw.requires_grad_(False)"),
        ("w = nn.Parameter(T.ones(2))", "w", False, "w = nn.Parameter(T.ones(2), requires_grad=False)"),
    ],
)
def test_requires_grad_is_set_where_the_program_says_it(written, name, wanted, expected):
    assert edited(written, requires_grad={name: wanted}) == expected


LOOP = "y = T.tensor(1.0)\nfor i in range(3):\n    y = y * 2"
H = "h = T.tensor(1.0)\nfor x in (1.0, 2.0):\n    h = h * x\n    if x > 1:\n        h = h + 1\nh.backward()"
AROUND = "with T.autograd.detect_anomaly():\n" + "\n".join("    " + row for row in LINE.splitlines())
MODES = {"no_grad": {6}, "inference_mode": {6}}


@pytest.mark.parametrize(
    ("source", "edits", "expected"),
    [
        (LINE, {"no_grad": {8}}, "with T.no_grad():\n    e = (d\n         + b)"),
        (LINE, MODES, "with T.no_grad():\n    with T.inference_mode():\n        d = w * x"),
        (LOOP, {"no_grad": {3}, "retain_grad": {"y"}}, "    with T.no_grad():\n        y = y * 2\n    y.retain_grad()"),
        (LINE, {"values": {"w": -1.5}}, "w = T.tensor(-1.5, requires_grad=True)  # the weight"),
        ("w = T.tensor(1.0)", {"values": {"w": 2}}, "w = T.tensor(2.0)"),
        ("w = T.tensor([1.0, 2])", {"values": {"w": [3, 4]}}, "w = T.tensor([3.0, 4.0])"),
        ("w = T.tensor([[1.5]])", {"values": {"w": [[2]]}}, "w = T.tensor([[2.0]])"),
        ("w = T.tensor(3)", {"values": {"w": 4}}, "w = T.tensor(4)"),
        (LINE, {"hooks": {"d": "double"}}, "d.register_hook(lambda grad: 2 * grad)"),
        (LINE, {"detach": {"e"}}, "     + b)\ne = e.detach()"),
        (H, {"detach": {"h@3"}}, "    h = h * x\n    h = h.detach()\n    if x > 1:\n        h = h + 1\nh.backward()"),
        (
            H,
            {"detach": {"h@5"}},
            "    h = h * x\n    if x > 1:\n        h = h + 1\n        h = h.detach()\nh.backward()",
        ),
        (H, {"detach": {"h"}}, "    h = h * x\n    if x > 1:\n        h = h + 1\n        h = h.detach()\nh.backward()"),
        (LINE, {"anomaly": True}, AROUND),
        ("import torch\nw = torch.tensor(1.0)\nL = w * w", {"no_grad": {3}}, "with torch.no_grad():"),
    ],
)
def test_a_switch_is_written_into_the_code(source, edits, expected):
    assert f"\n{expected}\n" in f"\n{edited(source, **edits)}\n"


W = "w = T.tensor(2.0, requires_grad=True)\nL = w * w\n"
TWICE = f"{W}L.backward()\nv = T.tensor(2.0, requires_grad=True)\nL.backward()"
STEPS = "w = T.ones(2, requires_grad=True)\nfor i in range(2):\n    (w * w).sum().backward()"
V, B, KEEP = "v = T.tensor(2.0, requires_grad=True)\n", "L.backward()", "L.backward(retain_graph=True)"


@pytest.mark.parametrize(
    ("source", "edits", "end"),
    [
        (f"{W}{B}", {"backwards": 3, "retain_graph": True}, f"{KEEP}\n{KEEP}\n{B}"),
        (f"{W}{B}", {"backwards": 2}, f"{B}\n{B}"),
        (f"{W}{B}", {"backwards": 2, "retain_graph": True, "zero_grad": True}, f"{KEEP}\nw.grad = None\n{B}"),
        (TWICE, {"retain_graph": True}, f"{KEEP}\n{V}{KEEP}"),
        (TWICE, {"retain_graph": True, "backwards": 2}, f"{KEEP}\n{V}{KEEP}\n{B}"),
        (f"{W}{KEEP}", {"retain_graph": False}, "L.backward(retain_graph=False)"),
        (TWICE, {"zero_grad": True}, f"{B}\n{V}w.grad = None\nv.grad = None\n{B}"),
        (STEPS, {"zero_grad": True}, "for i in range(2):\n    w.grad = None\n    (w * w).sum().backward()"),
    ],
)
def test_every_pass_but_the_last_keeps_the_graph_and_gradients_are_cleared_before_all_but_the_first(source, edits, end):
    first = source.splitlines()[1 if source != STEPS else 0]
    assert edited(source, **edits).endswith(f"{first}\n{end}")
    assert parse(KEEP).passes == {"retain_graph"}


def scaled(T, factor=3.0):
    """A docstring is not a line of the program."""
    v = T.tensor([1.0, 2.0], requires_grad=True)
    return (v * factor).sum()


def needy(T, missing):
    return T.ones(missing)


def test_a_function_is_its_body_and_the_names_it_sees():
    program = parse(scaled)
    lines = ["v = T.tensor([1.0, 2.0], requires_grad=True)", "result = (v * factor).sum()"]
    assert program.source.splitlines() == lines
    assert program.namespace == {"factor": 3.0}


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (needy, ProgramError, "needs missing; give it a default"),
        ("a = 1\nb = = 2", ProgramError, "line 2: this is not Python"),
        (3, TypeError, "a source string or a function that takes the engine module, not int"),
    ],
)
def test_what_is_no_program_says_why(given, error, message):
    with pytest.raises(error, match=message):
        parse(given)


@pytest.mark.parametrize(
    ("source", "edits", "message"),
    [
        (LINE, {"no_grad": {1}}, "line 1: there is no statement here"),
        ("a = T.ones(2)\nb = a * 2", {"detach": {"b@1"}}, "line 1: no line computes b"),
        (LINE, {"requires_grad": {"q": True}}, "no input is called q"),
        (LINE, {"retain_grad": {"q"}}, "no line computes q"),
        ("a = T.ones(2)", {"backwards": 2}, "calls no backward"),
        ("a = T.randn(2)", {"values": {"a": [1.0, 2.0]}}, "line 1: the value of a is not written out"),
    ],
)
def test_what_cannot_be_edited_says_where_and_why(source, edits, message):
    with pytest.raises(ProgramError, match=message):
        edited(source, **edits)


def test_what_a_semicolon_or_a_colon_joins_has_its_own_lines_and_toggles():
    source = "α = T.tensor(2.0); β = α * 3 ;\nfor i in range(2): γ = β * 2; δ = γ + 1  # both; here\nelse: δ = δ * 2"
    assert parse(source).source.splitlines() == [
        "α = T.tensor(2.0)",
        "β = α * 3 ;",
        "for i in range(2):",
        "    γ = β * 2",
        "    δ = γ + 1  # both; here",
        "else:",
        "    δ = δ * 2",
    ]
    rows = edited(source, no_grad={4}, retain_grad={"β"}).splitlines()
    assert rows[2:6] == ["β.retain_grad()", "for i in range(2):", "    with T.no_grad():", "        γ = β * 2"]


def test_statements_that_have_their_own_lines_stay_as_they_are():
    source = "def f(x): y = x; return y\n\nif f(1) == 1:\n    a = T.ones(2)\nelif f(2) == 2:\n\ta = (1,\n2)\n"
    source += "try:\n  b = ';'\nfinally:\n  c = 1;"
    assert parse(source).source == source
