/* One output's tree of tight ties: lists of children, entries, and costs of subtrees. */
#ifndef TREES_H
#define TREES_H

#include "loops.h"

/* Losses along ties, either as compressed rows or in a table of all pairs of inputs; in Python the class Lengths. */
typedef struct {
    const int64_t *start; /* compressed rows, with neighbors in ascending order */
    const int32_t *neighbor;
    const double *loss;
    const double *table;   /* (inputs, inputs): infinite without a tie */
    const uint16_t *rough; /* losses between nodes in units, rounded down to at most MOST_UNITS, in rows of this length */
    const int64_t *place;  /* position of each node in the table */
    double unit;
    int64_t inputs;        /* 0: compressed rows are used */
    int64_t rough_columns;
    int64_t is_metric;     /* whether all pairs are tied, and each tie is a shortest chain */
} Lengths;

/* Parents, lists of children, and numbers of every node; and memory for the loops. The cost of a subtree is cost[x], the
   sum of own[z] entries[z] over x and the nodes z below it; size[x] is the sum of the absolute values. */
typedef struct {
    int64_t n;
    int32_t root;
    double *log;     /* logarithms of the entries */
    double *entries;
    double *own;     /* cost of each node's entry */
    double *cost;
    double *size;
    double *height;  /* cost that a subtree does not pass to its parent */
    uint16_t *rough; /* logarithms that a pivot compares, in units */
    int32_t *parent;
    int32_t *first;  /* first child, or -1 */
    int32_t *after;  /* next child of the same parent, or -1 */
    int32_t *before; /* previous child of the same parent, or -1 */
    int32_t *order;  /* nodes, parents before children */
    int32_t *lower;  /* for a metric: number of the tree's ties at which a node is the lower one, */
    int32_t *higher; /* and the higher one */
    int32_t *few;    /* nodes that a pivot compares */
    int8_t *side;    /* whether the tie to the parent holds the node at its smallest (-1) or largest (1) value */
    int8_t *inside;  /* whether a node is in the subtree that moves */
    double extent;   /* at least the largest absolute value of log */
    int64_t draw;    /* state of the random draws */
} Tree;

/* A subtree whose cost has the wrong sign, and that cost. */
typedef struct {
    double gain;
    int32_t node;
} Wrong;

int new_tree(int64_t n, Tree *tree); /* memory for n nodes; returns whether there was enough */
void free_tree(Tree *tree);
void load_tree(int64_t root, const void *parent, int64_t bytes, const int8_t *side, Tree *tree);
void build(Tree *tree, const Lengths *lengths);
int64_t list_subtree(int32_t x, Tree *tree);
void sum_costs(int32_t x, int32_t stop, Tree *tree);
int by_gain(const void *one, const void *two);
int64_t best_tree(Tree *tree, const Lengths *lengths, int64_t most, Wrong *found, int *is_best);

/* Make x the first child of u. */
static inline void attach(int32_t x, int32_t u, Tree *tree) {
    int32_t old = tree->first[u];
    tree->first[u] = x, tree->after[x] = old, tree->before[x] = -1;
    if (old >= 0) tree->before[old] = x;
}

/* Remove x from the children of u. */
static inline void detach(int32_t x, int32_t u, Tree *tree) {
    int32_t before = tree->before[x], after = tree->after[x];
    if (before >= 0)
        tree->after[before] = after;
    else
        tree->first[u] = after;
    if (after >= 0) tree->before[after] = before;
}

/* Add the tie of x to u to the counts (change 1), or remove it (-1). */
static inline void count_tie(int32_t x, int32_t u, int side, int change, Tree *tree) {
    tree->lower[side < 0 ? x : u] += change;
    tree->higher[side < 0 ? u : x] += change;
}

#endif
