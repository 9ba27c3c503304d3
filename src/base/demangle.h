/* base/demangle.h - C++ symbol names by libiberty, the one demangler that decides identity. */
#pragma once

#include "base/base.h"

struct arena;

/* The demangled name with its parameters, owned by the arena; NULL if it is no mangled name. */
char *demangle(struct arena *arena, const char *mangled);
