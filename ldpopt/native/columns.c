/* Columns raised into the cone of their ties: v[x] >= ratio (v[x'] - room) for the tied inputs x' of every input x. */
#include "loops.h"

/* Raise the entries of one input to the bounds of its ties; return whether any was below. */
WIDE static int raise_row(int64_t few, double *row, const double *block, const int32_t *partner, const double *ratio,
                          int64_t count, double room, int is_whole) {
    int64_t changed = 0;
    for (int64_t k = 0; k < count; k++) {
        const double *other = block + partner[k] * few;
        double factor = ratio[k];
        for (int64_t y = 0; y < few; y++) {
            double least = (other[y] - room) * factor;
            least = is_whole ? ceil(least) : least;
            changed += least > row[y];
            row[y] = least > row[y] ? least : row[y];
        }
    }
    return changed > 0;
}

/* Raise columns, block of shape (n, few), in place, until every entry has its bound. ends, partner, ratio are the tied
   inputs of each input, as compressed rows. Rows are raised in order and in reverse, at most 2 n + 2 times. */
EXPORT int64_t raise_columns(int64_t n, int64_t few, double *block, const int64_t *ends,
                             const int32_t *partner, const double *ratio, double room, int64_t is_whole) {
    for (int64_t sweep = 0; sweep < 2 * n + 2; sweep++) {
        int changed = 0;
        for (int64_t at = 0; at < n; at++) {
            int64_t x = sweep % 2 ? n - 1 - at : at, begin = ends[x];
            changed |= raise_row(few, block + x * few, block, partner + begin, ratio + begin, ends[x + 1] - begin, room,
                                 is_whole != 0);
        }
        if (!changed) break;
    }
    return 0;
}
