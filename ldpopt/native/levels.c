/* Loops over block tridiagonal matrices, one per output: factors, the sum of inverses, solutions.

   Level i of an output's matrix has the diagonal block A_i and, with the level before it, the block -B_i, with B_i not
   negative. With

       D_i = A_i - B_i inv(D_{i-1}) B_i',    U_i = B_i inv(D_{i-1})

   the inverse G has G_ll = inv(D_l) for the last level l and, backwards, G_{k,i-1} = G_{ki} U_i for all levels k >= i and
   G_{i-1,i-1} = inv(D_{i-1}) + U_i' G_ii U_i.

   Row sums are stored instead of diagonals, and elimination only adds: no digits are lost to subtraction, however small
   a pivot is (Grassmann, Taksar and Heyman 1985). Matrices are stored row by row. */
#include "loops.h"

static const double LEAST_PIVOT = 1e-6;   /* smallest pivot, relative to the sum of all rows */
static const double LEAST_FLOAT = 1e-300; /* smallest pivot */
enum { PANEL = 32 };                      /* columns that are eliminated before the rest is updated by a product */
enum { GROUP = 4 };                       /* number of outputs whose inverses are added in one pass over the sum */
enum { SMALL_PRODUCT = 4096 };            /* operations of a product up to which BLAS does not pay */

/* dgemm of BLAS: C = alpha op(A) op(B) + beta C, by columns. */
typedef void (*Gemm)(char *, char *, int *, int *, int *, double *, double *, int *, double *, int *, double *,
                     double *, int *);

/* A matrix, part of one, or its transpose: entry (r, c) is at[r * row + c], or at[c * row + r] if it is turned. */
typedef struct {
    const double *at;
    int64_t row;
    int is_turned;
} Matrix;

static inline Matrix plain(const double *at, int64_t row) { return (Matrix){at, row, 0}; }
static inline Matrix turned(const double *at, int64_t row) { return (Matrix){at, row, 1}; }

/* found = alpha a b + beta found, of shape (rows, columns), with terms many terms each. */
static void multiply(Gemm gemm, int64_t rows, int64_t columns, int64_t terms, double alpha, Matrix a, Matrix b,
                     double beta, double *found, int64_t row) {
    if (rows * columns * terms > SMALL_PRODUCT) { /* in the order of columns, this is the product of the transposes */
        int m = (int)columns, n = (int)rows, k = (int)terms, lda = (int)b.row, ldb = (int)a.row, ldc = (int)row;
        char first = b.is_turned ? 'T' : 'N', second = a.is_turned ? 'T' : 'N';
        gemm(&first, &second, &m, &n, &k, &alpha, (double *)b.at, &lda, (double *)a.at, &ldb, &beta, found, &ldc);
        return;
    }
    for (int64_t r = 0; r < rows; r++) {
        double *own = found + r * row;
        for (int64_t c = 0; c < columns; c++) own[c] = beta == 0 ? 0 : beta * own[c];
        for (int64_t k = 0; k < terms; k++) {
            double factor = alpha * (a.is_turned ? a.at[k * a.row + r] : a.at[r * a.row + k]);
            if (b.is_turned)
                for (int64_t c = 0; c < columns; c++) own[c] += factor * b.at[c * b.row + k];
            else
                for (int64_t c = 0; c < columns; c++) own[c] += factor * b.at[k * b.row + c];
        }
    }
}

/* Eliminate the unknowns of a symmetric matrix, (size, size), in place.

   Its entries off the diagonal are not positive, and its rows have the sums excess; the diagonal is not read. Both halves
   are replaced by the multipliers, which are not negative, and the diagonal by the inverses of the pivots. No pivot is
   smaller than least; excess is overwritten. */
WIDE static void eliminate(int64_t size, double *block, double *excess, double least) {
    for (int64_t k = 0; k < size; k++) {
        double *own = block + k * size, pivot = excess[k];
        for (int64_t c = k + 1; c < size; c++) pivot -= own[c];
        double inverse = 1 / (pivot > least ? pivot : least);
        for (int64_t r = k + 1; r < size; r++) {
            double multiplier = -own[r] * inverse, *restrict row = block + r * size;
            if (multiplier == 0) continue;
            excess[r] += multiplier * excess[k];
            for (int64_t c = k + 1; c < size; c++) row[c] += multiplier * own[c];
        }
        for (int64_t r = k + 1; r < size; r++) own[r] = block[r * size + k] = -own[r] * inverse;
        own[k] = inverse;
    }
}

