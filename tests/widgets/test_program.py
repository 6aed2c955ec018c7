"""A program is read from the user's own text, and an edit changes that text alone where the toggle says."""

import pytest

from viz.experiments.edits import Edits, edit
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


def lines_of(source, **edits):
    return edit(parse(source), Edits(**edits)).source.splitlines()


def test_the_parts_of_a_program_are_found():
    program = parse(LINE)
    assert [(i.name, i.line, i.value, i.requires_grad) for i in program.inputs] == [
        ("x", 2, 2.0, False),
        ("y", 3, 1.0, False),
        ("w", 4, 0.3, True),
        ("b", 5, 0.1, True),
    ]
    assert program.values == ("d", "e", "L")
    assert [(line.first, line.last, line.kind) for line in program.lines][4:] == [
        (6, 6, "compute"),
        (7, 8, "compute"),
        (9, 9, "compute"),
        (10, 10, "backward"),
    ]
    assert program.passes == {"retain_graph": False, "create_graph": False}


def test_no_edit_leaves_every_character():
    edited = edit(parse(LINE), Edits())
    assert edited.source == LINE
    assert edited.origin == tuple([*range(1, 8), 7, 9, 10])


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
        (
            "w = torch.nn.Parameter(torch.ones(2))",
            "w",
            False,
            "w = torch.nn.Parameter(torch.ones(2), requires_grad=False)",
        ),
    ],
)
def test_requires_grad_is_set_where_the_program_says_it(written, name, wanted, expected):
    assert edit(parse(written), Edits(requires_grad={name: wanted})).source == expected


def test_no_grad_goes_around_the_whole_statement():
    assert lines_of(LINE, no_grad=frozenset({8}))[6:9] == [
        "with T.no_grad():",
        "    e = (d",
        "         + b)",
    ]


def test_two_modes_nest():
    rows = lines_of(LINE, no_grad=frozenset({6}), inference_mode=frozenset({6}))
    assert rows[5:8] == ["with T.no_grad():", "    with T.inference_mode():", "        d = w * x"]


def test_a_line_inside_a_loop_keeps_its_place():
    source = "y = T.tensor(1.0)\nfor i in range(3):\n    y = y * 2"
    assert lines_of(source, no_grad=frozenset({3}), retain_grad=frozenset({"y"})) == [
        "y = T.tensor(1.0)",
        "for i in range(3):",
        "    with T.no_grad():",
        "        y = y * 2",
        "    y.retain_grad()",
    ]


def test_what_is_added_has_no_line_of_origin():
    edited = edit(parse(LINE), Edits(retain_grad=frozenset({"d"}), no_grad=frozenset({9})))
    assert edited.source.splitlines()[6] == "d.retain_grad()"
    assert edited.origin[6] is None
    assert [origin for origin in edited.origin if origin is not None] == [*range(1, 8), 7, 9, 10]


def test_an_added_line_answers_for_the_line_it_was_added_to():
    edited = edit(parse(LINE), Edits(backwards=2))
    assert [edited.line_of(line) for line in (6, 10, 11, None)] == [6, 10, 10, None]


def test_every_pass_but_the_last_keeps_the_graph():
    assert lines_of(LINE, backwards=3, retain_graph=True)[-3:] == [
        "L.backward(retain_graph=True)",
        "L.backward(retain_graph=True)",
        "L.backward()",
    ]
    assert lines_of(LINE, backwards=2)[-2:] == ["L.backward()", "L.backward()"]


def test_gradients_can_be_cleared_between_passes():
    rows = lines_of(LINE, backwards=2, retain_graph=True, zero_grad=True, requires_grad={"b": False})
    assert rows[-3:] == ["L.backward(retain_graph=True)", "w.grad = None", "L.backward()"]


def test_values_hooks_and_detach_are_written_into_the_code():
    rows = lines_of(LINE, values={"w": -1.5}, hooks={"d": "double"}, detach=frozenset({"e"}))
    assert rows[3] == "w = T.tensor(-1.5, requires_grad=True)  # the weight"
    assert rows[6] == "d.register_hook(lambda grad: 2 * grad)"
    assert rows[9] == "e = e.detach()"


@pytest.mark.parametrize(
    ("written", "value", "expected"),
    [("1.0", 2, "2.0"), ("[1.0, 2]", [3, 4], "[3.0, 4.0]"), ("[[1.5]]", [[2]], "[[2.0]]"), ("3", 4, "4")],
)
def test_a_whole_number_stays_a_float_where_floats_were(written, value, expected):
    assert lines_of(f"w = T.tensor({written})", values={"w": value}) == [f"w = T.tensor({expected})"]


