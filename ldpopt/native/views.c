/* Outputs priced by views: only some inputs, the seen ones, get entries of their own.

   An input that is not seen hands its cost over to a nearby input, which may do the same, until a seen one takes the sum.
   Each handover is a tie of the output's tree, so that the tree of the seen inputs proves a price for all inputs. */
#include "nodes.h"
#include "trees.h"

static const double ADDED_SHARE = 0.7;    /* share of a view's error that is caused by the inputs that are seen next */
static const double ACCEPTED_SHARE = 0.5; /* a view is accepted if the (negative) price of its ray is at most this share
                                             of the price that it proves */
enum { FIRST_SEEN = 256 };                /* number of seen inputs for which memory is allocated at first */
enum { LEAST_ADDED = 16 };                /* number of inputs that may be seen next, or as many as are seen already */
enum { TILE = 64 };                       /* number of rows of a table that are written together */

/* To which input each input hands its cost over. */
typedef struct {
    const int64_t *order; /* inputs, each after the one that takes its cost */
    const int64_t *above; /* the input that takes each one's cost */
    const double *fall;   /* exp(-loss) to that input */
} Handover;

/* What an output works with: its tree of the seen inputs, and memory. */
typedef struct {
    Tree tree;           /* of the seen inputs, by their positions in node */
    int64_t n, count;    /* numbers of inputs, and of seen inputs */
    int64_t *node;       /* (n,): seen inputs, in order until more are seen */
    int64_t *place;      /* (n,): position of each seen input among them */
    uint8_t *is_seen;    /* (n,): of one output */
    Wrong *found;        /* (n,) */
    double *g;           /* (n,): costs after all handovers */
    double *ray, *error; /* (n,) */
    int8_t *side_of;     /* (n,): the side of each handover */
    uint16_t *part;      /* (capacity, capacity): losses between the seen inputs, in units */
    int64_t capacity;
} View;

static int new_view(int64_t n, View *view) {
    *view = (View){.n = n};
    if (!new_tree(n, &view->tree)) return 0;
    size_t each = 2 * sizeof(int64_t) + sizeof(Wrong) + 3 * sizeof(double) + 1;
    view->node = malloc((size_t)n * each);
    view->capacity = smaller(FIRST_SEEN, n);
    view->part = malloc((size_t)(view->capacity * view->capacity) * sizeof *view->part);
    if (!view->node || !view->part) {
        free(view->node), free(view->part), free_tree(&view->tree);
        return 0;
    }
    view->place = view->node + n;
    view->found = (Wrong *)(view->place + n);
    view->g = (double *)(view->found + n);
    view->ray = view->g + n;
    view->error = view->ray + n;
    view->side_of = (int8_t *)(view->error + n);
    return 1;
}

static void free_view(View *view) {
    free(view->node), free(view->part), free_tree(&view->tree);
}

/* Write costs - sums to g, after all handovers of inputs that are not seen. A positive cost counts with the entry's
   smallest value (side -1), a negative one with its largest (side 1). */
static void hand_over(const double *costs, const double *sums, const Handover *to, View *view) {
    double *g = view->g;
    for (int64_t x = 0; x < view->n; x++) g[x] = costs[x] - sums[x];
    for (int64_t k = view->n - 1; k > 0; k--) {
        int64_t x = to->order[k];
        if (view->is_seen[x]) continue;
        g[to->above[x]] += g[x] >= 0 ? g[x] * to->fall[x] : g[x] / to->fall[x];
        view->side_of[x] = g[x] >= 0 ? -1 : 1;
    }
}

/* ray[x] = max(ray[x], height - row[x]) for all inputs. */
WIDE static void raise_ray(int64_t n, double height, const double *row, double *ray) {
    for (int64_t x = 0; x < n; x++) {
        double value = height - row[x];
        ray[x] = value > ray[x] ? value : ray[x];
    }
}

/* Extend a ray from some nodes, with these entries and logarithms, to all inputs, by the smallest entries in the cone. */
static void extend(int64_t n, int64_t count, const int64_t *node, const double *entries, const double *log,
                   const double *table, double *ray) {
    for (int64_t x = 0; x < n; x++) ray[x] = -INFINITY;
    for (int64_t k = 0; k < count; k++) raise_ray(n, log[k], table + node[k] * n, ray);
    for (int64_t x = 0; x < n; x++) ray[x] = exp(ray[x]);
    for (int64_t k = 0; k < count; k++) ray[node[k]] = entries[k];
}

