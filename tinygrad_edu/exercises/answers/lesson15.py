"""Lesson 15, the project: a broken training is diagnosed, explained with numbers, and repaired. One of five is enough.

A hand-in is data. The repair runs; what it predicts is judged. The numbers of the evidence are computed again here.
"""

from ..exercise import Exercise
from ..projects import blamed, judged, weighed
from ..projects import named as judged_cause
from ..running.helpers import predictions

SEED = 2


def project(name, lines, cause, repairs, evidence):
    """The exercise about one of the five, with its right hand-ins: the lines at fault, and some ways to repair it."""
    made = Exercise(
        f"project_{name}",
        f'project_{name} = {{"line": …, "cause": …, "evidence": {{…}}, "repair": {{…}}}}',
        lesson=15,
        seconds=10.0,
        choice="project",
    )
    for repair in repairs:
        made.right({"line": lines[0], "cause": cause, "evidence": evidence, "repair": repair})

    @made.criterion("Repaired, it learns", points=4, cases=[(name, SEED)], measure=judged)
    def learns(answer, T, program, seed):
        return None if answer["repair"] is None else predictions(T, program, answer["repair"], seed)

    @made.criterion(
        "The line is one that causes it", cases=[()], measure=lambda line: None if line is None else blamed(line, lines)
    )
    def line(answer):
        return answer["line"]

    @made.criterion(
        "The cause is named", cases=[()], measure=lambda told: None if told is None else judged_cause(told, cause)
    )
    def named(answer):
        return answer["cause"]

    @made.criterion(
        "The evidence is what the broken program shows",
        points=2,
        cases=[()],
        measure=lambda given: None if given is None else weighed(given, name),
    )
    def shown(answer):
        given = answer["evidence"]
        blank = isinstance(given, dict) and all(number is None for number in given.values())
        return None if blank else given

    return made


def mistaken(exercise, name, hint, **other):
    """Add a hand-in that is right but for some entries."""
    exercise.wrong(hint, name=name)(exercise.rights[0] | other)


project_classifier = project(
    "classifier",
    (11, 10),
    "shapes",
    [
        {11: "loss = ((p.squeeze(1) - y) ** 2).mean()"},
        {11: "loss = ((p - y.unsqueeze(1)) ** 2).mean()"},
        {10: "p = model(x).squeeze(1)"},
    ],
    {"last loss": 0.246, "numbers in the difference": 6400},
)
mistaken(
    project_classifier,
    "another_step",
    "It still gives every point the same answer. Another learning rate, or more steps, find the best *one* answer "
    "sooner: the mean of all labels. The loss compares each prediction with each label, because two shapes are "
    "broadcast.",
    repair={3: "optimizer = T.optim.Adam(model.parameters(), lr=0.01)"},
)
mistaken(
    project_classifier,
    "means_compared",
    "The shapes agree now, but something else is compared: the loss must compare each prediction with the label of its "
    "own point. Take the axis of length 1 away, and average after the square.",
    repair={11: "loss = (p.mean() - y.mean()) ** 2"},
)
mistaken(
    project_classifier,
    "blames_backward",
    "Nothing is wrong with how the gradient goes back. `loss.backward()` is where the mistake takes effect; it was "
    "made where the loss was computed.",
    line=13,
)
mistaken(
    project_classifier,
    "blames_the_step",
    "If the steps were too large, the loss would jump or grow. It goes down to 0.246 and stays: that is the variance "
    "of the labels, the loss of one answer for all points. Which shape has `p - y`?",
    cause="step too large",
)
mistaken(
    project_classifier,
    "blames_the_depth",
    "There are two layers, and `viz.watch` shows a gradient in both. Nothing vanishes on so short a way. Which shape "
    "has `p - y`?",
    cause="vanishing",
)
mistaken(
    project_classifier,
    "loss_of_the_repaired",
    "A last loss this small belongs to the repaired program. Evidence is what the *broken* one shows: run it without a "
    "repair.",
    evidence={"last loss": 0.01, "numbers in the difference": 6400},
)
mistaken(
    project_classifier,
    "eighty_numbers",
    "80 is what it should be, one for each point. Evidence is what the broken program shows: draw its loss, and read "
    "off the shape of `p - y`.",
    evidence={"last loss": 0.246, "numbers in the difference": 80},
)