def test_anomaly_mode_goes_around_everything():
    rows = lines_of(LINE, anomaly=True)
    assert rows[0] == "with T.autograd.detect_anomaly():"
    assert rows[1:] == ["    " + row for row in LINE.splitlines()]


def test_pasted_pytorch_code_keeps_its_name_for_the_engine():
    source = "import torch\nw = torch.tensor(1.0)\nL = w * w"
    assert lines_of(source, no_grad=frozenset({3}))[2] == "with torch.no_grad():"


def scaled(T, factor=3.0):
    """A docstring is not a line of the program."""
    v = T.tensor([1.0, 2.0], requires_grad=True)
    return (v * factor).sum()


def test_a_function_is_its_body_and_the_names_it_sees():
    program = parse(scaled)
    assert program.source.splitlines() == [
        "v = T.tensor([1.0, 2.0], requires_grad=True)",
        "result = (v * factor).sum()",
    ]
    assert program.namespace == {"factor": 3.0}


def test_a_function_that_needs_more_than_the_engine_is_refused():
    def program(T, missing):
        return T.ones(missing)

    with pytest.raises(ProgramError, match="needs missing; give it a default"):
        parse(program)


@pytest.mark.parametrize(
    ("source", "edits", "message"),
    [
        (LINE, {"no_grad": frozenset({1})}, "line 1: there is no statement here"),
        ("a = T.ones(2)\nb = a * 2", {"detach": frozenset({"b@1"})}, "line 1: no line computes b"),
        (LINE, {"requires_grad": {"q": True}}, "no input is called q"),
        (LINE, {"retain_grad": frozenset({"q"})}, "no line computes q"),
        ("a = T.ones(2)", {"backwards": 2}, "calls no backward"),
        ("a = T.randn(2)", {"values": {"a": [1.0, 2.0]}}, "line 1: the value of a is not written out"),
    ],
)
def test_what_cannot_be_edited_says_where_and_why(source, edits, message):
    with pytest.raises(ProgramError, match=message):
        edit(parse(source), Edits(**edits))


def test_source_that_is_not_python_names_the_line():
    with pytest.raises(ProgramError, match="line 2: this is not Python"):
        parse("a = 1\nb = = 2")


def test_a_non_program_is_a_type_error():
    with pytest.raises(TypeError, match="a source string or a function that takes the engine module, not int"):
        parse(3)


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
    rows = lines_of(source, no_grad=frozenset({4}), retain_grad=frozenset({"β"}))
    assert rows[2:6] == ["β.retain_grad()", "for i in range(2):", "    with T.no_grad():", "        γ = β * 2"]


def test_statements_that_have_their_own_lines_stay_as_they_are():
    source = "def f(x): y = x; return y\n\nif f(1) == 1:\n    a = T.ones(2)\nelif f(2) == 2:\n\ta = (1,\n2)\ntry:\n  b = ';'\nfinally:\n  c = 1;"
    assert parse(source).source == source


RECURRENT = """\
h = T.tensor(1.0, requires_grad=True)
for x in (1.0, 2.0):
    h = h * x
    if x > 1:
        h = h + 1
h.backward()"""


@pytest.mark.parametrize(("value", "place"), [("h@3", 3), ("h@5", 5), ("h", 5)])
def test_a_value_that_several_lines_compute_is_cut_where_the_toggle_stands(value, place):
    rows = lines_of(RECURRENT, detach=frozenset({value}))
    assert rows[place].strip() == "h = h.detach()"
    assert len(rows) == 7


TWICE = """\
w = T.tensor(2.0, requires_grad=True)
L = w * w
L.backward()
v = T.tensor(2.0, requires_grad=True)
L.backward()"""


def test_retain_graph_is_asked_of_every_pass_of_the_program():
    rows = lines_of(TWICE, retain_graph=True)
    assert rows[2] == rows[4] == "L.backward(retain_graph=True)"
    rows = lines_of(TWICE, retain_graph=True, backwards=2)
    assert rows[4:] == ["L.backward(retain_graph=True)", "L.backward()"]
    assert lines_of("L.backward(retain_graph=True)", retain_graph=False) == ["L.backward(retain_graph=False)"]
    assert parse("L.backward(retain_graph=True)").passes["retain_graph"]


def test_gradients_are_cleared_before_every_pass_but_the_first():
    assert lines_of(TWICE, zero_grad=True)[2:] == [
        "L.backward()",
        "v = T.tensor(2.0, requires_grad=True)",
        "w.grad = None",
        "v.grad = None",
        "L.backward()",
    ]
    assert lines_of(
        "w = T.ones(2, requires_grad=True)\nfor i in range(2):\n    (w * w).sum().backward()", zero_grad=True
    )[2:] == [
        "    w.grad = None",
        "    (w * w).sum().backward()",
    ]
