"""Designs whose influence has a cap: columns and values together, by a convex program over the
extreme columns.
"""
