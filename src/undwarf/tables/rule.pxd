cimport cython

from undwarf.tables.rule_format cimport ENTRIES, STRIDE

# A rule as it is in rule sets and files: 80 words (STRIDE). `undwarf.tables.rule_kinds` has its kinds and flags.

# How the caller's value of a register is found. `value` is an offset, a register's number or an expression's; AT_REGISTER
# adds it to the register `base`.
cdef struct SavedRegister:
    int number
    int kind
    int value
    int base

# `cfa_extra` is what is added to a word that was read (CFA_DEREF), from which remainder of 16 of the address on a lazy
# linkage stub has pushed 8 bytes (CFA_PLT), or the number of an expression. `source` is one of undwarf.tables.sources.
# The return address has the column `return_column`, and is the first of those saved.
cdef struct UnwindRule:
    int cfa_kind
    int cfa_register
    int cfa_offset
    int cfa_extra
    int flags
    int source
    int saved_count
    int return_column
    SavedRegister saved[ENTRIES]

ctypedef const UnwindRule *RulePointer
ctypedef const SavedRegister *SavedPointer
# While it is written.
ctypedef UnwindRule *NewRule
ctypedef SavedRegister *NewSaved


# The rule of a number; `words` has those of all rules. That its last word is there is what bounds are checked for.
@cython.boundscheck(True)
@cython.wraparound(False)
cdef inline RulePointer rule_at(const int[::1] words, unsigned int number) except NULL nogil:
    return <RulePointer> (&words[STRIDE * <Py_ssize_t> number + STRIDE - 1] - (STRIDE - 1))
