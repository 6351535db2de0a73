"""Core: mechanisms: exactly private channels, their exact samplers, and reports in tables.

In: a channel of floats and a privacy notion. Out: a `Mechanism` with integer masses, repaired and
audited.
"""
