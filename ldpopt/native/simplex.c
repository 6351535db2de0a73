/* A simplex method whose columns are the extreme columns of channels: an entry is b = exp(-epsilon) or 1 times the
   column's scale. There are 2^n of them for each output; the best one for given multipliers is found in n steps. */
#include "loops.h"

/* Multipliers of the last and of the best bound are mixed in these shares before columns are priced: with the last
   ones alone the multipliers swing, and the method takes up to ten times as many steps. */
static const double OF_BEST = 0.9, OF_LAST = 0.1;
static const double LEAST_PIVOT = 1e-9; /* smaller ones would make the inverse inaccurate */

typedef struct {
    int64_t n, m, rows;   /* rows: n sums of 1, and for a worst case n values of the inputs */
    const double *gains;  /* (n, m), of an input and an output */
    double b;
    double *positive, *total, *count; /* (m), of one pricing */
} Statement;

/* The output with the most gain per mass, priced at multipliers of the sums and weights of the inputs; -1 if none has
   a gain. `shift`: raised by so much, no column has a gain at these multipliers. */
WIDE static int64_t best_output(const Statement *s, const double *dual, const double *weight, double *shift) {
    double beta = 1 - s->b, most = 0, best = 0;
    double *restrict positive = s->positive, *restrict total = s->total, *restrict count = s->count;
    int64_t chosen = -1;
    memset(positive, 0, (size_t)(3 * s->m) * sizeof *positive); /* the three arrays are one block */
    for (int64_t x = 0; x < s->n; x++) {
        const double *gain = s->gains + x * s->m;
        for (int64_t y = 0; y < s->m; y++) {
            double excess = weight[x] * gain[y] - dual[x];
            total[y] += excess;
            positive[y] += excess > 0 ? excess : 0;
            count[y] += excess > 0 ? 1.0 : 0.0;
        }
    }
    for (int64_t y = 0; y < s->m; y++) {
        double price = beta * positive[y] + s->b * total[y];
        double per_mass = price / (s->b * (double)s->n + beta * count[y]);
        most = price > most ? price : most;
        if (per_mass > best) best = per_mass, chosen = y;
    }
    *shift = most / (s->b * (double)s->n);
    return chosen;
}

/* Write the column of an output that is best at these multipliers; return its gain at the others. */
static double write_column(const Statement *s, int64_t y, const double *dual, const double *weight,
                           const double *other_dual, const double *other_weight, double *column) {
    double price = 0;
    for (int64_t x = 0; x < s->n; x++) {
        double gain = s->gains[x * s->m + y];
        column[x] = weight[x] * gain > dual[x] ? 1 : s->b;
        price += column[x] * (other_weight[x] * gain - other_dual[x]);
        if (s->rows > s->n) column[s->n + x] = column[x] * gain;
    }
    return price;
}

typedef struct {
    double *inside, *inside_weight, bound; /* multipliers of the best bound so far, and that bound */
    double *mixed, *mixed_weight;          /* what is priced */
} Smoothing;

/* Keep these multipliers if, raised by the shift, they prove a better bound. */
static void keep_best(const Statement *s, Smoothing *kept, const double *dual, const double *weight, double shift) {
    double bound = 0;
    for (int64_t x = 0; x < s->n; x++) bound += dual[x] + shift;
    if (!(bound < kept->bound)) return;
    kept->bound = bound;
    for (int64_t x = 0; x < s->n; x++) kept->inside[x] = dual[x] + shift, kept->inside_weight[x] = weight[x];
}

/* The entering column, and its output; -1 if no column has more than this gain. */
static int64_t choose_column(const Statement *s, Smoothing *kept, const double *dual, const double *weight,
                             double tolerance, double *column, double *price) {
    double shift;
    int64_t y;
    if (kept->bound < INFINITY) {
        for (int64_t x = 0; x < s->n; x++) {
            kept->mixed[x] = OF_BEST * kept->inside[x] + OF_LAST * dual[x];
            kept->mixed_weight[x] = OF_BEST * kept->inside_weight[x] + OF_LAST * weight[x];
        }
        y = best_output(s, kept->mixed, kept->mixed_weight, &shift);
        keep_best(s, kept, kept->mixed, kept->mixed_weight, shift);
        if (y >= 0) {
            *price = write_column(s, y, kept->mixed, kept->mixed_weight, dual, weight, column);
            if (*price > tolerance) return y;
        }
    }
    y = best_output(s, dual, weight, &shift);
    keep_best(s, kept, dual, weight, shift);
    if (y < 0) return -1;
    *price = write_column(s, y, dual, weight, dual, weight, column);
    return *price > tolerance ? y : -1;
}

/* The slack of the input whose value counts with the most negative weight; -1 if no weight is below -tolerance. */
static int64_t choose_slack(const Statement *s, const double *weight, double tolerance, double *column,
                            double *price) {
    int64_t chosen = -1;
    double least = -tolerance;
    for (int64_t x = 0; x < s->n; x++)
        if (weight[x] < least) least = weight[x], chosen = x;
    if (chosen < 0) return -1;
    memset(column, 0, (size_t)s->rows * sizeof *column);
    column[s->n + chosen] = -1;
    *price = -least;
    return chosen;
}

/* The row that leaves for this column, whose coordinates in the basis are written; -1 if none can leave. A row that
   is held never leaves. The inverse is stored by columns: inverse[r * rows + k] is that of row k. */
