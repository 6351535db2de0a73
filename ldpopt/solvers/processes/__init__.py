"""Solvers in child processes, which can be killed at a time limit."""
