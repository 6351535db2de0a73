/* What all loops share. Each exported loop returns a number that is not negative, or NO_MEMORY. It keeps nothing
   between two calls, so that threads may call it at the same time. Sizes and types of arrays are checked in Python. */
#ifndef LOOPS_H
#define LOOPS_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Some loops decide exactly, from the rounding of single operations. */
_Static_assert(FLT_EVAL_METHOD == 0, "a sum or product of doubles must be rounded to a double");

enum { NO_MEMORY = -1 };

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

/* Compile a loop twice and choose when the library is loaded: for all processors of the kind, and for those with
   vectors of four doubles (AVX2). Both round each operation alike, so the results are the same bit for bit. */
#define WIDE
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__has_attribute) && !defined(PLAIN)
#if __has_attribute(target_clones)
#undef WIDE
#define WIDE __attribute__((target_clones("avx2", "default")))
#endif
#endif

/* Ask for what will be read soon. */
#if defined(__GNUC__)
#define PREFETCH(address) __builtin_prefetch(address)
#else
#define PREFETCH(address) (void)(address)
#endif

static inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

#endif
