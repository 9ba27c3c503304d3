/* collect/find.h - which CUPTI is used; also asked by who only wants to know. */
#pragma once

#include <stddef.h>

/*
 * Open the CUPTI that a process of this executable would use; path tells which.
 * NULL when there is none; reason tells why. Both have room for n bytes.
 */
void *cupti_find(const char *asked, const char *executable, char *path, char *reason, size_t n);
