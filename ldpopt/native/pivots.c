/* Pivots of a network simplex method with gains, which make an output's ray the best for given costs.

   A pivot scales a subtree whose cost has the wrong sign until a tie to another node becomes tight, and attaches it
   there. The costs in the subtree change by a factor; those on the paths from its old and its new parent to the root
   change, too. */
#include "nodes.h"
#include "trees.h"

static const double TOLERANCE = 1e-13;   /* cost of a subtree, as a share of its size, that counts as zero */
enum { BLOCK = 64 };                     /* entries of a row that are compared at once, if one of the row is near */
/* Largest loss in units; the largest height that is compared, and that of nodes that are not. Their sums fit 16 bits. */
enum { MOST_UNITS = 16000, HIGHEST = 3 * MOST_UNITS, NO_HEIGHT = HIGHEST + 1 };

/* The tie that stops a subtree: how far the subtree moves, the node of the subtree, and the one outside. */
typedef struct {
    double step;
    int32_t node, outside;
    int64_t equal; /* number of ties with this step */
} Stop;

/* Whether the last one of equal candidates is chosen, if one of them is drawn at random. */
static int is_drawn(Tree *tree, int64_t equal) {
    tree->draw = (tree->draw * 1103515245 + 12345) & 0x7FFFFFFF;
    return (tree->draw >> 8) % equal == 0;
}

/* Keep the tie that stops a subtree first; a random one of several. */
static inline void keep_nearest(double slack, int32_t node, int32_t outside, Tree *tree, Stop *best) {
    slack = slack > 0 ? slack : 0;
    if (slack < best->step)
        *best = (Stop){slack, node, outside, 1};
    else if (slack == best->step && is_drawn(tree, ++best->equal))
        best->node = node, best->outside = outside;
}

/* Whether losses + height has an entry of at most most between two positions. */
WIDE static int has_near(const uint16_t *losses, const uint16_t *height, int64_t begin, int64_t end, uint16_t most) {
    uint16_t least = UINT16_MAX;
    for (int64_t z = begin; z < end; z++) {
        uint16_t sum = (uint16_t)(losses[z] + height[z]);
        least = sum < least ? sum : least;
    }
    return least <= most;
}

/* A height in units from the lowest one on, rounded down, or up by less than 1 in all. */
static inline uint16_t units_of(double height, double extent, double per_unit) {
    float units = (float)((height + extent) * per_unit);
    return (uint16_t)(int32_t)(units < HIGHEST ? units : HIGHEST);
}

/* Choose the nodes inside and outside of a moving subtree whose ties may stop it, for a metric.

   Let u exceed v by their whole tie. If both move up, a node that stops v stops u at least as soon. If both stay and
   others move up, v stops each node at least as soon as u does. So only nodes matter that are the lower one (for the
   second case: the higher one) at no tie of the tree. The smaller one of the two sets is listed in few; the logarithms of
   the other one, times the returned direction, are written to rough, in units. Returns the size of few, and the
   direction: sign if few moves, -sign if it stays. */
WIDE static int64_t border(int sign, int64_t count, double unit, Tree *tree, int *way) {
    double extent = tree->extent, per_unit = 1 / unit;
    int64_t n = tree->n, inner = 0, outer = 0;
    const int8_t *inside = tree->inside;
    const int32_t *mine = sign < 0 ? tree->higher : tree->lower, *theirs = sign < 0 ? tree->lower : tree->higher;
    for (int64_t at = 0; at < count; at++) {
        tree->few[inner] = tree->order[at];
        inner += mine[tree->few[inner]] == 0;
    }
    for (int64_t x = 0; x < n; x++) outer += (theirs[x] == 0) & !inside[x];
    if (inner <= outer) {
        for (int64_t x = 0; x < n; x++)
            tree->rough[x] = inside[x] | (theirs[x] != 0) ? NO_HEIGHT : units_of(sign * tree->log[x], extent, per_unit);
        *way = sign;
        return inner;
    }
    outer = 0;
    for (int32_t x = 0; x < n; x++) {
        tree->few[smaller(outer, n - 1)] = x;
        outer += (theirs[x] == 0) & !inside[x];
        tree->rough[x] = inside[x] & (mine[x] == 0) ? units_of(-sign * tree->log[x], extent, per_unit) : NO_HEIGHT;
    }
    *way = -sign;
    return outer;
}

