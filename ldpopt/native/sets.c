/* Uniform random sets, from words of random bits.

   Floyd's method draws s of n numbers with s draws: for j = n - s .. n - 1 it adds a uniform number of 0 .. j, or j itself
   if that number is there already (Bentley and Floyd 1987). A uniform number below a bound is the upper part of a product
   with random bits; if the lower part is in the surplus, it is drawn again (Lemire 2019). How many draws that takes
   depends on the bounds and the words, never on the numbers that were added: given that the words were enough, all
   sets are still equally likely, and the others can be drawn from new words. */
#include "loops.h"

static inline int holds(const uint64_t *set, int64_t place) { return set[place >> 6] >> (place & 63) & 1; }

/* Add (was_in = 0) or take out (was_in = 1) uniform places other than the own one; 0 if there are too few words. Each word
   has the given number of parts, of so many bits each. */
static int change_places(int64_t others, int64_t own, int64_t draws, int was_in, uint64_t *set, int64_t count,
                         const int64_t *words, int64_t parts, int64_t bits) {
    uint64_t mask = ((uint64_t)1 << bits) - 1, word = 0;
    int64_t next = 0, left = 0;
    for (int64_t j = others - draws; j < others; j++) {
        uint64_t bound = (uint64_t)j + 1, product;
        do {
            if (!left) {
                if (next == count) return 0;
                word = (uint64_t)words[next++];
                left = parts;
            }
            product = (word & mask) * bound;
            word >>= bits;
            left--;
        } while ((product & mask) < bound && (product & mask) < (mask + 1) % bound);
        int64_t number = (int64_t)(product >> bits), place = number + (number >= own);
        if (holds(set, place) != was_in) place = j + (j >= own);
        set[place >> 6] ^= (uint64_t)1 << (place & 63);
    }
    return 1;
}

/* Sets of k of the places 0 .. d-1, ascending: the own place if it is held, and a uniform set of the other places. */
EXPORT int64_t choose_sets(int64_t rows, int64_t count, int64_t k, int64_t d, int64_t parts, int64_t bits,
                           const int64_t *words, const int64_t *own, const uint8_t *is_held, int32_t *found,
                           uint8_t *is_done) {
    int64_t blocks = (d + 63) / 64, others = d - 1;
    uint64_t *set = malloc((size_t)blocks * sizeof *set);
    if (!set) return NO_MEMORY;
    for (int64_t row = 0; row < rows; row++, words += count, found += k) {
        int64_t wanted = k - is_held[row], is_complement = 2 * wanted > others;
        memset(set, is_complement ? 0xff : 0, (size_t)blocks * sizeof *set);
        if (is_complement && d & 63) set[blocks - 1] = ((uint64_t)1 << (d & 63)) - 1;
        is_done[row] = (uint8_t)change_places(others, own[row], is_complement ? others - wanted : wanted,
                                              (int)is_complement, set, count, words, parts, bits);
        if (!is_done[row]) continue;
        uint64_t one = (uint64_t)1 << (own[row] & 63), *block = set + (own[row] >> 6);
        *block = is_held[row] ? *block | one : *block & ~one;
        int64_t number = 0;
        for (int64_t b = 0; b < blocks; b++)
            for (uint64_t rest = set[b]; rest; rest &= rest - 1)
                found[number++] = (int32_t)(64 * b + __builtin_ctzll(rest));
    }
    free(set);
    return 0;
}
