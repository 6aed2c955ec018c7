"""Comparisons and logic: results are booleans, and no gradient goes through them."""

from __future__ import annotations

import numpy as np

from .op import Op


class _Compare(Op):
    promotes = True


class Eq(_Compare):
    def forward(self, other):
        return np.equal(self, other)


class Ne(_Compare):
    def forward(self, other):
        return np.not_equal(self, other)


class Lt(_Compare):
    def forward(self, other):
        return np.less(self, other)


class Le(_Compare):
    def forward(self, other):
        return np.less_equal(self, other)


class Gt(_Compare):
    def forward(self, other):
        return np.greater(self, other)


class Ge(_Compare):
    def forward(self, other):
        return np.greater_equal(self, other)


class BitwiseAnd(_Compare):
    def forward(self, other):
        return np.bitwise_and(self, other)


class BitwiseOr(_Compare):
    def forward(self, other):
        return np.bitwise_or(self, other)


class BitwiseXor(_Compare):
    def forward(self, other):
        return np.bitwise_xor(self, other)


class BitwiseNot(Op):
    def forward(self):
        return np.invert(self)


class IsNan(Op):
    def forward(self):
        return np.isnan(self)


def eq(input, other):
    """True where input == other."""
    return Eq.apply(input, other)


def ne(input, other):
    """True where input != other."""
    return Ne.apply(input, other)


def lt(input, other):
    """True where input < other."""
    return Lt.apply(input, other)


def le(input, other):
    """True where input <= other."""
    return Le.apply(input, other)


def gt(input, other):
    """True where input > other."""
    return Gt.apply(input, other)


def ge(input, other):
    """True where input >= other."""
    return Ge.apply(input, other)


def bitwise_and(input, other):
    """input & other."""
    return BitwiseAnd.apply(input, other)


def bitwise_or(input, other):
    """input | other."""
    return BitwiseOr.apply(input, other)


def bitwise_xor(input, other):
    """input ^ other."""
    return BitwiseXor.apply(input, other)


def bitwise_not(input):
    """~input."""
    return BitwiseNot.apply(input)


def isnan(input):
    """True where input is not a number."""
    return IsNan.apply(input)


def equal(input, other):
    """True if both have the same shape and the same elements."""
    return input._data.shape == other._data.shape and bool(np.array_equal(input._data, other._data))


def allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """True if |input - other| <= atol + rtol * |other| everywhere."""
    return bool(np.allclose(input._data, other._data, rtol=rtol, atol=atol, equal_nan=equal_nan))