/* A sum in units above which the slack of a tie is larger than the best one for certain. */
static uint16_t at_most(double best, double own, double extent, double unit) {
    double units = (best + own + extent) / unit + 2; /* more than the rounding errors of both terms */
    return (uint16_t)(units < 0 ? 0 : units < HIGHEST ? units : HIGHEST + MOST_UNITS);
}

/* How far the first nodes of order can move, with a table of losses. Rows are compared in units first, to leave out ties
   with larger slacks. */
static Stop stop_in_table(int sign, int64_t count, Tree *tree, const Lengths *lengths) {
    int way;
    int64_t n = tree->n, size = border(sign, count, lengths->unit, tree, &way);
    const uint16_t *height = tree->rough;
    Stop best = {INFINITY, -1, -1, 0};
    for (int64_t at = 0; at < size; at++) {
        int32_t v = tree->few[at];
        const double *row = lengths->table + lengths->place[v] * lengths->inputs;
        const uint16_t *losses = lengths->rough + v * lengths->rough_columns;
        double own = way * tree->log[v];
        uint16_t most = at_most(best.step, own, tree->extent, lengths->unit);
        if (!has_near(losses, height, 0, n, most)) continue;
        for (int64_t begin = 0; begin < n; begin += BLOCK) {
            int64_t end = smaller(begin + BLOCK, n);
            if (!has_near(losses, height, begin, end, most)) continue;
            for (int32_t z = (int32_t)begin; z < end; z++) {
                if (losses[z] + height[z] > most || height[z] == NO_HEIGHT) continue;
                double slack = row[lengths->place[z]] + way * tree->log[z] - own;
                if (slack < INFINITY) keep_nearest(slack, v, z, tree, &best);
            }
            most = at_most(best.step, own, tree->extent, lengths->unit);
        }
    }
    if (way != sign) {
        int32_t staying = best.node;
        best.node = best.outside, best.outside = staying;
    }
    return best;
}

/* How far the first nodes of order can move, and the tie that stops them. */
static Stop find_stop(int sign, int64_t count, Tree *tree, const Lengths *lengths) {
    if (lengths->inputs) return stop_in_table(sign, count, tree, lengths);
    Stop best = {INFINITY, -1, -1, 0};
    for (int64_t at = 0; at < count; at++) {
        int32_t v = tree->order[at];
        for (int64_t k = lengths->start[v]; k < lengths->start[v + 1]; k++) {
            int32_t z = lengths->neighbor[k];
            if (!tree->inside[z])
                keep_nearest(lengths->loss[k] - sign * (tree->log[v] - tree->log[z]), v, z, tree, &best);
        }
    }
    return best;
}

/* Attach the subtree of top to outside by node: ties on the path between them change direction. */
static void turn(int32_t top, int32_t node, int32_t outside, int sign, Tree *tree) {
    int32_t x = node, above = outside;
    int way = sign;
    for (;;) {
        int32_t old_above = tree->parent[x];
        int turned = -tree->side[x];
        detach(x, old_above, tree);
        attach(x, above, tree);
        tree->parent[x] = above, tree->side[x] = (int8_t)way;
        if (x == top) return;
        above = x, x = old_above, way = turned;
    }
}

/* Add change to the logarithms of the first nodes of order, and update entries and costs. */
static void move(int64_t count, double change, Tree *tree) {
    double factor = exp(change);
    for (int64_t at = 0; at < count; at++) {
        int32_t x = tree->order[at];
        tree->inside[x] = 0;
        tree->log[x] += change;
        tree->entries[x] *= factor;
        tree->cost[x] *= factor;
        tree->size[x] *= factor;
        if (fabs(tree->log[x]) > tree->extent) tree->extent = fabs(tree->log[x]);
    }
}

