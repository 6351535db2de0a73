/* A product of matrices with the largest term in place of the sum. */
#include "loops.h"

enum { COLUMNS = 512, TERMS = 64 }; /* sizes of a tile, which stays near the processor */

/* Raise found[i, j] to the largest left[i, k] * right[k, j]; a product that is nan does not count. found may be some
   rows of right. */
WIDE EXPORT int64_t raise_to_products(int64_t rows, int64_t terms, int64_t columns, const double *left,
                                      const double *right, double *found) {
    for (int64_t begin = 0; begin < columns; begin += COLUMNS) {
        int64_t width = smaller(COLUMNS, columns - begin);
        for (int64_t first = 0; first < terms; first += TERMS) {
            int64_t last = smaller(first + TERMS, terms);
            for (int64_t i = 0; i < rows; i++) {
                const double *factor = left + i * terms;
                double *best = found + i * columns + begin;
                int64_t k = first;
                for (; k + 4 <= last; k += 4) {
                    double a = factor[k], b = factor[k + 1], c = factor[k + 2], d = factor[k + 3];
                    const double *p = right + k * columns + begin, *q = p + columns, *r = q + columns, *s = r + columns;
                    for (int64_t j = 0; j < width; j++) { /* without a branch, so that several are compared at once */
                        double most = best[j];
                        most = a * p[j] > most ? a * p[j] : most;
                        most = b * q[j] > most ? b * q[j] : most;
                        most = c * r[j] > most ? c * r[j] : most;
                        best[j] = d * s[j] > most ? d * s[j] : most;
                    }
                }
                for (; k < last; k++) {
                    double a = factor[k];
                    const double *p = right + k * columns + begin;
                    for (int64_t j = 0; j < width; j++) best[j] = a * p[j] > best[j] ? a * p[j] : best[j];
                }
            }
        }
    }
    return 0;
}
