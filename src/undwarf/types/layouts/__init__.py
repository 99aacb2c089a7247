"""The type graph and layout queries: which member is at an offset, which types contain a type, which layouts fit
accesses."""