WIDE static int64_t leaving_row(int64_t rows, const double *inverse, const double *column, const double *level,
                                int64_t held, double *restrict step) {
    memset(step, 0, (size_t)rows * sizeof *step);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t k = 0; k < rows; k++) step[k] += inverse[r * rows + k] * column[r];
    double least = INFINITY;
    int64_t leaving = -1;
    for (int64_t k = 0; k < rows; k++)
        if (k != held && step[k] > LEAST_PIVOT && level[k] / step[k] < least) least = level[k] / step[k], leaving = k;
    return leaving;
}

/* Exchange a column: update the inverse, the levels and the multipliers. */
WIDE static void exchange(int64_t rows, double *restrict inverse, double *restrict level, double *restrict dual,
                          int64_t leaving, double price, const double *restrict step) {
    double pivot = step[leaving], moved = level[leaving] / pivot;
    for (int64_t r = 0; r < rows; r++) {
        double *row = inverse + r * rows, ratio = row[leaving] / pivot;
        for (int64_t k = 0; k < rows; k++) row[k] -= step[k] * ratio;
        row[leaving] = ratio;
        dual[r] += price * ratio;
    }
    for (int64_t k = 0; k < rows; k++) level[k] -= step[k] * moved;
    level[leaving] = moved;
}

static void swap_rows(int64_t size, double *one, double *other) {
    for (int64_t k = 0; k < size; k++) {
        double kept = one[k];
        one[k] = other[k], other[k] = kept;
    }
}

/* The inverse of a matrix, which is overwritten, by Gauss and Jordan with the largest pivot of each column; returns 1
   if there is none in floats, else 0. The order of all operations is fixed: the libraries of linear algebra have
   another one on each processor, and a tie of two columns would then be decided by the machine. */
WIDE EXPORT int64_t invert_matrix(int64_t rows, double *restrict matrix, double *restrict inverse) {
    memset(inverse, 0, (size_t)(rows * rows) * sizeof *inverse);
    for (int64_t k = 0; k < rows; k++) inverse[k * rows + k] = 1;
    for (int64_t c = 0; c < rows; c++) {
        int64_t best = c;
        for (int64_t r = c + 1; r < rows; r++)
            if (fabs(matrix[r * rows + c]) > fabs(matrix[best * rows + c])) best = r;
        double *from = matrix + c * rows, *to = inverse + c * rows, pivot = matrix[best * rows + c];
        if (!(fabs(pivot) > LEAST_PIVOT * LEAST_PIVOT)) return 1;
        if (best != c) swap_rows(rows, from, matrix + best * rows), swap_rows(rows, to, inverse + best * rows);
        for (int64_t k = 0; k < rows; k++) from[k] /= pivot, to[k] /= pivot;
        for (int64_t r = 0; r < rows; r++) {
            double factor = matrix[r * rows + c];
            if (r == c || factor == 0) continue;
            double *row = matrix + r * rows, *result = inverse + r * rows;
            for (int64_t k = c; k < rows; k++) row[k] -= factor * from[k];
            for (int64_t k = 0; k < rows; k++) result[k] -= factor * to[k];
        }
    }
    return 0;
}

/* Exchange columns until none has a gain above the tolerance, at most `limit` times; return the number of exchanges,
   or `limit` + 1 if a column has a gain but no row can leave.

   The basis has `rows` columns: of an output (output[k] >= 0, with its ones in ones[k]), the slack of an input x
   (output[k] = -1 - x), or the worst value (-1 - n), which is in row `held` and stays; held = -1 without one. The
   multipliers of the values of the inputs are the negatives of the weights of a worst case. */
EXPORT int64_t exchange_columns(int64_t n, int64_t m, int64_t rows, const double *gains, const double *weight,
                                double *inverse, double *level, double *dual, int32_t *output, uint8_t *ones,
                                double b, double tolerance, int64_t limit, int64_t held) {
    double *memory = malloc((size_t)(5 * n + 2 * rows + 3 * m) * sizeof *memory);
    if (!memory) return NO_MEMORY;
    double *own_weight = memory + 4 * n, *column = memory + 5 * n, *step = column + rows, *sums = step + rows;
    Statement s = {n, m, rows, gains, b, sums, sums + m, sums + 2 * m};
    Smoothing kept = {memory, memory + n, INFINITY, memory + 2 * n, memory + 3 * n};
    int64_t exchanges = 0;
    for (; exchanges < limit; exchanges++) {
        const double *now = weight;
        double price = 0;
        int64_t entering = -1, slack = -1;
        if (rows > n) {
            for (int64_t x = 0; x < n; x++) own_weight[x] = -dual[n + x];
            now = own_weight;
            slack = choose_slack(&s, now, tolerance, column, &price);
        }
        if (slack < 0) entering = choose_column(&s, &kept, dual, now, tolerance, column, &price);
        if (slack < 0 && entering < 0) break;
        int64_t leaving = leaving_row(rows, inverse, column, level, held, step);
        if (leaving < 0) {
            exchanges = limit + 1;
            break;
        }
        exchange(rows, inverse, level, dual, leaving, price, step);
        output[leaving] = (int32_t)(slack < 0 ? entering : -1 - slack);
        for (int64_t x = 0; x < n; x++) ones[leaving * n + x] = slack < 0 && column[x] == 1;
    }
    free(memory);
    return exchanges;
}
