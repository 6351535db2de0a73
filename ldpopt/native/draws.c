/* Reports from words of random bits, by integer alias tables of 2^a cells a row: the top a bits of a word choose a cell,
   the others stay below its threshold or take its alias. One pass, without temporary arrays. */
#include "loops.h"

enum { AHEAD = 32 };  /* rows whose entries of the table are asked for before they are read */

/* One of two numbers without a branch, which nobody could foresee. */
static inline uint32_t choice(int is_first, uint32_t first, uint32_t second) {
    uint32_t mask = 0 - (uint32_t)(is_first != 0);
    return second ^ ((first ^ second) & mask);
}

/* Words have so many bits above their low ones, of which the lowest are dropped first. */
EXPORT int64_t choose_reports(int64_t count, int64_t rows, int64_t cells, const int64_t *codes, const int64_t *words,
                              const int64_t *threshold, const int32_t *alias, int64_t dropped, int64_t low_bits,
                              int32_t *found) {
    (void)rows;
    int64_t low_mask = ((int64_t)1 << low_bits) - 1;
    for (int64_t i = 0; i < count; i++) {
        int64_t word = (int64_t)((uint64_t)words[i] >> dropped), cell = word >> low_bits;
        int64_t place = codes[i] * cells + cell;
        found[i] = (int32_t)choice((word & low_mask) < threshold[place], (uint32_t)cell, (uint32_t)alias[place]);
    }
    return 0;
}

/* The same from the first 16 bits of each word. An entry of the table has above 16 bits for the alias the first bits of
   the threshold, and as the last one whether more bits follow: if they do, a word with these first bits is undecided.
   Returns the number of undecided rows, which are listed. */
EXPORT int64_t choose_early(int64_t count, int64_t rows, int64_t cells, const int64_t *codes, const uint16_t *firsts,
                            const uint32_t *table, int64_t low_bits, int32_t *found, int64_t *undecided) {
    (void)rows;
    uint32_t low_mask = ((uint32_t)1 << low_bits) - 1;
    int64_t late = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t ahead = smaller(i + AHEAD, count - 1);
        PREFETCH(table + codes[ahead] * cells + (firsts[ahead] >> low_bits));
        uint32_t first = firsts[i], cell = first >> low_bits, low = (first & low_mask) << 1 | 1;
        uint32_t entry = table[codes[i] * cells + cell], edge = entry >> 16;
        found[i] = (int32_t)choice(low < edge, cell, entry & 0xFFFF);
        undecided[late] = i;
        late += low == edge;
    }
    return late;
}

/* The same from words of 64 bits of a generator, whose lowest ones are dropped: the first 16 bits of a word decide
   nearly always, by the table, which is smaller than the thresholds. Codes and reports are those of choose_reports. */
EXPORT int64_t draw_reports(int64_t count, int64_t rows, int64_t cells, const int64_t *codes, const int64_t *threshold,
                            const uint32_t *table, int64_t dropped, int64_t low_bits, int64_t first_bits, void *next,
                            void *state, int32_t *found) {
    uint64_t low_mask = ((uint64_t)1 << low_bits) - 1;
    uint32_t first_mask = ((uint32_t)1 << first_bits) - 1;
    uint64_t words[AHEAD];
    (void)rows;
    for (int64_t begin = 0; begin < count; begin += AHEAD) {
        int64_t few = smaller(AHEAD, count - begin);
        const int64_t *code = codes + begin;
        for (int64_t i = 0; i < few; i++) {
            words[i] = ((uint64_t (*)(void *))next)(state);
            PREFETCH(table + code[i] * cells + (int64_t)(words[i] >> (48 + first_bits)));
        }
        for (int64_t i = 0; i < few; i++) {
            uint32_t first = (uint32_t)(words[i] >> 48), cell = first >> first_bits;
            uint32_t low = (first & first_mask) << 1 | 1;
            int64_t place = code[i] * cells + cell;
            uint32_t entry = table[place], edge = entry >> 16;
            int is_below = low < edge;
            if (low == edge) is_below = (int64_t)(words[i] >> dropped & low_mask) < threshold[place];
            found[begin + i] = (int32_t)choice(is_below, cell, entry & 0xFFFF);
        }
    }
    return 0;
}
