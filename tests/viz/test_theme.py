"""Everybody can read the colours: there is enough contrast, and colour is never the only sign."""

import itertools

import pytest

from viz.picture import theme

ON = {"ink": ("paper", "box", "leaf-fill", "input-fill", "pill", "run", "error-fill")}
ON |= {"soft": ("paper", "box", "leaf-fill", "input-fill", "pill", "run")}
ON |= {"grad-ink": ("paper", "box", "leaf-fill", "run"), "saved-ink": ("saved-fill",)}


def luminance(colour):
    channels = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    red, green, blue = (one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("colours", [theme.LIGHT, theme.DARK], ids=["light", "dark"])
def test_text_and_outlines_that_carry_meaning_have_the_contrast_that_wcag_aa_asks_for(colours):
    for ink, grounds in ON.items():
        assert min(contrast(colours[ink], colours[ground]) for ground in grounds) >= 4.5, ink
    for name in ("leaf", "input", "line", "grad", "pill-line", "error"):
        assert contrast(colours[name], colours["paper"]) >= 3, name
    assert theme.LIGHT.keys() == theme.DARK.keys()


def test_kinds_of_boxes_differ_by_more_than_colour():
    def lines(kind):
        found = [rule for rule in theme._RULES if rule.startswith(f"& .{kind} ")]
        return tuple(part for rule in found for part in rule.split(";") if "dash" in part or "width" in part)

    for one, other in itertools.combinations(["leaf", "input", "result"], 2):
        assert lines(one) != lines(other)
