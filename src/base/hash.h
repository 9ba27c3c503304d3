/* base/hash.h - XXH64 with seed 0, for tables in memory and checksums in files. */
#pragma once

#include "base/base.h"

uint64_t hash_bytes(const void *p, size_t n);