/* Scale a subtree until a tie to another node becomes tight, and attach it there; return whether a tie stops it. */
static int pivot(int32_t top, Tree *tree, const Lengths *lengths) {
    int sign = -tree->side[top];
    int32_t left = tree->parent[top];
    int64_t count = list_subtree(top, tree);
    for (int64_t at = 0; at < count; at++) tree->inside[tree->order[at]] = 1;
    if (lengths->is_metric) count_tie(top, left, -sign, -1, tree);
    Stop stop = find_stop(sign, count, tree, lengths);
    if (stop.node < 0) return 0;
    if (lengths->is_metric) count_tie(stop.node, stop.outside, sign, 1, tree);
    move(count, sign * stop.step, tree);
    turn(top, stop.node, stop.outside, sign, tree);
    sum_costs(top, stop.outside, tree);
    sum_costs(left, tree->root, tree);
    sum_costs(stop.outside, tree->root, tree);
    return 1;
}

/* Whether moving a subtree away from its parent lowers the cost by more than rounding errors. */
static int is_wrong(int32_t x, const Tree *tree) {
    return tree->cost[x] * tree->side[x] > TOLERANCE * tree->size[x];
}

/* Write the nodes whose subtrees have costs of the wrong sign, and these costs; return their number. */
static int64_t list_wrong(const Tree *tree, Wrong *found) {
    int64_t count = 0;
    for (int32_t x = 0; x < tree->n; x++)
        if (x != tree->root && is_wrong(x, tree)) found[count++] = (Wrong){fabs(tree->cost[x]), x};
    return count;
}

/* Order for qsort: the largest gain first. */
int by_gain(const void *one, const void *two) {
    const Wrong *a = one, *b = two;
    return a->gain > b->gain ? -1 : a->gain < b->gain ? 1 : a->node - b->node;
}

/* Pivot a tree until its ray is the best for its costs; return the number of pivots, and whether it is the best.

   Wrong subtrees are moved in the order of their costs, the largest first; those that become wrong by pivots follow in
   the next pass. found is memory for every node. */
int64_t best_tree(Tree *tree, const Lengths *lengths, int64_t most, Wrong *found, int *is_best) {
    for (int64_t at = tree->n - 1; at > 0; at--) {
        int32_t x = tree->order[at];
        sum_costs(x, tree->parent[x], tree);
    }
    int64_t pivots = 0, count = list_wrong(tree, found);
    while (count && pivots < most) {
        qsort(found, (size_t)count, sizeof *found, by_gain);
        for (int64_t k = 0; k < count; k++)
            if (is_wrong(found[k].node, tree)) {
                if (!pivot(found[k].node, tree, lengths)) return *is_best = 0, pivots;
                pivots++;
            }
        count = list_wrong(tree, found);
    }
    *is_best = count == 0;
    return pivots;
}

/* Pivot some outputs' trees until their rays are the best for costs - sums; return the number of pivots. */
EXPORT int64_t improve_trees(int64_t some, int64_t n, const int64_t *outputs, const int64_t *roots, void *parents,
                             int64_t bytes, int8_t *sides, const double *costs, const double *sums,
                             const Lengths *lengths, int64_t most, uint8_t *is_best) {
    Tree tree;
    Wrong *found = malloc((size_t)n * sizeof *found);
    if (!found || !new_tree(n, &tree)) {
        free(found);
        return NO_MEMORY;
    }
    int64_t total = 0;
    for (int64_t k = 0; k < some; k++) {
        int64_t y = outputs[k];
        void *parent = nodes_from(parents, bytes, y * n);
        int8_t *side = sides + y * n;
        int done;
        load_tree(roots[y], parent, bytes, side, &tree);
        build(&tree, lengths);
        for (int64_t x = 0; x < n; x++) tree.own[x] = costs[y * n + x] - sums[x];
        tree.draw = 1 + y;
        total += best_tree(&tree, lengths, most, found, &done);
        is_best[y] = (uint8_t)done;
        for (int64_t x = 0; x < n; x++) set_node(parent, bytes, x, tree.parent[x]);
        memcpy(side, tree.side, (size_t)n);
    }
    free(found);
    free_tree(&tree);
    return total;
}
