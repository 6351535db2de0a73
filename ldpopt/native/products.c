/* A product of matrices with the largest term in place of the sum. */
#include "loops.h"

enum { COLUMNS = 512, TERMS = 64 }; /* sizes of a tile, which stays near the processor */

/* Raise best[j] to the largest left[k] * right[k, j] of a tile; rows of right have this many columns. */
WIDE static void raise_in_tile(int64_t terms, int64_t width, const double *left, const double *right, int64_t columns,
                               double *best) {
    int64_t k = 0;
    for (; k + 4 <= terms; k += 4) {
        double a = left[k], b = left[k + 1], c = left[k + 2], d = left[k + 3];
        const double *p = right + k * columns, *q = p + columns, *r = q + columns, *s = r + columns;
        for (int64_t j = 0; j < width; j++) { /* without a branch, so that several are compared at once */
            double most = best[j];
            most = a * p[j] > most ? a * p[j] : most;
            most = b * q[j] > most ? b * q[j] : most;
            most = c * r[j] > most ? c * r[j] : most;
            best[j] = d * s[j] > most ? d * s[j] : most;
        }
    }
    for (; k < terms; k++) {
        const double *p = right + k * columns;
        for (int64_t j = 0; j < width; j++) best[j] = left[k] * p[j] > best[j] ? left[k] * p[j] : best[j];
    }
}

/* Raise found[i, j] to the largest left[i, k] * right[k, j]; a product that is nan does not count. found may be some
   rows of right. */
EXPORT int64_t raise_to_products(int64_t rows, int64_t terms, int64_t columns, const double *left, const double *right,
                                 double *found) {
    for (int64_t begin = 0; begin < columns; begin += COLUMNS)
        for (int64_t first = 0; first < terms; first += TERMS)
            for (int64_t i = 0; i < rows; i++)
                raise_in_tile(smaller(TERMS, terms - first), smaller(COLUMNS, columns - begin), left + i * terms + first,
                              right + first * columns + begin, columns, found + i * columns + begin);
    return 0;
}
