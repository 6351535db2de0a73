/* Chains of ties: pairs of inputs that a chain through a third one implies, and trees of shortest chains.

   A pair (x, k) is implied if d(x, z) + d(z, k) <= d(x, k) for some third input z, as exact numbers. If the rounded sum
   is less than the float on the right, so is the exact sum. If they are equal, the error of the sum decides, which is a
   float too (Knuth's TwoSum). */
#include "loops.h"
#include "nodes.h"

enum { STRIDE = 128 };               /* number of third inputs that are tried before one is looked for among them */
static const double SHORTER = 1 - 1e-9; /* a chain is shorter if its loss is below this share of the other's */

/* Whether a sum that rounds to the distance is at most the distance. */
static int is_at_most(const double *to_third, const double *onwards, int64_t count, double direct) {
    for (int64_t z = 0; z < count; z++) {
        double total = to_third[z] + onwards[z];
        if (total == direct) {
            double part = total - to_third[z];
            double error = (to_third[z] - (total - part)) + (onwards[z] - part);
            if (error <= 0) return 1;
        }
    }
    return 0;
}

/* Whether a third input implies a pair; sums that round to the distance are decided exactly. */
WIDE static int is_implied(const double *to_third, const double *onwards, int64_t n, double direct) {
    for (int64_t start = 0; start < n; start += STRIDE) {
        int64_t stop = smaller(start + STRIDE, n), below = 0, equal = 0;
        for (int64_t z = start; z < stop; z++) {
            double total = to_third[z] + onwards[z];
            below += total < direct;
            equal += total == direct;
        }
        if (below || (equal && is_at_most(to_third + start, onwards + start, stop - start, direct))) return 1;
    }
    return 0;
}

/* Number of implied pairs of one input; the diagonal of distance, (n, n), is infinite. */
EXPORT int64_t count_implied(int64_t n, const double *distance, int64_t x) {
    int64_t count = 0;
    for (int64_t k = 0; k < n; k++)
        count += k != x && is_implied(distance + x * n, distance + k * n, n, distance[x * n + k]);
    return count;
}

/* Mark the implied pairs, both ways, of inputs begin to stop with all later ones. A row of distances is read once for
   all of them. */
EXPORT int64_t mark_implied(int64_t n, const double *distance, int64_t begin, int64_t stop, uint8_t *found) {
    for (int64_t k = begin + 1; k < n; k++)
        for (int64_t x = begin; x < smaller(stop, k); x++)
            if (is_implied(distance + x * n, distance + k * n, n, distance[x * n + k]))
                found[x * n + k] = found[k * n + x] = 1;
    return 0;
}

/* Write the parents and losses of a tree of shortest chains from a root whose ties are shortest chains. Inputs that are
   tied to the root are its children; Dijkstra's algorithm finds the k others in k n operations. table, (n, n), is
   infinite without a tie. */
EXPORT int64_t kernel_tree(int64_t n, int64_t root, const double *table, void *parent, int64_t bytes, double *reached) {
    double *tied = malloc((size_t)n * (sizeof *tied + sizeof(int64_t)));
    if (!tied) return NO_MEMORY;
    int64_t *waiting = (int64_t *)(tied + n), count = 0;
    for (int64_t x = 0; x < n; x++) {
        tied[x] = reached[x] = x == root ? 0.0 : table[root * n + x];
        set_node(parent, bytes, x, root);
        if (tied[x] == INFINITY) waiting[count++] = x;
    }
    for (int64_t at = 0; at < count; at++) {
        int64_t x = waiting[at], u = 0;
        const double *row = table + x * n;
        double best = INFINITY;
        for (int64_t z = 0; z < n; z++)
            if (row[z] + tied[z] < best) {
                best = row[z] + tied[z];
                u = z;
            }
        set_node(parent, bytes, x, u);
        reached[x] = tied[u] + row[u];
    }
    while (count) {
        int64_t nearest = 0;
        for (int64_t at = 0; at < count; at++)
            if (reached[waiting[at]] < reached[waiting[nearest]]) nearest = at;
        int64_t x = waiting[nearest];
        waiting[nearest] = waiting[--count];
        for (int64_t at = 0; at < count; at++) {
            int64_t z = waiting[at];
            double through = reached[x] + table[x * n + z];
            if (through < reached[z]) {
                set_node(parent, bytes, z, x);
                reached[z] = through;
            }
        }
    }
    free(tied);
    return 0;
}

/* Number of inputs to which a tie from one at the loss first shortens the losses. */
WIDE static int64_t count_shorter(int64_t n, double first, const double *row, const double *reached) {
    int64_t shorter = 0;
    for (int64_t x = 0; x < n; x++) shorter += first + row[x] < SHORTER * reached[x];
    return shorter;
}

/* Whether no tie shortens the losses from a root. */
EXPORT int64_t is_shortest(int64_t n, const double *reached, const double *table) {
    for (int64_t z = 0; z < n; z++)
        if (count_shorter(n, reached[z], table + z * n, reached)) return 0;
    return 1;
}
