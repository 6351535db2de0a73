/* Randomized response: an answer is kept with some probability, and else replaced by a uniform other one. Answers are
   positions among the members, which are reported; one that is no member, -1, is replaced by a uniform member. */
#include "loops.h"

enum { BITS = 53 };  /* of a word */
static const uint64_t TOTAL = (uint64_t)1 << BITS;

/* A generator of words of 64 bits, as numpy's have them. */
typedef uint64_t (*Next)(void *);
typedef struct { Next next; void *state; } Words;

static inline uint64_t word(Words words) { return words.next(words.state) >> (64 - BITS); }

/* Uniform numbers below a bound, exactly; those whose word is refused draw another one after all others, in turn. The
   words and numbers are those of uniform_below in exact_draws.py. */
static void draw_below(Words words, uint64_t bound, int64_t count, int64_t *found) {
    uint64_t surplus = bound ? TOTAL % bound : 0, is_small = bound < (uint64_t)1 << (64 - BITS);
    int64_t late = count;
    if (bound <= 1) {
        memset(found, 0, (size_t)count * sizeof *found);
        return;
    }
    memset(found, 0xFF, (size_t)count * sizeof *found);
    while (late) {
        late = 0;
        for (int64_t i = 0; i < count; i++) {
            if (found[i] >= 0) continue;
            uint64_t each = word(words), product = each * bound;
            int is_late = is_small ? (product & (TOTAL - 1)) < surplus : each >= TOTAL - surplus;
            found[i] = is_late ? -1 : (int64_t)(is_small ? product >> BITS : each % bound);
            late += is_late;
        }
    }
}

/* Reports to answers, in pieces; truth and delta are masses of 2^53: an answer that is a member is kept with the first
   one, and any answer is reported with the second one, whatever was drawn before. */
EXPORT int64_t draw_responses(int64_t count, int64_t inputs, int64_t k, int64_t piece, const int64_t *answers,
                              const int64_t *index, const int64_t *members, int64_t truth, int64_t is_uniform,
                              int64_t delta, void *next, void *state, int64_t *other, int64_t *found) {
    Words words = {(Next)next, state};
    (void)inputs;
    for (int64_t begin = 0; begin < count; begin += piece) {
        int64_t few = smaller(piece, count - begin);
        const int64_t *at = answers + begin;
        int64_t *report = found + begin;
        draw_below(words, (uint64_t)k, few, report);
        if (!is_uniform && k > 1) {
            draw_below(words, (uint64_t)(k - 1), few, other);
            for (int64_t i = 0; i < few; i++) {
                int64_t own = index[at[i]], is_kept = -(int64_t)(word(words) < (uint64_t)truth);
                int64_t replaced = other[i] + (other[i] >= own), is_member = -(int64_t)(own >= 0);
                replaced ^= (replaced ^ own) & is_kept;
                report[i] ^= (report[i] ^ replaced) & is_member;
            }
        }
        for (int64_t i = 0; i < few; i++) report[i] = members[report[i]];
        for (int64_t i = 0; delta && i < few; i++)
            if (word(words) < (uint64_t)delta) report[i] = at[i];
    }
    return 0;
}

/* Positions from 16 bits of each row: the first values keep the answer, the next one is undecided, and of the others
   each other member has equally many, one after the other, and the rest is undecided. Returns the number of undecided
   rows, which are listed. */
EXPORT int64_t respond_early(int64_t count, const int64_t *own, const uint16_t *firsts, int64_t keeping, int64_t each,
                             int64_t others, int64_t *found, int64_t *undecided) {
    /* The upper part of a product with this is the quotient by each: firsts are below 2^16, and each is at most 2^15. */
    uint32_t inverse = each ? (uint32_t)(((uint64_t)1 << 31) / (uint64_t)each + 1) : 0;
    uint32_t replacing = (uint32_t)(each * others);
    int64_t late = 0;
    for (int64_t i = 0; i < count; i++) {
        uint32_t first = firsts[i], above = first - (uint32_t)keeping - 1;  /* wraps around, if it is not above */
        int64_t other = (int64_t)((uint64_t)above * inverse >> 31);
        int64_t is_kept = -(int64_t)(first < (uint32_t)keeping);
        other += other >= own[i];
        found[i] = other ^ ((other ^ own[i]) & is_kept);
        undecided[late] = i;
        late += (above >= replacing) & ~is_kept;
    }
    return late;
}
