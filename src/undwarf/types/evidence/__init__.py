"""Rules for operands whose address the data flow leaves ambiguous; each takes its evidence from another use of the same
value."""
