// The library of dlswap.c, built twice: -DLETTER=a -DROOM=16 and -DLETTER=b -DROOM=700.
#define JOIN2(x, y) x##_##y
#define JOIN(x, y) JOIN2(x, y)
#define NAMED(x) JOIN(x, LETTER)
#define STAY __asm__ volatile("" ::: "memory")

__attribute__((noinline)) int NAMED(burn)(int value) {
    volatile int room[ROOM];
    for (int i = 0; i < 4000; i++)
        room[i % ROOM] = value + i;
    STAY;
    return room[value % ROOM];
}

__attribute__((noinline)) int NAMED(middle)(int value) {
    volatile int room[ROOM / 2];
    room[0] = NAMED(burn)(value);
    STAY;
    return room[0];
}

int NAMED(first)(int value) {
    int result = NAMED(middle)(value) + 1;
    STAY;
    return result;
}
