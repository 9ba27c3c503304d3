/* report/kernel_name.c - see kernel_name.h. */
#include "report/kernel_name.h"

#include <string.h>

static const char unknown[] = "[Unknown]";

bool report_has_word(const struct report_args *args, const char *word)
{
	for (size_t i = 0; i < args->n_words; i++)
		if (strcmp(args->words[i], word) == 0)
			return true;
	return false;
}

enum kernel_name_mode kernel_name_mode(const struct report_args *args)
{
	if (report_has_word(args, "base"))
		return KERNEL_BASE;
	return report_has_word(args, "mangled") ? KERNEL_MANGLED : KERNEL_DEMANGLED;
}

const char *kernel_name(const struct trace *trace, ref shape, enum kernel_name_mode mode)
{
	const struct kernel_shape_table *s = &trace->kernel_shape;
	str_id name = NULL_str;

	if (shape >= s->n)
		return unknown;
	switch (mode) {
	case KERNEL_DEMANGLED: name = s->demangled[shape]; break;
	case KERNEL_BASE: name = s->short_name[shape]; break;
	case KERNEL_MANGLED: name = s->mangled[shape]; break;
	}
	if (name == NULL_str)
		name = s->name[shape];
	return name == NULL_str ? unknown : trace_text(trace, name);
}

size_t api_name_length(const char *name, size_t n)
{
	if (n < 7 || name[n - 6] != '_' || name[n - 5] != 'v')
		return n;
	for (size_t i = n - 4; i < n; i++)
		if (name[i] < '0' || name[i] > '9')
			return n;
	return n - 6;
}

const char *api_name(const struct trace *trace, str_id name, struct arena *arena)
{
	size_t n, cut;

	if (name == NULL_str)
		return unknown;
	n = trace_text_length(trace, name);
	cut = api_name_length(trace_text(trace, name), n);
	return cut == n ? trace_text(trace, name) : arena_copy(arena, trace_text(trace, name), cut);
}

const char *dimensions_text(struct arena *arena, int32_t x, int32_t y, int32_t z)
{
	if (x == NULL_i32 || y == NULL_i32 || z == NULL_i32)
		return "";
	return arena_print(arena, "%4d %4d %4d", x, y, z);
}

const char *copy_kind_name(struct arena *arena, unsigned kind)
{
	const char *label = memcpy_kind_label(kind == NULL_u8 ? MEMCPY_UNKNOWN : kind);

	return label ? arena_print(arena, "[CUDA memcpy %s]", label) :
	       arena_print(arena, "[CUDA memcpy %u]", kind);
}
