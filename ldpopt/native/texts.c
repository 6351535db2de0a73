/* Texts of one width found among labels, by a table of hashes: open places are tried one after the other. */
#include "loops.h"

static inline uint64_t hash_of(const uint32_t *text, int64_t width) {
    uint64_t hash = 0x9E3779B97F4A7C15u;
    for (int64_t k = 0; k < width; k++) hash = (hash ^ text[k]) * 0xFF51AFD7ED558CCDu;
    return hash ^ hash >> 32;
}

/* The position of each row among different labels; at most half of the slots, a power of two, are taken. Returns the
   number of rows before the first that is no label. */
EXPORT int64_t find_texts(int64_t count, int64_t width, int64_t labels, int64_t size, const uint32_t *rows,
                          const uint32_t *known, int32_t *slots, int64_t *found) {
    uint64_t mask = (uint64_t)size - 1;
    size_t bytes = (size_t)width * sizeof *rows;
    memset(slots, 0xFF, (size_t)size * sizeof *slots);
    for (int64_t y = 0; y < labels; y++) {
        uint64_t at = hash_of(known + y * width, width) & mask;
        while (slots[at] >= 0) at = (at + 1) & mask;
        slots[at] = (int32_t)y;
    }
    for (int64_t i = 0; i < count; i++) {
        const uint32_t *row = rows + i * width;
        uint64_t at = hash_of(row, width) & mask;
        while (slots[at] >= 0 && memcmp(known + slots[at] * width, row, bytes)) at = (at + 1) & mask;
        if (slots[at] < 0) return i;
        found[i] = slots[at];
    }
    return count;
}

enum { SHORT = 16 };  /* bytes that are copied at once; text and out have as many more at their ends */

/* Rows of fields, one after the other: codes are of shape (columns, rows), field y is text[begin[y] .. begin[y + 1]].
   Returns the number of bytes. */
EXPORT int64_t write_fields(int64_t columns, int64_t rows, int64_t fields, int64_t bytes, int64_t room,
                            const int32_t *codes, const int64_t *begin, const uint8_t *text, uint8_t *out) {
    (void)fields, (void)bytes, (void)room;
    uint8_t *at = out;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t column = 0; column < columns; column++) {
            int64_t first = begin[codes[column * rows + i]], length = begin[codes[column * rows + i] + 1] - first;
            if (length <= SHORT) memcpy(at, text + first, SHORT);
            else memcpy(at, text + first, (size_t)length);
            at += length;
        }
    return at - out;
}
