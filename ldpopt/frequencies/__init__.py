"""Frequency protocols of the field: estimator, variance and exact true privacy of each, one a file."""

from ldpopt.frequencies.local_hashing import LocalHashing
from ldpopt.frequencies.protocol import FrequencyProtocol
from ldpopt.frequencies.randomized_response import RandomizedResponse
from ldpopt.frequencies.subset_selection import SubsetSelection
from ldpopt.frequencies.unary import UnaryEncoding

__all__ = ["FrequencyProtocol", "LocalHashing", "RandomizedResponse", "SubsetSelection", "UnaryEncoding"]
