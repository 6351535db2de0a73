"""What comes out: the private channel that is handed to users, and the draws from it.

In: a channel of floats and the notion that it is to keep. Out: a `Mechanism` with exact integer masses, repaired and
audited, its exact sampler, its file.
"""
