"""Data types as a graph: records of types, their members, what lies at an offset, which types fit into which."""
