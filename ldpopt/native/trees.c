/* Loops over trees of tight ties, one per output: rays, prices and multipliers. Theory: docs, "Rays". */
#include "nodes.h"
#include "trees.h"

int new_tree(int64_t n, Tree *tree) {
    size_t each = 6 * sizeof(double) + 8 * sizeof(int32_t) + sizeof(uint16_t) + 2;
    char *memory = calloc((size_t)(n ? n : 1), each);
    if (!memory) return 0;
    *tree = (Tree){.n = n, .log = (double *)memory, .draw = 1};
    tree->entries = tree->log + n;
    tree->own = tree->entries + n;
    tree->cost = tree->own + n;
    tree->size = tree->cost + n;
    tree->height = tree->size + n;
    tree->parent = (int32_t *)(tree->height + n);
    tree->first = tree->parent + n;
    tree->after = tree->first + n;
    tree->before = tree->after + n;
    tree->order = tree->before + n;
    tree->lower = tree->order + n;
    tree->higher = tree->lower + n;
    tree->few = tree->higher + n;
    tree->rough = (uint16_t *)(tree->few + n);
    tree->side = (int8_t *)(tree->rough + n);
    tree->inside = tree->side + n;
    return 1;
}

void free_tree(Tree *tree) { free(tree->log); }

/* Copy the parents and sides of all nodes. */
void load_tree(int64_t root, const void *parent, int64_t bytes, const int8_t *side, Tree *tree) {
    tree->root = (int32_t)root;
    for (int64_t x = 0; x < tree->n; x++) tree->parent[x] = node_at(parent, bytes, x);
    memcpy(tree->side, side, (size_t)tree->n);
}

/* Loss along the tie of x and u. */
static double tie_loss(const Lengths *lengths, int64_t x, int64_t u) {
    if (lengths->inputs) return lengths->table[lengths->place[x] * lengths->inputs + lengths->place[u]];
    int64_t low = lengths->start[x], high = lengths->start[x + 1];
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (lengths->neighbor[middle] < u)
            low = middle + 1;
        else
            high = middle;
    }
    return lengths->loss[low];
}

/* Write the nodes of a subtree into order, parents before children, and return their number. */
int64_t list_subtree(int32_t x, Tree *tree) {
    int64_t count = 1;
    tree->order[0] = x;
    for (int64_t done = 0; done < count; done++)
        for (int32_t child = tree->first[tree->order[done]]; child >= 0; child = tree->after[child])
            tree->order[count++] = child;
    return count;
}

/* Write lists of children, the order of the nodes, and the entries. */
void build(Tree *tree, const Lengths *lengths) {
    int64_t n = tree->n;
    for (int64_t x = 0; x < n; x++) {
        tree->first[x] = -1;
        tree->lower[x] = tree->higher[x] = 0;
    }
    for (int32_t x = 0; x < n; x++) {
        if (x == tree->root) continue;
        attach(x, tree->parent[x], tree);
        if (lengths->is_metric) count_tie(x, tree->parent[x], tree->side[x], 1, tree);
    }
    list_subtree(tree->root, tree);
    tree->log[tree->root] = tree->extent = 0;
    for (int64_t at = 1; at < n; at++) {
        int32_t x = tree->order[at], u = tree->parent[x];
        tree->log[x] = tree->log[u] + tree->side[x] * tie_loss(lengths, x, u);
        tree->extent = fmax(tree->extent, fabs(tree->log[x]));
    }
    for (int64_t x = 0; x < n; x++) tree->entries[x] = exp(tree->log[x]);
}

/* Update the costs of the subtrees of x and its ancestors below stop. */
void sum_costs(int32_t x, int32_t stop, Tree *tree) {
    for (; x != stop; x = tree->parent[x]) {
        double cost = tree->own[x] * tree->entries[x], size = fabs(cost);
        for (int32_t child = tree->first[x]; child >= 0; child = tree->after[child]) {
            cost += tree->cost[child];
            size += tree->size[child];
        }
        tree->cost[x] = cost, tree->size[x] = size;
    }
}

/* Write the rays of some outputs as rows. */
EXPORT int64_t write_rays(int64_t some, int64_t n, const int64_t *outputs, const int64_t *roots,
                          void *parents, int64_t bytes, const int8_t *sides, const Lengths *lengths, double *rays) {
    Tree tree;
    if (!new_tree(n, &tree)) return NO_MEMORY;
    for (int64_t k = 0; k < some; k++) {
        int64_t y = outputs[k];
        load_tree(roots[y], nodes_from(parents, bytes, y * n), bytes, sides + y * n, &tree);
        build(&tree, lengths);
        memcpy(rays + k * n, tree.entries, (size_t)n * sizeof *rays);
    }
    free_tree(&tree);
    return 0;
}

/* Pass the costs of subtrees to their parents as far as the ties permit, and return the root's total, the price.

   A subtree's cost is added to its parent's if it has the sign that their tie permits. Otherwise it stays, divided by the
   node's entry, in height, and its cost becomes 0; height is 0 for the other nodes. */
