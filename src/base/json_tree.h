/*
 * base/json_tree.h - a small JSON text as a tree, read strictly.
 *
 * For files that people write: the error tells line and column. Numbers keep
 * their text, so that a decimal is never rounded by a double. NaN and Infinity,
 * which some writers emit, are read as what they are and not as numbers.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"

enum json_tree_type { TREE_NULL, TREE_BOOLEAN, TREE_NUMBER, TREE_NOT_FINITE, TREE_STRING, TREE_ARRAY, TREE_OBJECT };

struct json_tree {
	enum json_tree_type type;
	struct span key;         /* in an object; closed by a NUL */
	struct span text;        /* of a string without its escapes, closed by a NUL; of others as written */
	struct json_tree *child; /* first of an array or object */
	struct json_tree *next;  /* in the same array or object */
	size_t n;                /* children */
};

/* Read all of the text. Owned by the arena; borrows nothing of the text. NULL when it is no JSON or nests too deep. */
struct json_tree *json_tree_read(struct span text, struct arena *arena, struct err *err) MUST_CHECK;

/* Child of an object by its key, or NULL. */
const struct json_tree *json_tree_get(const struct json_tree *object, const char *key);

enum decimal { DECIMAL_READ, DECIMAL_NEGATIVE, DECIMAL_TOO_LARGE };

/* The number of a text such as -1.25e3 times 10^scale, rounded to nearest, halves up. */
enum decimal json_tree_decimal(struct span number, int scale, int64_t *out);