project_language = project(
    "language",
    (13,),
    "sees the answer",
    [
        {13: "self.seen = column <= row"},
        {13: "self.seen = row >= column"},
        {19: "fit = T.where(T.arange(n) <= T.arange(n).unsqueeze(1), fit, T.tensor(-1e9))"},
    ],
    {"last loss": 0.0, "least honest loss": 0.768},
)
mistaken(
    project_language,
    "still_peeks",
    "Its loss is still near 0, which nobody can reach who does not see the next letter: three letters of seven are "
    "drawn by a die. The mask lets each letter see its successor. Less training, or another rate, only hides it.",
    repair={26: "optimizer = T.optim.Adam(model.parameters(), lr=0.03)"},
)
mistaken(
    project_language,
    "sees_too_little",
    "Now it does not see the answer, but not enough of the past either: the letter that it needs stands four places "
    "earlier. A letter may see itself and *all* before it.",
    repair={13: "self.seen = column == row"},
)
mistaken(
    project_language,
    "blames_the_softmax",
    "The softmax spreads its weights over what the mask admits. It does what it is told; what it is told was decided "
    "where the mask was made.",
    line=20,
)
mistaken(
    project_language,
    "blames_the_gradient",
    "The loss falls, so the gradient arrives. It even falls too far. What does the model see that it should predict?",
    cause="vanishing",
)
mistaken(
    project_language,
    "nothing_wrong",
    "A loss of 0 is no success here. The first letters of a text are drawn by a die: no honest model can know them. "
    "What does this model see?",
    cause="step too large",
)
mistaken(
    project_language,
    "honest_loss_is_zero",
    "Of the seven letters that are asked for, three are drawn from six by a die. Each costs an honest model `ln 6` on "
    "average, and the other four cost nothing: the least loss is `3 / 7 · ln 6`.",
    evidence={"last loss": 0.0, "least honest loss": 0.0},
)
mistaken(
    project_language,
    "repaired_loss",
    "The last loss of the *broken* program is much smaller. Was this one read off after the repair?",
    evidence={"last loss": 0.73, "least honest loss": 0.768},
)

project_gan = project(
    "gan",
    (18, 12),
    "cut",
    [
        {18: "g_loss = ((critic(generator(z)) - 1) ** 2).mean()"},
        {
            12: "fake = generator(z)",
            13: "c_loss = ((critic(real) - 1) ** 2).mean() + (critic(fake.detach()) ** 2).mean()",
        },
        {18: "fake = generator(z)\ng_loss = ((1 - critic(fake)) ** 2).mean()"},
    ],
    {"last loss": 0.992, "the generator moved by": 0.0},
)
mistaken(
    project_gan,
    "still_cut",
    "The generator still makes what it made before its first step. Whatever the rates and the number of steps, the "
    "loss of the generator is computed from a detached tensor, so no gradient comes back to it.",
    repair={4: "g_optimizer = T.optim.Adam(generator.parameters(), lr=0.5, betas=(0.5, 0.9))"},
)
mistaken(
    project_gan,
    "helps_the_critic",
    "The generator moves now, but not to where the critic says 1. Its loss is smallest where the critic takes the "
    "imitation for *real*: compare with 1, not with 0.",
    repair={18: "g_loss = (critic(generator(z)) ** 2).mean()"},
)
mistaken(
    project_gan,
    "blames_the_critic",
    "The critic's loss is right: it learns, and it learns from imitations that are cut off, as it should. The "
    "generator has a line of its own for its loss.",
    line=13,
)
mistaken(
    project_gan,
    "not_in_the_optimizer",
    "`g_optimizer` holds the generator's parameters: line 4 says so. It skips them at each step, because their `.grad` "
    "is None. Why does none arrive?",
    cause="not trained",
)
mistaken(
    project_gan,
    "critic_too_strong",
    "The critic does win, because nobody plays against it: the generator gets no gradient at all, not a small one. "
    "Where is it lost?",
    cause="vanishing",
)
mistaken(
    project_gan,
    "it_moved",
    "In the broken program the weights of the generator are the same numbers at the end as at the beginning. Compare "
    "them before and after `train`, of the program without a repair.",
    evidence={"last loss": 0.992, "the generator moved by": 1.5},
)
mistaken(
    project_gan,
    "repaired_gan",
    "The last loss of the *broken* program is near 1: the critic answers 0 to every imitation. This one is smaller. "
    "Was it read off after the repair?",
    evidence={"last loss": 0.25, "the generator moved by": 0.0},
)

