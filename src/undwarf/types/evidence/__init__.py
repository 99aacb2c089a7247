"""Rules for operands that the data flow alone leaves open: each takes its evidence from another use of the same
value."""
