// A program to look at: makes text, counts its words in a hash table, sorts them, looks some up again.
// It needs no C library, so that the recording in recording/ can bring its whole world in a few kilobytes:
//   gcc -O2 -ffreestanding -nostdlib -static -fno-stack-protector -fasynchronous-unwind-tables words.c -o words
// words [ROUNDS], default 60.

typedef unsigned long size;
#define FRAME __attribute__((noinline))
#define STAY __asm__ volatile("" ::: "memory")

enum { TEXT = 1 << 17, SLOTS = 1 << 14, WORD = 16 };

struct entry {
    char word[WORD];
    long count;
};

static char text[TEXT];
static struct entry table[SLOTS];
static struct entry *sorted[SLOTS], *scratch[SLOTS];
static unsigned long state = 42;

void *memset(void *to, int value, size n) {
    char *out = to;
    while (n--)
        *out++ = (char)value;
    return to;
}

void *memcpy(void *to, const void *from, size n) {
    char *out = to;
    const char *in = from;
    while (n--)
        *out++ = *in++;
    return to;
}

FRAME static unsigned random_number(void) {
    state = state * 6364136223846793005UL + 1442695040888963407UL;
    return (unsigned)(state >> 33);
}

FRAME static void make_text(void) {
    size at = 0;
    while (at + WORD < TEXT) {
        unsigned seed = random_number() % 5000, length = 2 + seed % 11;
        for (unsigned i = 0; i < length; i++, seed = seed * 7 + 3)
            text[at++] = (char)('a' + seed % 26);
        text[at++] = ' ';
    }
    while (at < TEXT)
        text[at++] = ' ';
    STAY;
}

FRAME static unsigned hash(const char *word) {
    unsigned value = 2166136261u;
    for (; *word; word++)
        value = (value ^ (unsigned char)*word) + 1;
    return value;
}

FRAME static int compare(const char *a, const char *b) {
    while (*a && *a == *b)
        a++, b++;
    return (unsigned char)*a - (unsigned char)*b;
}

FRAME static struct entry *find_slot(const char *word) {
    unsigned at = hash(word) & (SLOTS - 1);
    while (table[at].count && compare(table[at].word, word))
        at = (at + 1) & (SLOTS - 1);
    STAY;
    return &table[at];
}

FRAME static void count_word(const char *from, size length) {
    char word[WORD] = {0};
    memcpy(word, from, length < WORD - 1 ? length : WORD - 1);
    struct entry *slot = find_slot(word);
    if (!slot->count)
        memcpy(slot->word, word, WORD);
    slot->count++;
    STAY;
}

FRAME static void count_words(void) {
    memset(table, 0, sizeof table);
    size start = 0;
    for (size at = 0; at < TEXT; at++)
        if (text[at] == ' ') {
            if (at > start)
                count_word(text + start, at - start);
            start = at + 1;
        }
    STAY;
}

FRAME static void merge(struct entry **from, size half, size n) {
    size left = 0, right = half, out = 0;
    while (left < half || right < n) {
        int take_left = right >= n || (left < half && compare(from[left]->word, from[right]->word) <= 0);
        scratch[out++] = take_left ? from[left++] : from[right++];
    }
    memcpy(from, scratch, n * sizeof *from);
    STAY;
}

FRAME static void merge_sort(struct entry **from, size n) {
    if (n < 2)
        return;
    merge_sort(from, n / 2);
    merge_sort(from + n / 2, n - n / 2);
    merge(from, n / 2, n);
    STAY;
}

FRAME static size sort_words(void) {
    size n = 0;
    for (size at = 0; at < SLOTS; at++)
        if (table[at].count)
            sorted[n++] = &table[at];
    merge_sort(sorted, n);
    STAY;
    return n;
}

FRAME static long look_up(size n) {
    long found = 0;
    for (int i = 0; i < 3000; i++) {
        const char *wanted = sorted[random_number() % n]->word;
        size low = 0, high = n;
        while (low + 1 < high) {
            size middle = (low + high) / 2;
            if (compare(sorted[middle]->word, wanted) <= 0)
                low = middle;
            else
                high = middle;
        }
        found += sorted[low]->count;
    }
    STAY;
    return found;
}

FRAME static long one_round(void) {
    make_text();
    count_words();
    long found = look_up(sort_words());
    STAY;
    return found;
}

FRAME int main(int argc, char **argv) {
    int rounds = 60;
    if (argc > 1)
        for (rounds = 0; *argv[1]; argv[1]++)
            rounds = rounds * 10 + *argv[1] - '0';
    long found = 0;
    while (rounds-- > 0)
        found += one_round();
    return found == 1;
}

__attribute__((used)) static void leave(int code) {
    __asm__ volatile("syscall" ::"a"(231L), "D"((long)code) : "rcx", "r11", "memory");
    __builtin_unreachable();
}

__asm__(".text\n.globl _start\n.type _start, @function\n_start:\n"
        ".cfi_startproc\n.cfi_undefined rip\n"
        "xor %ebp, %ebp\nmov (%rsp), %rdi\nlea 8(%rsp), %rsi\nand $-16, %rsp\n"
        "call main\nmov %eax, %edi\ncall leave\nhlt\n"
        ".cfi_endproc\n.size _start, .-_start\n");
