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

/* Eight bytes, of which the first one is the lowest. */
static inline uint64_t word_at(const uint8_t *at) {
    uint64_t word;
    memcpy(&word, at, sizeof word);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

static const uint64_t ONES = ~(uint64_t)0 / 255;

/* The highest bits of the bytes that are 0; those above the first such byte may be wrong. */
static inline uint64_t zeros_of(uint64_t word) { return (word - ONES) & ~word & ONES << 7; }

/* The same for the bytes that end a field. */
static inline uint64_t stops_of(uint64_t word, uint64_t separators) {
    return zeros_of(word ^ separators) | zeros_of(word ^ ONES * '\n') | zeros_of(word ^ ONES * '\r');
}

/* The bytes of a word that are below a place; none or all, if it lies outside. */
static inline uint64_t bytes_below(uint64_t word, int64_t place) {
    if (place <= 0) return 0;
    return place >= 8 ? word : word & (((uint64_t)1 << 8 * place) - 1);
}

/* The code of a text among those that are known, to which a new one is added; -1, if there is no room. The first bytes
   are those of the text, or 0; at most half of the slots, a power of two, are taken. */
static int32_t code_of(const uint8_t *text, int64_t length, const uint64_t first[2], int64_t size, int64_t texts,
                       int64_t room, uint64_t (*keys)[2], int32_t *slots, int64_t *known, int64_t *ends, uint8_t *pool) {
    uint64_t hash = first[0] ^ (first[1] ^ (uint64_t)length) * 0x9E3779B97F4A7C15u, mask = (uint64_t)size - 1;
    for (int64_t k = 16; k < length; k++) hash = (hash ^ text[k]) * 0xFF51AFD7ED558CCDu;
    hash *= 0xFF51AFD7ED558CCDu;
    uint64_t at = (hash ^ hash >> 32) & mask;
    for (; slots[at] >= 0; at = (at + 1) & mask) {
        const int64_t *end = ends + slots[at];
        if (keys[at][0] == first[0] && keys[at][1] == first[1] && end[1] - end[0] == length &&
            (length <= 16 || !memcmp(pool + end[0], text, (size_t)length)))
            return slots[at];
    }
    int32_t code = (int32_t)*known;
    if (code == texts || ends[code] + length > room) return -1;
    memcpy(pool + ends[code], text, (size_t)length);
    ends[code + 1] = ends[code] + length;
    memcpy(keys[at], first, sizeof keys[at]);
    slots[at] = code;
    ++*known;
    return code;
}

/* Codes of the fields of the wanted columns, those with a place, in lines that are whole and have no quotes, of which
   there are as many as line breaks; 16 bytes follow. Texts of each place are numbered as they appear, also from call to
   call. Returns 1; or 0, if a line has another number of fields or a return without a line break, or there are too many
   texts. */
EXPORT int64_t read_fields(int64_t bytes, int64_t columns, int64_t wanted, int64_t sizes, int64_t size, int64_t texts,
                           int64_t room, int64_t rows, const uint8_t *text, int64_t separator, const int32_t *places,
                           int64_t *keys, int32_t *slots, int64_t *known, int64_t *ends, uint8_t *pool,
                           int32_t *found) {
    uint64_t separators = ONES * (uint64_t)separator;
    const uint8_t *at = text;
    (void)bytes, (void)wanted, (void)sizes;
    for (int64_t row = 0; row < rows; row++)
        for (int64_t column = 0; column < columns; column++) {
            const uint8_t *begin = at;
            uint64_t first[2] = {word_at(at), word_at(at + 8)};
            uint64_t stops[2] = {stops_of(first[0], separators), stops_of(first[1], separators)};
            while (!(stops[0] | stops[1])) {
                at += 16;
                stops[0] = stops_of(word_at(at), separators);
                stops[1] = stops_of(word_at(at + 8), separators);
            }
            at += stops[0] ? __builtin_ctzll(stops[0]) >> 3 : 8 + (__builtin_ctzll(stops[1]) >> 3);
            int64_t length = at - begin, place = places[column];
            if (column < columns - 1) {
                if (*at++ != separator) return 0;
            } else {
                at += *at == '\r';
                if (*at++ != '\n') return 0;
            }
            if (place < 0) continue;
            first[0] = bytes_below(first[0], length);
            first[1] = bytes_below(first[1], length - 8);
            int32_t code = code_of(begin, length, first, size, texts, room, (uint64_t(*)[2])keys + place * size,
                                   slots + place * size, known + place, ends + place * (texts + 1), pool + place * room);
            if (code < 0) return 0;
            found[place * rows + row] = code;
        }
    return 1;
}
