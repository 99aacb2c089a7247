// The library of plt.c.
int tiny(int value) {
    return value + 1;
}