/* Write the cost of each handover's slack, by which the ray's price exceeds the proved one; return the sum. */
static double write_errors(const Handover *to, View *view) {
    const double *g = view->g, *ray = view->ray;
    double total = 0;
    for (int64_t x = 0; x < view->n; x++) {
        view->error[x] = 0;
        if (view->is_seen[x]) continue;
        double fall = g[x] >= 0 ? to->fall[x] : 1 / to->fall[x];
        double slack = g[x] * (ray[x] - fall * ray[to->above[x]]);
        view->error[x] = slack > 0 ? slack : 0;
        total += view->error[x];
    }
    return total;
}

/* Write the losses between all seen inputs to part, if those between the first known ones are there already; into more
   memory if they need more. Returns whether there was enough. */
static int write_losses(int64_t known, const uint16_t *losses, View *view) {
    int64_t count = view->count, old = view->capacity;
    if (count > old) {
        int64_t size = smaller(2 * count, view->n);
        uint16_t *larger = malloc((size_t)(size * size) * sizeof *larger);
        if (!larger) return 0;
        for (int64_t a = 0; a < known; a++)
            memcpy(larger + a * size, view->part + a * old, (size_t)known * sizeof *larger);
        free(view->part);
        view->part = larger, view->capacity = size;
    }
    int64_t size = view->capacity;
    for (int64_t a = known; a < count; a++) {
        const uint16_t *row = losses + view->node[a] * view->n;
        for (int64_t b = 0; b < count; b++) view->part[a * size + b] = row[view->node[b]];
    }
    for (int64_t begin = 0; begin < known; begin += TILE) /* few rows at a time, which stay in the processor's cache */
        for (int64_t a = known; a < count; a++)
            for (int64_t b = begin; b < smaller(begin + TILE, known); b++)
                view->part[b * size + a] = view->part[a * size + b];
    return 1;
}

/* Position of the one of the first inputs of node whose tie gives input x the largest lower bound. */
static int64_t holder(int64_t x, int64_t count, const double *table, const View *view) {
    double best = -INFINITY;
    int64_t at = 0;
    for (int64_t k = 0; k < count; k++) {
        double value = view->tree.log[k] - table[x * view->n + view->node[k]];
        if (value > best) best = value, at = k;
    }
    return at;
}

/* See the inputs that cause most of the error, too, as leaves of the tree. */
static void see_more(double total, const double *table, View *view) {
    int64_t size = view->count, candidates = 0;
    double left = (1 - ADDED_SHARE) * total, least = left / (double)view->n; /* all smaller errors together may be left */
    for (int32_t x = 0; x < view->n; x++)
        if (view->error[x] > least) view->found[candidates++] = (Wrong){view->error[x], x};
    qsort(view->found, (size_t)candidates, sizeof *view->found, by_gain);
    candidates = smaller(candidates, larger(size, LEAST_ADDED));
    for (int64_t k = 0; k < candidates && total > left; k++) {
        int64_t x = view->found[k].node;
        total -= view->error[x];
        view->node[view->count] = x;
        view->tree.parent[view->count] = (int32_t)holder(x, size, table, view);
        view->tree.side[view->count++] = -1;
        view->is_seen[x] = 1;
    }
}

/* Write the seen inputs, and the position of each among them. */
static void number_seen(View *view) {
    view->count = 0;
    for (int64_t x = 0; x < view->n; x++)
        if (view->is_seen[x]) view->node[view->count] = x, view->place[x] = view->count++;
}

/* Cost of the whole tree, from those of the root's subtrees. */
static double root_cost(const Tree *tree) {
    double cost = tree->own[tree->root];
    for (int32_t child = tree->first[tree->root]; child >= 0; child = tree->after[child]) cost += tree->cost[child];
    return cost;
}

/* The best tree of one output, with a growing view, until the proved price reaches enough. Returns the number of pivots,
   or NO_MEMORY; writes the price of the ray. */
