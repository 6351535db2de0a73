/* Loops over the ties of every output, for the interior point: arrays of ties have the shape (m, pairs), arrays of entries
   (m, n). Tie e has the slack p[second[e]] - ratio[e] p[first[e]]. */
#include "loops.h"

/* Add the transposed slacks, applied to multipliers ties, to found, (m, n). */
EXPORT int64_t add_adjoint(int64_t pairs, int64_t m, int64_t n, const int64_t *first, const int64_t *second,
                           const double *ratio, const double *ties, double *found) {
    for (int64_t j = 0; j < m; j++, ties += pairs, found += n)
        for (int64_t e = 0; e < pairs; e++) {
            found[second[e]] += ties[e];
            found[first[e]] -= ratio[e] * ties[e];
        }
    return 0;
}

/* Add minus the weighted Laplacians' entries off the diagonal to off, (m, edges). */
EXPORT int64_t add_weights(int64_t pairs, int64_t m, int64_t edges, const double *ratio, const int64_t *pair_edge,
                           const double *t, const double *ties, double *off) {
    for (int64_t j = 0; j < m; j++, t += pairs, ties += pairs, off += edges)
        for (int64_t e = 0; e < pairs; e++) off[pair_edge[e]] += ratio[e] * (ties[e] / t[e]);
    return 0;
}

/* For a step p of the entries, the step of a tie's slack, and that of its multiplier (below). at, t and ties are the
   point's entries, slacks and multipliers, aim the changes of the products of slacks and multipliers. */
static inline double slack_step(int64_t i, int64_t k, double r, const double *at, const double *p, double t) {
    return (p[k] - r * p[i]) + ((at[k] - r * at[i]) - t);
}

static inline double multiplier_step(double slack, double t, double multiplier, double aim) {
    return (aim - multiplier * slack) / t;
}

/* Add the transposed slacks, applied to the step of the multipliers, to found, (m, n), for a step p of the entries. */
EXPORT int64_t add_multiplier_steps(int64_t pairs, int64_t m, int64_t n, const int64_t *first, const int64_t *second,
                                    const double *ratio, const double *at, const double *t, const double *ties,
                                    const double *aim, const double *p, double *found) {
    for (int64_t j = 0; j < m; j++) {
        for (int64_t e = 0; e < pairs; e++) {
            int64_t i = first[e], k = second[e];
            double change = multiplier_step(slack_step(i, k, ratio[e], at, p, t[e]), t[e], ties[e], aim[e]);
            found[k] += change;
            found[i] -= ratio[e] * change;
        }
        at += n, p += n, found += n, t += pairs, ties += pairs, aim += pairs;
    }
    return 0;
}

/* Write the steps of slacks and multipliers, (m, pairs), for a step p of the entries. */
EXPORT int64_t write_steps(int64_t pairs, int64_t m, int64_t n, const int64_t *first, const int64_t *second,
                           const double *ratio, const double *at, const double *t, const double *ties,
                           const double *aim, const double *p, double *t_step, double *ties_step) {
    for (int64_t j = 0; j < m; j++) {
        for (int64_t e = 0; e < pairs; e++) {
            t_step[e] = slack_step(first[e], second[e], ratio[e], at, p, t[e]);
            ties_step[e] = multiplier_step(t_step[e], t[e], ties[e], aim[e]);
        }
        at += n, p += n, t += pairs, ties += pairs, aim += pairs, t_step += pairs, ties_step += pairs;
    }
    return 0;
}
