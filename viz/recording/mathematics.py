r"""Mathematics in labels: what stands between dollar signs, as TeX writes it, becomes letters: `$\theta_1$` is θ₁.

Unicode has the Greek letters, the signs, and raised and lowered digits and letters. What it lacks stays as typed.
"""

from __future__ import annotations

import re
import unicodedata

_NAMED = """
cdot ·, circ ∘, ell ℓ, ge ≥, infty ∞, int ∫, langle ⟨, ldots …, le ≤, nabla ∇, ne ≠, odot ⊙, otimes ⊗, partial ∂, pm ±,
prod ∏, rangle ⟩, rightarrow →, sim ∼, sqrt √, sum ∑, times ×, to →, top ᵀ, varepsilon ε, in ∈, approx ≈, propto ∝,
mid |, cdots ⋯, varphi φ, phi ϕ, epsilon ϵ"""
_SIGNS: dict[str, str] = dict(re.findall(r"([\w-]+) ([^,]+)", _NAMED))
_ACCENTS = {"hat": "\u0302", "tilde": "\u0303", "bar": "\u0304", "dot": "\u0307", "vec": "\u20d7"}
_ALPHABETS = {"mathcal": "SCRIPT", "mathbb": "DOUBLE-STRUCK", "mathbf": "MATHEMATICAL BOLD"}
_GROUP = r"\{([^{}]*)\}"


def readable(text: str) -> str:
    r"""The text with its mathematics as letters.

    >>> readable(r"gradient of $L$ by $\theta_1$, $\hat{y}^{(2)}$ and $W_{ij}$ for 5 $")
    'gradient of L by θ₁, ŷ⁽²⁾ and Wᵢⱼ for 5 $'
    >>> readable("from $5 to $6")
    'from $5 to $6'
    """
    return re.sub(r"\$(?=\S)([^$\n]*[^$\s])\$(?!\d)", lambda match: _letters(match[1]), text)


def _letters(tex: str) -> str:
    made = re.sub(r"\\(?:mathrm|text|operatorname|mathit|left|right)\b", "", tex)
    made = re.sub(rf"\\frac\s*{_GROUP}\s*{_GROUP}", lambda match: "/".join(map(_part, match.groups())), made)
    made = re.sub(rf"\\({'|'.join(_ACCENTS)})(?:\s*{_GROUP}|\s+(\w))", _accented, made)
    made = re.sub(rf"\\({'|'.join(_ALPHABETS)})\s*(?:{_GROUP}|(\w))", _in_alphabet, made)
    made = re.sub(r"\\([A-Za-z]+)\s?", _sign, made)
    made = re.sub(rf"([_^])(?:{_GROUP}|(.))", _moved, made)
    return made.replace("{", "").replace("}", "")


def _accented(match: re.Match[str]) -> str:
    return unicodedata.normalize("NFC", (match[2] or match[3]) + _ACCENTS[match[1]])


def _in_alphabet(match: re.Match[str]) -> str:
    return "".join(_of(_ALPHABETS[match[1]], letter) for letter in match[2] or match[3])


def _sign(match: re.Match[str]) -> str:
    name = match[1]
    if name in _SIGNS:
        return _SIGNS[name]
    size = "CAPITAL" if name[0].isupper() else "SMALL"
    return _named(f"GREEK {size} LETTER {'LAMDA' if name.lower() == 'lambda' else name.upper()}") or match[0]


def _moved(match: re.Match[str]) -> str:
    """What follows `_` or `^` lowered or raised; as it was typed if one of its characters has no such form."""
    mark, text = match[1], match[2] or match[3] or ""
    if mark == "^" and text in ("ᵀ", "T"):
        return "ᵀ"
    moved = [_raised(letter, "SUBSCRIPT" if mark == "_" else "SUPERSCRIPT") for letter in text]
    return "".join(moved) if all(moved) else f"{mark}{_part(text)}"


def _raised(character: str, place: str) -> str:
    """One character lowered or raised; nothing if there is no such letter."""
    name = unicodedata.name(character, "").removeprefix("DIGIT ").replace("HYPHEN-MINUS", "MINUS")
    small = name.removeprefix("LATIN SMALL LETTER ")
    if small == name:
        return _named(f"{place} {name}")
    if place == "SUBSCRIPT":
        return _named(f"LATIN SUBSCRIPT SMALL LETTER {small}")
    return _named(f"MODIFIER LETTER SMALL {small}") or _named(f"SUPERSCRIPT LATIN SMALL LETTER {small}")


def _of(alphabet: str, character: str) -> str:
    """A letter in another alphabet, such as ℒ or ℝ."""
    name = unicodedata.name(character, "").removeprefix("LATIN ").replace(" LETTER", "")
    return _named(f"{alphabet} {name}") or _named(f"MATHEMATICAL {alphabet} {name}") or character


def _part(text: str) -> str:
    return text if len(text) == 1 else f"({text})"


def _named(name: str) -> str:
    """The character of this name; nothing if there is none."""
    try:
        return unicodedata.lookup(name)
    except KeyError:
        return ""
