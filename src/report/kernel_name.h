/*
 * report/kernel_name.h - the name under which a report prints a kernel.
 *
 * Default is the source's own demangled text; :base is the function's name
 * without scope and arguments, :mangled the symbol. What the source does not
 * have falls back to the identity of the kernel.
 */
#pragma once

#include "report/report.h"

enum kernel_name_mode { KERNEL_DEMANGLED, KERNEL_BASE, KERNEL_MANGLED };

/* What a report that prints kernels needs of their shapes. */
#define NEED_KERNEL_NAMES { TABLE_kernel_shape, BIT(kernel_shape, name) | BIT(kernel_shape, demangled) | \
			    BIT(kernel_shape, short_name) | BIT(kernel_shape, mangled) }
#define NEED_KERNEL_SHAPES { TABLE_kernel_shape, 0 }

#define KERNEL_NAME_ARGS "[:base|:mangled]"

enum kernel_name_mode kernel_name_mode(const struct report_args *args);

/* Never NULL: a kernel without any name is "[Unknown]". Borrowed from the trace. */
const char *kernel_name(const struct trace *trace, ref shape, enum kernel_name_mode mode);

/* True when the word is among the arguments. */
bool report_has_word(const struct report_args *args, const char *word);

/* Length of an API's name without its ABI suffix, which is _v and exactly four digits. */
size_t api_name_length(const char *name, size_t n);

/* The name without that suffix, in the arena if it had one; "[Unknown]" for no name. */
const char *api_name(const struct trace *trace, str_id name, struct arena *arena);

/* Three dimensions as Nsight Systems prints them: " 528    1    1". */
const char *dimensions_text(struct arena *arena, int32_t x, int32_t y, int32_t z);

/* "[CUDA memcpy Host-to-Device]", by enum memcpy_kind. */
const char *copy_kind_name(struct arena *arena, unsigned kind);
