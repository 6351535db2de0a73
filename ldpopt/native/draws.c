/* Reports from words of random bits, by integer alias tables of 2^a cells a row: the top a bits of a word choose a cell,
   the others stay below its threshold or take its alias. One pass, without temporary arrays. */
#include "loops.h"

/* Words have so many bits above their low ones, of which the lowest are dropped first. */
EXPORT int64_t choose_reports(int64_t count, int64_t rows, int64_t cells, const int64_t *codes, const int64_t *words,
                              const int64_t *threshold, const int32_t *alias, int64_t dropped, int64_t low_bits,
                              int32_t *found) {
    (void)rows;
    int64_t low_mask = ((int64_t)1 << low_bits) - 1;
    for (int64_t i = 0; i < count; i++) {
        int64_t word = (int64_t)((uint64_t)words[i] >> dropped), cell = word >> low_bits;
        int64_t place = codes[i] * cells + cell;
        found[i] = (word & low_mask) < threshold[place] ? (int32_t)cell : alias[place];
    }
    return 0;
}
