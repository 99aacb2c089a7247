/* Small functions that end up in each other. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct item { int key; char name[24]; struct item *next; };

static inline int less(const struct item *a, const struct item *b) {
  int c = a->key - b->key;
  return c ? c < 0 : strcmp(a->name, b->name) < 0;
}

static struct item *merge(struct item *a, struct item *b) {
  struct item head, *tail = &head;
  while (a && b) {
    if (less(a, b)) { tail->next = a; a = a->next; }
    else { tail->next = b; b = b->next; }
    tail = tail->next;
  }
  tail->next = a ? a : b;
  return head.next;
}

static struct item *sort(struct item *list) {
  struct item *slow = list, *fast = list ? list->next : NULL;
  if (!fast) return list;
  while (fast && (fast = fast->next)) { fast = fast->next; slow = slow->next; }
  struct item *second = slow->next;
  slow->next = NULL;
  return merge(sort(list), sort(second));
}

static inline unsigned next_random(unsigned *state) {
  unsigned x = *state;
  x ^= x << 13; x ^= x >> 17; x ^= x << 5;
  return *state = x;
}

static struct item *make(int n) {
  unsigned state = 7;
  struct item *list = NULL;
  for (int i = 0; i < n; i++) {
    struct item *one = malloc(sizeof *one);
    if (!one) abort();
    one->key = (int)(next_random(&state) % 1000);
    snprintf(one->name, sizeof one->name, "item-%u", next_random(&state) % 100);
    one->next = list;
    list = one;
  }
  return list;
}

__attribute__((cold)) static void complain(const char *what) { fprintf(stderr, "%s\n", what); exit(2); }

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1000;
  if (n < 0) complain("negative");
  struct item *list = sort(make(n));
  long sum = 0;
  for (struct item *one = list; one && one->next; one = one->next) {
    if (less(one->next, one)) complain("not sorted");
    sum = sum * 31 + one->key;
  }
  printf("%ld\n", sum);
  return 0;
}
