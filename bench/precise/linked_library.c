/* The shared library of linked.c. */
unsigned library_add(unsigned a, unsigned b) { return a * 31 + b; }
unsigned library_apply(unsigned (*call)(unsigned), unsigned value) { return call(value) + library_add(value, 5); }
unsigned library_tail(unsigned value) { return library_add(value + 1, 9); }
void library_copy(void *to, const void *from, unsigned long size) {
    __asm__ volatile("rep movsb" : "+S"(from), "+D"(to), "+c"(size)::"memory");
}
