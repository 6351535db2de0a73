/* Counts of codes. Codes in turn have counts of their own, since equal ones would wait for each other. */
#include "loops.h"

enum { TURNS = 4 };

/* Add the codes to counts of shape (turns, places), where turns are 4: the last place has those that are none. */
EXPORT int64_t count_codes(int64_t count, int64_t turns, int64_t places, const int64_t *codes, int64_t *counts) {
    uint64_t last = (uint64_t)places - 1;
    int64_t even = count - count % TURNS;
    (void)turns;
    for (int64_t i = 0; i < even; i += TURNS)
        for (int64_t turn = 0; turn < TURNS; turn++) {
            uint64_t code = (uint64_t)codes[i + turn];
            counts[turn * places + (int64_t)(code < last ? code : last)]++;
        }
    for (int64_t i = even; i < count; i++) counts[(uint64_t)codes[i] < last ? codes[i] : (int64_t)last]++;
    return 0;
}