/* Write the matrix that elimination applies to a right-hand side: lower triangular, not negative, 1 on the diagonal.
   block and found are parts of matrices with rows of these lengths. */
WIDE static void write_forward(int64_t size, const double *block, int64_t row, double *found, int64_t found_row) {
    for (int64_t r = 0; r < size; r++) {
        double *own = found + r * found_row;
        for (int64_t c = 0; c < size; c++) own[c] = c == r;
        for (int64_t k = 0; k < r; k++) {
            double multiplier = block[r * row + k];
            const double *other = found + k * found_row;
            for (int64_t c = 0; c <= k; c++) own[c] += multiplier * other[c];
        }
    }
}

/* Eliminate as eliminate does, PANEL unknowns at a time; room is memory for 2 PANEL size numbers. */
static void eliminate_panels(Gemm gemm, int64_t size, double *block, double *excess, double least, double *room) {
    if (size <= PANEL) {
        eliminate(size, block, excess, least);
        return;
    }
    double own[PANEL * PANEL], forward[PANEL * PANEL], mass[PANEL];
    for (int64_t a = 0; a < size; a += PANEL) {
        int64_t b = smaller(a + PANEL, size), width = b - a, rest = size - b;
        for (int64_t k = 0; k < width; k++) {
            const double *row = block + (a + k) * size;
            memcpy(own + k * width, row + a, (size_t)width * sizeof *own);
            mass[k] = excess[a + k];
            for (int64_t c = b; c < size; c++) mass[k] -= row[c];
        }
        eliminate(width, own, mass, least);
        write_forward(width, own, width, forward, width);
        for (int64_t k = 0; k < width; k++)
            memcpy(block + (a + k) * size + a, own + k * width, (size_t)width * sizeof *own);
        if (!rest) return;
        /* raw = -block[b:, a:b] forward', multiplier = raw pivots */
        double *raw = room, *multiplier = room + rest * width, *later = block + b * size;
        multiply(gemm, rest, width, width, -1, plain(later + a, size), turned(forward, width), 0, raw, width);
        for (int64_t r = 0; r < rest; r++)
            for (int64_t k = 0; k < width; k++) multiplier[r * width + k] = raw[r * width + k] * own[k * width + k];
        for (int64_t k = 0; k < width; k++) {
            mass[k] = 0;
            for (int64_t c = 0; c < width; c++) mass[k] += forward[k * width + c] * excess[a + c];
        }
        for (int64_t r = 0; r < rest; r++) {
            double sum = 0;
            for (int64_t k = 0; k < width; k++) sum += multiplier[r * width + k] * mass[k];
            excess[b + r] += sum;
        }
        multiply(gemm, rest, rest, width, -1, plain(multiplier, width), turned(raw, width), 1, later + b, size);
        for (int64_t r = 0; r < rest; r++)
            for (int64_t k = 0; k < width; k++)
                block[(b + r) * size + a + k] = block[(a + k) * size + b + r] = multiplier[r * width + k];
    }
}

/* Write the inverse of an eliminated matrix, by additions only; room is memory for 2 size^2 + PANEL size numbers. */
static void write_inverse(Gemm gemm, int64_t size, const double *block, double *found, double *room) {
    double *forward = room, *weighted = forward + size * size, *part = weighted + size * size;
    memset(forward, 0, (size_t)(size * size) * sizeof *forward);
    for (int64_t a = 0; a < size; a += PANEL) {
        int64_t width = smaller(PANEL, size - a);
        double *rows = forward + a * size, own[PANEL * PANEL];
        write_forward(width, block + a * size + a, size, own, width);
        for (int64_t k = 0; k < width; k++) memcpy(rows + k * size + a, own + k * width, (size_t)width * sizeof *own);
        if (!a) continue;
        multiply(gemm, width, a, a, 1, plain(block + a * size, size), plain(forward, size), 0, part, a);
        multiply(gemm, width, a, width, 1, plain(own, width), plain(part, a), 0, rows, size);
    }
    for (int64_t r = 0; r < size; r++)
        for (int64_t c = 0; c < size; c++) weighted[r * size + c] = block[r * size + r] * forward[r * size + c];
    multiply(gemm, size, size, size, 1, turned(forward, size), plain(weighted, size), 0, found, size);
}

