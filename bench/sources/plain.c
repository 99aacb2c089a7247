/* Needs no headers, so that any target compiles it. */
struct node { struct node *left, *right; int key, count; };

static inline int compare(int a, int b) { return (a > b) - (a < b); }

static inline struct node **step(struct node **at, int key) {
  return compare(key, (*at)->key) < 0 ? &(*at)->left : &(*at)->right;
}

struct node **find(struct node **at, int key) {
  while (*at && compare(key, (*at)->key)) at = step(at, key);
  return at;
}

int depth(const struct node *node) {
  if (!node) return 0;
  int left = depth(node->left), right = depth(node->right);
  return 1 + (left > right ? left : right);
}

int insert(struct node **root, struct node *one) {
  struct node **at = find(root, one->key);
  if (*at) return ++(*at)->count;
  *at = one;
  return 0;
}

void rotate(struct node **at) {
  struct node *node = *at, *left = node->left;
  if (!left) return;
  node->left = left->right;
  left->right = node;
  *at = left;
}