static double pass_costs_up(Tree *tree) {
    memset(tree->cost, 0, (size_t)tree->n * sizeof *tree->cost);
    for (int64_t at = tree->n - 1; at > 0; at--) {
        int32_t x = tree->order[at];
        tree->cost[x] += tree->own[x] * tree->entries[x];
        if (tree->cost[x] * tree->side[x] <= 0) {
            tree->cost[tree->parent[x]] += tree->cost[x];
            tree->height[x] = 0;
        } else {
            tree->height[x] = tree->cost[x] / tree->entries[x];
            tree->cost[x] = 0;
        }
    }
    return tree->height[tree->root] = tree->cost[tree->root] + tree->own[tree->root];
}

/* Price some outputs by their trees, optimal or not, at multipliers priced, (n,).

   Lowers share, (n,), to the costs that remain, and writes prices and sums of entries to found, (2, m). */
EXPORT int64_t price_trees(int64_t some, int64_t m, int64_t n, const int64_t *outputs, const int64_t *roots,
                           void *parents, int64_t bytes, const int8_t *sides, const double *costs,
                           const double *priced, const Lengths *lengths, double *share, double *found) {
    Tree tree;
    if (!new_tree(n, &tree)) return NO_MEMORY;
    for (int64_t k = 0; k < some; k++) {
        int64_t y = outputs[k];
        load_tree(roots[y], nodes_from(parents, bytes, y * n), bytes, sides + y * n, &tree);
        build(&tree, lengths);
        double total = 0;
        for (int64_t x = 0; x < n; x++) {
            tree.own[x] = costs[y * n + x] - priced[x];
            total += tree.entries[x];
        }
        found[y] = pass_costs_up(&tree);
        found[m + y] = total;
        for (int64_t x = 0; x < n; x++) share[x] = tree.height[x] < share[x] ? tree.height[x] : share[x];
    }
    free_tree(&tree);
    return 0;
}

/* Hang the subtrees whose positive costs do not pass to their parents at costs - sums from the root, which they are tied
   to in a metric: the root's price gets these costs, counted with the smallest entries. */
EXPORT int64_t hang_from_root(int64_t some, int64_t n, const int64_t *outputs, const int64_t *roots, void *parents,
                              int64_t bytes, int8_t *sides, const double *costs, const double *sums,
                              const Lengths *lengths) {
    Tree tree;
    if (!new_tree(n, &tree)) return NO_MEMORY;
    for (int64_t k = 0; k < some; k++) {
        int64_t y = outputs[k], root = roots[y];
        void *parent = nodes_from(parents, bytes, y * n);
        load_tree(root, parent, bytes, sides + y * n, &tree);
        build(&tree, lengths);
        for (int64_t x = 0; x < n; x++) tree.own[x] = costs[y * n + x] - sums[x];
        pass_costs_up(&tree);
        for (int64_t x = 0; x < n; x++)
            if (x != root && tree.height[x] > 0) {
                set_node(parent, bytes, x, (int32_t)root);
                sides[y * n + x] = -1;
            }
    }
    free_tree(&tree);
    return 0;
}

/* Lower the costs that subtrees pass to their parents, as far as the proof of the price permits. */
static void lower_multipliers(Tree *tree, double spare) {
    /* The root can spare spare and a positive price, any other node what its parent can spare and its own remainder. */
    double *spare_at = tree->size;
    spare_at[tree->root] = spare + fmax(tree->height[tree->root], 0);
    for (int64_t at = 1; at < tree->n; at++) {
        int32_t x = tree->order[at], u = tree->parent[x];
        double less = fmin(fmax(tree->cost[x], 0), spare_at[u]);
        tree->cost[x] -= less;
        spare_at[u] -= less;
        spare_at[x] = less + fmax(tree->height[x], 0) * tree->entries[x];
    }
}

/* Write the nodes whose ties to their parents have positive multipliers, and the multipliers; return their number.

   They prove the tree's price less spare; then most ties far from the root need no multiplier. */
EXPORT int64_t write_multipliers(int64_t n, int64_t root, void *parent, int64_t bytes, const int8_t *side,
                                 const double *costs, const Lengths *lengths, double spare, int64_t *node,
                                 double *value) {
    Tree tree;
    if (!new_tree(n, &tree)) return NO_MEMORY;
    load_tree(root, parent, bytes, side, &tree);
    build(&tree, lengths);
    memcpy(tree.own, costs, (size_t)n * sizeof *costs);
    pass_costs_up(&tree);
    lower_multipliers(&tree, spare);
    int64_t count = 0;
    for (int32_t x = 0; x < n; x++)
        if (x != root && tree.cost[x] != 0) {
            int32_t u = tree.side[x] > 0 ? tree.parent[x] : x;
            node[count] = x;
            value[count++] = fabs(tree.cost[x]) / tree.entries[u];
        }
    free_tree(&tree);
    return count;
}
