"""What debugging information, BTF and symbol tables say: types, variables and their places, prototypes, objects."""
