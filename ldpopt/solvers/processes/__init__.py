"""Solvers that can be stopped: a process of their own, and the numbers that travel to it and back."""