/* Solve a system with an eliminated matrix, in place. */
WIDE static void solve_block(int64_t size, const double *block, double *restrict right) {
    for (int64_t k = 0; k < size; k++) {
        double value = right[k];
        for (int64_t c = k + 1; c < size; c++) right[c] += block[k * size + c] * value;
    }
    for (int64_t k = 0; k < size; k++) right[k] *= block[k * size + k];
    for (int64_t k = size - 1; k >= 0; k--) {
        double value = right[k];
        for (int64_t c = 0; c < k; c++) right[c] += block[k * size + c] * value;
    }
}

/* The levels of a graph; in Python the class VertexLevels. */
typedef struct {
    int64_t count, n;
    int64_t widest;                          /* size of the largest level */
    const int64_t *start;                    /* (count + 1,): where each level begins */
    const int64_t *low, *high;               /* ends of the edges, low < high */
    const int64_t *inner, *cross;            /* (count + 1,): where the edges inside and to the level before begin */
} Levels;

/* The matrix of one output, in its scaled form. */
typedef struct {
    const double *scale, *off; /* (n,); (edges,) */
    double *excess;            /* (n,): row sums */
} Output;

/* Minus an entry off the diagonal of the scaled matrix. */
static inline double weight_of(int64_t e, const Levels *levels, const Output *output) {
    return output->off[e] * output->scale[levels->low[e]] * output->scale[levels->high[e]];
}

/* Compute across = B inv(D) from before, the inverse of the level before, and subtract B inv(D) B' from the block. room is
   memory for a block. */
WIDE static void couple(Gemm gemm, int64_t i, const Levels *levels, const Output *output, const double *before,
                        double *across, double *block, double *room) {
    int64_t left = levels->start[i], size = levels->start[i + 1] - left, above_start = levels->start[i - 1];
    int64_t above = left - above_start, begin = levels->cross[i], end = levels->inner[i + 1];
    const int64_t *low = levels->low, *high = levels->high;
    if ((end - begin) * 4 > size * above) {
        double *dense = room;
        memset(dense, 0, (size_t)(size * above) * sizeof *dense);
        for (int64_t e = begin; e < end; e++)
            dense[(high[e] - left) * above + low[e] - above_start] = weight_of(e, levels, output);
        multiply(gemm, size, above, above, 1, plain(dense, above), plain(before, above), 0, across, above);
        multiply(gemm, size, size, above, -1, plain(across, above), turned(dense, above), 1, block, size);
        return;
    }
    memset(across, 0, (size_t)(size * above) * sizeof *across);
    for (int64_t e = begin; e < end; e++) {
        double weight = weight_of(e, levels, output), *own = across + (high[e] - left) * above;
        const double *row = before + (low[e] - above_start) * above;
        for (int64_t c = 0; c < above; c++) own[c] += weight * row[c];
    }
    for (int64_t e = begin; e < end; e++) {
        int64_t u = low[e] - above_start, w = high[e] - left;
        double weight = weight_of(e, levels, output);
        for (int64_t v = 0; v < size; v++) block[v * size + w] -= weight * across[v * above + u];
    }
}

/* Undo the scaling of a matrix from one level (columns, scaled by scale) to another (rows, scaled by the inverse of
   below) or, if is_inverse, of the inverse of a pivot block. */
static void rescale(int64_t rows, int64_t columns, double *matrix, const double *scale, const double *below,
                    int is_inverse) {
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++)
            matrix[r * columns + c] *= is_inverse ? below[r] * scale[c] : scale[c] / below[r];
}

/* Eliminate one output's unknowns level by level; write its pivot blocks, all U_i, widest^2 numbers each, and the inverses
   of D_i. */
