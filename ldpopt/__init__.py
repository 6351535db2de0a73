"""ldpopt: state a problem, get the provably best private mechanism."""

from ldpopt import closed_forms, constraints, datasets, errors, neighbors, privacy, utility
from ldpopt.budget import Budget
from ldpopt.certificate import Certificate, certify
from ldpopt.divergence import Audit, audit
from ldpopt.estimate import Estimate, estimate_frequencies
from ldpopt.formulation import formulate
from ldpopt.mechanism import Mechanism
from ldpopt.modelfile import load_model, save_model
from ldpopt.privacy import ApproximateLDP, GraphDP, MetricDP, PureLDP
from ldpopt.problem import Problem
from ldpopt.program import LinearProgram, RowBlock
from ldpopt.repair import repair
from ldpopt.solution import Solution
from ldpopt.solve import solve
from ldpopt.solvers import Status
from ldpopt.utility import Utility
