"""Interior-point methods for channel programs: compact programs, graphs and metrics, and event-wise
delta.
"""