static void factor_one(Gemm gemm, const Levels *levels, const Output *output, double *blocks, double *upper,
                       double *inverses, double *room) {
    const double *scale = output->scale;
    double *excess = output->excess, least = 0;
    for (int64_t x = 0; x < levels->n; x++) least += excess[x];
    least = fmax(LEAST_PIVOT * least, LEAST_FLOAT);
    for (int64_t i = 0, above = 0; i < levels->count; i++) {
        int64_t left = levels->start[i], size = levels->start[i + 1] - left;
        memset(blocks, 0, (size_t)(size * size) * sizeof *blocks);
        for (int64_t e = levels->inner[i]; e < levels->cross[i]; e++) {
            int64_t u = levels->low[e] - left, v = levels->high[e] - left;
            blocks[u * size + v] = blocks[v * size + u] = -weight_of(e, levels, output);
        }
        if (i) {
            double *across = upper + i * levels->widest * levels->widest, *before = inverses - above * above;
            couple(gemm, i, levels, output, before, across, blocks, room);
            for (int64_t r = 0; r < size; r++) {
                double sum = 0;
                for (int64_t c = 0; c < above; c++) sum += across[r * above + c] * excess[left - above + c];
                excess[left + r] += sum;
            }
            rescale(above, above, before, scale + left - above, scale + left - above, 1);
            rescale(size, above, across, scale + left - above, scale + left, 0);
        }
        double *own = room; /* row sums of the block alone */
        memcpy(own, excess + left, (size_t)size * sizeof *own);
        if (i < levels->count - 1)
            for (int64_t e = levels->cross[i + 1]; e < levels->inner[i + 2]; e++)
                own[levels->low[e] - left] += weight_of(e, levels, output);
        eliminate_panels(gemm, size, blocks, own, least, room + size);
        write_inverse(gemm, size, blocks, inverses, room);
        for (int64_t k = 0; k < size; k++) { /* undo the scaling of the multipliers */
            blocks[k * size + k] *= scale[left + k] * scale[left + k];
            for (int64_t r = k + 1; r < size; r++) {
                double multiplier = blocks[k * size + r] * (scale[left + k] / scale[left + r]);
                blocks[k * size + r] = blocks[r * size + k] = multiplier;
            }
        }
        blocks += size * size, inverses += size * size, above = size;
        if (i == levels->count - 1) rescale(size, size, inverses - size * size, scale + left, scale + left, 1);
    }
}

/* Add the rows of an array, step apart, to the target; GROUP rows in one pass over the target. */
WIDE static void add_columns(int64_t outputs, int64_t step, int64_t count, const double *columns, double *target) {
    const double *one = columns, *two = one + step, *three = two + step, *four = three + step;
    if (outputs == GROUP)
        for (int64_t k = 0; k < count; k++) target[k] += (one[k] + two[k]) + (three[k] + four[k]);
    else
        for (int64_t j = 0; j < outputs; j++)
            for (int64_t k = 0; k < count; k++) target[k] += columns[j * step + k];
}

/* Add a part of an inverse, (rows, size), and the part with its columns, its rows, and both multiplied by the weights gain
   to four sums, which are sum_numbers apart. */
WIDE static void add_weighted(int64_t rows, int64_t size, const double *column, const double *gain, double *total,
                              int64_t sum_numbers) {
    double *whole = total, *by_column = whole + sum_numbers, *by_row = by_column + sum_numbers;
    double *by_both = by_row + sum_numbers;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < size; c++) {
            int64_t k = r * size + c;
            whole[k] += column[k];
            by_column[k] += column[k] * gain[c];
            by_row[k] += column[k] * gain[r];
            by_both[k] += column[k] * gain[r] * gain[c];
        }
}

/* Add the inverses of some outputs to the sum, from the last level to the first; room is memory for two columns of blocks
   for every output. gain is NULL, or has the weights of four sums. */