project_policy = project(
    "policy",
    (14,),
    "sign",
    [
        {14: "loss = -(log_p.gather(1, action).squeeze(1) * better).mean()"},
        {14: "loss = (log_p.gather(1, action).squeeze(1) * -better).mean()"},
        {13: "better = got.mean() - got"},
    ],
    {"first reward": 0.3125, "last reward": 0.0},
)
mistaken(
    project_policy,
    "slower_to_the_worst",
    "It still learns the levers that pay nothing. A smaller rate only makes it slower to get there. The step makes "
    "rewarded actions *less* likely: the loss falls, and the reward falls with it.",
    repair={3: "optimizer = T.optim.Adam(model.parameters(), lr=0.02)"},
)
mistaken(
    project_policy,
    "forgets_the_reward",
    "It no longer learns the worst levers, but it does not learn the best either. Whether an action becomes more "
    "likely must depend on what it *got*.",
    repair={14: "loss = -log_p.gather(1, action).squeeze(1).mean()"},
)
mistaken(
    project_policy,
    "blames_the_dice",
    "That is how an action is drawn by its probability: the noise is right, and no gradient should pass here. What is "
    "done with the reward afterwards?",
    line=11,
)
mistaken(
    project_policy,
    "blames_the_rate",
    "The steps are not too large: the reward does not jump, it falls and stays at 0. The policy has learned exactly "
    "what it was told. What is it told to make small?",
    cause="step too large",
)
mistaken(
    project_policy,
    "blames_the_detach",
    "The detach is right: which action was drawn has no gradient. The probability of that action has one, and "
    "`viz.watch` shows it in both layers. Where does the step lead?",
    cause="cut",
)
mistaken(
    project_policy,
    "reward_of_the_repaired",
    "The mean reward of the *broken* program ends at 0. A reward near 1 belongs to the repaired one.",
    evidence={"first reward": 0.3125, "last reward": 1.0},
)
mistaken(
    project_policy,
    "first_of_another",
    "The first reward is that of the first step, before anything was learned: about one action in three is the best by "
    "chance. "
    '`result["rewards"][0]` has it.',
    evidence={"first reward": 0.0, "last reward": 0.0},
)

project_autoencoder = project(
    "autoencoder",
    (7, 16),
    "not trained",
    [
        {7: "self.decoder = T.nn.ModuleList([T.nn.Linear(2, 16), T.nn.Linear(16, 8)])"},
        {7: "self.decoder = T.nn.Sequential(T.nn.Linear(2, 16), T.nn.Linear(16, 8))"},
        {
            16: "held = [*model.parameters(), *model.decoder[0].parameters(), *model.decoder[1].parameters()]\n"
            "optimizer = T.optim.Adam(held, lr=0.02)"
        },
    ],
    {"numbers in the optimizer": 18, "numbers in the network": 202},
)
mistaken(
    project_autoencoder,
    "only_the_encoder",
    "It is hardly better than before: the encoder alone learns, for a decoder that stays as it was drawn. No rate and "
    "no number of steps moves a parameter that the optimizer does not hold.",
    repair={16: "optimizer = T.optim.Adam(model.parameters(), lr=0.03)"},
)
mistaken(
    project_autoencoder,
    "half_of_the_decoder",
    "It is better than before, and not good: a part of the decoder still stays as it was drawn. *Both* of its layers "
    "must be registered.",
    repair={7: "self.first = T.nn.Linear(2, 16)\nself.decoder = [self.first, T.nn.Linear(16, 8)]"},
)
mistaken(
    project_autoencoder,
    "blames_the_two",
    "Two numbers are enough: these eight hold only two. The narrow place is the point of an autoencoder, and not its "
    "fault.",
    line=6,
)
mistaken(
    project_autoencoder,
    "blames_the_tanh",
    "The gradient passes the tanh well: `viz.watch` shows that it arrives at the encoder. Which layers has the map no "
    "row for?",
    cause="vanishing",
)
mistaken(
    project_autoencoder,
    "blames_a_cut",
    "Nothing is cut: a gradient arrives at the decoder's weights, too, as their `.grad` shows. But nobody uses it. Who "
    "should?",
    cause="cut",
)
mistaken(
    project_autoencoder,
    "counted_after_the_repair",
    "In the *broken* program the optimizer holds fewer numbers: `sum(p.numel() for p in model.parameters())`.",
    evidence={"numbers in the optimizer": 202, "numbers in the network": 202},
)
mistaken(
    project_autoencoder,
    "only_what_is_held",
    "The network has more numbers than its `parameters()` say. Draw the loss, and add up the weights and biases of all "
    "three layers.",
    evidence={"numbers in the optimizer": 18, "numbers in the network": 18},
)
