/* Keeps the functions that are entered in an array on the stack of main, which a stack dump holds. */
struct shadow {
    volatile unsigned long magic[2];
    volatile unsigned long depth;
    volatile unsigned short functions[500];
};

#define MAGIC_1 0x5ead0fca11edf00dUL
#define MAGIC_2 0x0ddba11c0ffee123UL

/* What may be sampled by id; the names are those of the functions. */
#define FUNCTIONS(X) X(main) X(work) X(leaf) X(small) X(big) X(variable) X(factorial) X(even) X(odd) X(dispatch) \
    X(pick) X(before_jump) X(after_jump) X(compare) X(sorter) X(one_leaf) X(one_step) X(one_walk) X(one_recursive) \
    X(one_each) X(two_leaf) X(two_twice) X(two_back) X(two_spread) X(visit) X(chain) X(inner)

#define ID(name) ID_##name,
enum { ID_NONE, FUNCTIONS(ID) };

extern struct shadow *shadow;

#define ENTER(name) (shadow->functions[shadow->depth] = ID_##name, shadow->depth++)
#define LEAVE() (shadow->depth--)
#define FUNCTION __attribute__((noinline, noclone, noipa))