static void add_inverses(Gemm gemm, const Levels *levels, int64_t outputs, int64_t numbers, const double *inverses,
                         const double *upper, double *room, const double *gain, int64_t sum_numbers, double *total) {
    int64_t n = levels->n, widest = levels->widest, square = numbers, place = sum_numbers, half = n * widest;
    int flip = 0;
    for (int64_t i = levels->count - 1; i >= 0; i--, flip = 1 - flip) {
        int64_t left = levels->start[i], size = levels->start[i + 1] - left, rows = n - left;
        square -= size * size;
        place -= rows * size;
        for (int64_t j = 0; j < outputs; j++) {
            double *column = room + (2 * j + flip) * half;
            memcpy(column, inverses + j * numbers + square, (size_t)(size * size) * sizeof *column);
            if (i < levels->count - 1) {
                int64_t below = levels->start[i + 2] - levels->start[i + 1];
                const double *across = upper + (j * levels->count + i + 1) * widest * widest;
                const double *last = room + (2 * j + 1 - flip) * half;
                double *later = column + size * size;
                multiply(gemm, rows - size, size, below, 1, plain(last, below), plain(across, size), 0, later, size);
                multiply(gemm, size, size, below, 1, turned(across, size), plain(later, size), 1, column, size);
            }
            if (gain) add_weighted(rows, size, column, gain + j * n + left, total + place, sum_numbers);
        }
        if (!gain) add_columns(outputs, 2 * half, rows * size, room + flip * half, total + place);
    }
}

/* Factor the matrices of some outputs, and add their inverses to a sum, total (1 or 4, sum_numbers). scale, excess have
   the shape (m, n), off (m, edges), blocks (m, numbers), gain (m, n), which is
   read for four sums. */
EXPORT int64_t factor(int64_t count, int64_t edges, int64_t m, int64_t n, int64_t numbers, int64_t sums,
                      int64_t sum_numbers, Gemm gemm, const int64_t *start, const int64_t *low,
                      const int64_t *high, const int64_t *inner, const int64_t *cross, const double *scale,
                      double *excess, const double *off, double *blocks, const double *gain, double *total) {
    Levels levels = {count, n, 0, start, low, high, inner, cross};
    for (int64_t i = 0; i < count; i++) levels.widest = larger(levels.widest, start[i + 1] - start[i]);
    int64_t widest = levels.widest, upper_numbers = widest * widest * count;
    int64_t room_numbers = 2 * widest * widest + (2 * PANEL + 1) * widest;
    int64_t all = GROUP * (upper_numbers + numbers + 2 * n * widest) + room_numbers;
    double *upper = malloc((size_t)all * sizeof *upper);
    if (!upper) return NO_MEMORY;
    double *inverses = upper + GROUP * upper_numbers, *columns = inverses + GROUP * numbers;
    double *room = columns + GROUP * 2 * n * widest;
    for (int64_t j = 0; j < m; j += GROUP) {
        int64_t outputs = smaller(GROUP, m - j);
        for (int64_t k = 0; k < outputs; k++) {
            Output one = {scale + (j + k) * n, off + (j + k) * edges, excess + (j + k) * n};
            factor_one(gemm, &levels, &one, blocks + (j + k) * numbers, upper + k * upper_numbers,
                       inverses + k * numbers, room);
        }
        add_inverses(gemm, &levels, outputs, numbers, inverses, upper, columns, sums > 1 ? gain + j * n : NULL,
                     sum_numbers, total);
    }
    free(upper);
    return 0;
}

/* Solve the systems of some outputs, by a forward and a backward pass; right and found are (m, n). */
EXPORT int64_t solve_levels(int64_t count, int64_t edges, int64_t m, int64_t numbers, int64_t n, const int64_t *start,
                            const int64_t *low, const int64_t *high, const int64_t *inner, const int64_t *cross,
                            const double *off, const double *blocks, double *right, double *found) {
    for (int64_t j = 0; j < m; j++) {
        double *r = right + j * n, *x = found + j * n;
        const double *weight = off + j * edges, *block = blocks + j * numbers;
        for (int64_t i = 0; i < count; i++) {
            int64_t left = start[i], size = start[i + 1] - left;
            for (int64_t e = cross[i]; e < inner[i + 1]; e++) r[high[e]] += weight[e] * x[low[e]];
            memcpy(x + left, r + left, (size_t)size * sizeof *x);
            if (i < count - 1) solve_block(size, block, x + left);
            block += size * size;
        }
        for (int64_t i = count - 1; i >= 0; i--) {
            int64_t left = start[i], size = start[i + 1] - left;
            block -= size * size;
            if (i < count - 1) {
                memcpy(x + left, r + left, (size_t)size * sizeof *x);
                for (int64_t e = cross[i + 1]; e < inner[i + 2]; e++) x[low[e]] += weight[e] * x[high[e]];
            }
            solve_block(size, block, x + left);
        }
    }
    return 0;
}
