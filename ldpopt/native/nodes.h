/* Numbers of inputs in as few bytes as they need: 2 or 4 each. */
#ifndef NODES_H
#define NODES_H

#include <stdint.h>

static inline int32_t node_at(const void *nodes, int64_t bytes, int64_t at) {
    return bytes == 2 ? ((const int16_t *)nodes)[at] : ((const int32_t *)nodes)[at];
}

static inline void set_node(void *nodes, int64_t bytes, int64_t at, int64_t node) {
    if (bytes == 2)
        ((int16_t *)nodes)[at] = (int16_t)node;
    else
        ((int32_t *)nodes)[at] = (int32_t)node;
}

/* The nodes from a position on. */
static inline void *nodes_from(void *nodes, int64_t bytes, int64_t at) { return (char *)nodes + bytes * at; }

#endif
