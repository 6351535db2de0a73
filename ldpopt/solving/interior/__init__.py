"""Interior points made for channel programs: compact ones, graphs and metrics, event-wise delta."""
