// The library whose place reused.c takes: its function calls, and its code is larger than a page.
int of_library(int (*f)(int)) {
    int sum = 0;
    for (int i = 0; i < 100; i++)
        sum += f(i) * f(i + 1);
    return sum;
}
__asm__(".text\n .fill 8192, 1, 0x90\n");