static int64_t improve_view(int64_t root, const double *costs, const double *sums, void *parent, int64_t bytes,
                            int8_t *side, const double *table, const uint16_t *rough, double unit, const Handover *to,
                            double enough, double *price, View *view) {
    Tree *tree = &view->tree;
    number_seen(view);
    for (int64_t k = 0; k < view->count; k++) {
        int64_t x = view->node[k];
        tree->parent[k] = (int32_t)view->place[node_at(parent, bytes, x)];
        tree->side[k] = side[x];
    }
    int64_t pivots = 0, known = 0;
    for (;;) {
        if (!write_losses(known, rough, view)) return NO_MEMORY;
        known = tree->n = view->count;
        tree->root = (int32_t)view->place[root];
        Lengths lengths = {.table = table, .rough = view->part, .place = view->node, .inputs = view->n,
                           .unit = unit, .rough_columns = view->capacity, .is_metric = 1};
        build(tree, &lengths);
        tree->draw = 1 + root;
        hand_over(costs, sums, to, view);
        for (int64_t k = 0; k < known; k++) tree->own[k] = view->g[view->node[k]];
        int is_best;
        pivots += best_tree(tree, &lengths, INT64_MAX, view->found, &is_best);
        double proved = *price = root_cost(tree);
        if (proved >= enough || known == view->n) break;
        extend(view->n, known, view->node, tree->entries, tree->log, table, view->ray);
        double wrong = write_errors(to, view);
        *price = proved + wrong;
        if (*price <= ACCEPTED_SHARE * proved) break;
        see_more(wrong, table, view);
    }
    /* The tree of the seen inputs and the handovers of the others are a tree of all inputs. */
    for (int64_t k = 0; k < view->count; k++) {
        set_node(parent, bytes, view->node[k], view->node[tree->parent[k]]);
        side[view->node[k]] = tree->side[k];
    }
    for (int64_t x = 0; x < view->n; x++)
        if (!view->is_seen[x]) {
            set_node(parent, bytes, x, to->above[x]);
            side[x] = view->side_of[x];
        }
    return pivots;
}

/* Find the best trees of some outputs, with growing views, until the proved prices reach enough, (m,).

   views, (m, n), are the seen inputs of each output. Writes the prices of the rays to price, (m,), and returns the number
   of pivots. */
EXPORT int64_t improve_views(int64_t some, int64_t n, const int64_t *outputs, const int64_t *roots, void *parents,
                             int64_t bytes, int8_t *sides, const double *costs, const double *sums, const double *table,
                             const uint16_t *rough, double unit, const int64_t *order, const int64_t *above,
                             const double *fall,
                             uint8_t *views, const double *enough, double *price) {
    Handover to = {order, above, fall};
    View view;
    if (!new_view(n, &view)) return NO_MEMORY;
    int64_t total = 0;
    for (int64_t k = 0; k < some; k++) {
        int64_t y = outputs[k];
        view.is_seen = views + y * n;
        int64_t pivots = improve_view(roots[y], costs + y * n, sums, nodes_from(parents, bytes, y * n), bytes,
                                      sides + y * n, table, rough, unit, &to, enough[y], price + y, &view);
        if (pivots < 0) {
            total = NO_MEMORY;
            break;
        }
        total += pivots;
    }
    free_view(&view);
    return total;
}

/* Write the rays of some outputs, extended from the seen inputs by the smallest entries, as rows. */
EXPORT int64_t write_extended_rays(int64_t some, int64_t n, const int64_t *outputs, const int64_t *roots, void *parents,
                                   int64_t bytes, const int8_t *sides, const double *table, const uint8_t *views,
                                   double *rays) {
    View view;
    if (!new_view(n, &view)) return NO_MEMORY;
    Tree *tree = &view.tree;
    double *log = view.g, *entries = view.error;
    for (int64_t x = 0; x < n; x++) view.place[x] = x;
    Lengths lengths = {.table = table, .place = view.place, .inputs = n, .is_metric = 1};
    for (int64_t k = 0; k < some; k++) {
        int64_t y = outputs[k], count = 0;
        load_tree(roots[y], nodes_from(parents, bytes, y * n), bytes, sides + y * n, tree);
        build(tree, &lengths);
        for (int64_t x = 0; x < n; x++)
            if (views[y * n + x]) {
                view.node[count] = x;
                log[count] = tree->log[x];
                entries[count++] = tree->entries[x];
            }
        extend(n, count, view.node, entries, log, table, rays + k * n);
    }
    free_view(&view);
    return 0;
}
