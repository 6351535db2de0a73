/* The checksum of all C files from which the library was built. */
#include "loops.h"

EXPORT int sources(void) { return SOURCES; }
