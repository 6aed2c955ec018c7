"""Lesson 14, traced and compiled: a graph that is written down once, and run many times."""

from ..exercise import Exercise

# What becomes of the tape and the values is a criterion of its own.
replay = Exercise("replay", "replay(tape, ops, values)", lesson=14, may_change=("tape", "values"))

LINE = [("p", "mul", ("w", "x")), ("q", "add", ("p", "b"))]
DIFFERENCE = [("d", "sub", ("y", "x"))]
SQUARED = [("d", "sub", ("x", "y")), ("n", "neg", ("d",)), ("L", "mul", ("n", "d"))]


@replay.right
def in_a_copy(tape, ops, values):
    known = dict(values)
    for result, op, inputs in tape:
        known[result] = ops[op](*(known[name] for name in inputs))
    return known[tape[-1][0]]


@replay.right
def looked_up_twice(tape, ops, values):
    made, last = {}, None
    for result, op, inputs in tape:
        arguments = [made[name] if name in made else values[name] for name in inputs]
        last = made[result] = ops[op](*arguments)
    return last


@replay.wrong("You passed the inputs of a step in another order: y - x is not x - y. Keep the order of the tape.")
def inputs_in_another_order(tape, ops, values):
    return in_a_copy([(result, op, inputs[::-1]) for result, op, inputs in tape], ops, values)


@replay.wrong("You returned every value that was computed. Return only the value of the last step.")
def all_values(tape, ops, values):
    known = dict(values)
    for result, op, inputs in tape:
        known[result] = ops[op](*(known[name] for name in inputs))
    return known


@replay.wrong(
    "You returned the result of the first step. Is there a `return` inside the loop? Run the tape to its end."
)
def stops_after_one_step(tape, ops, values):
    return in_a_copy(tape[:1], ops, values)


@replay.wrong(
    "The numbers are right, but you wrote the results into `values`, which belongs to the caller. If the tape is "
    "replayed with the same dict, it finds its old results there. Work on a copy."
)
def writes_into_values(tape, ops, values):
    for result, op, inputs in tape:
        values[result] = ops[op](*(values[name] for name in inputs))
    return values[tape[-1][0]]


@replay.wrong("You passed a step the *names* of its inputs. Look up the current value of each name.")
def hands_names_over(tape, ops, values):
    known = dict(values)
    for result, op, inputs in tape:
        known[result] = ops[op](*inputs)
    return known[tape[-1][0]]


@replay.criterion(
    "The last step's value, for whatever inputs it is replayed with",
    points=2,
    cases=[
        (DIFFERENCE, {"x": 2.0, "y": 5.0}),
        (LINE, {"w": 2.0, "x": 3.0, "b": 1.0}),
        (LINE, {"w": -1.0, "x": 0.5, "b": 4.0}),
        (SQUARED, {"x": 2.0, "y": 5.0}),
    ],
    anything=["values"],
)
def replayed(answer, tape, values):
    ops = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "neg": lambda a: -a}
    return answer(tape, ops, values)


@replay.criterion("`values` and the tape are left as they were", cases=[(LINE, {"w": 2.0, "x": 3.0, "b": 1.0})])
def left_alone(answer, tape, values):
    ops = {"add": lambda a, b: a + b, "mul": lambda a, b: a * b}
    something = answer(tape, ops, values)
    return None if something is None else {"values": values, "tape": tape}
