/*
 * trace/file_scan.c - finds the chunks of a file that has no sound index.
 *
 * Heads follow each other: from a sound head the next one is known. Where it
 * is not there, every multiple of 64 bytes is looked at until one is. A head
 * tells its own offset, so that neither a .fathom file kept inside of a text
 * nor a piece that was moved is taken for a chunk of this file.
 */
#include <string.h>

#include "trace/file.h"

/* A name is text, closed by a NUL and filled with them. */
static bool is_name(const char *name)
{
	size_t n = strnlen(name, NAME_SIZE);

	if (n == NAME_SIZE)
		return false;
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)name[i] < ' ')
			return false;
	return true;
}

static bool is_whole(const struct file_head *head, uint64_t n)
{
	return head->offset <= n && n - head->offset >= HEAD_SIZE && head->stored <= n - head->offset - HEAD_SIZE;
}

bool file_head_is_sound(const struct file_head *head, uint64_t n)
{
	return memcmp(head->magic, CHUNK_MAGIC, MAGIC_SIZE) == 0 &&
	       file_checksum(head, sizeof(*head)) == head->checksum && head->offset % ALIGNMENT == 0 &&
	       is_name(head->table) && is_name(head->column) && is_name(head->other) && is_whole(head, n);
}

struct file_scan file_scan(const char *p, size_t n)
{
	struct file_scan found = { 0 };
	size_t at = sizeof(struct file_header), room = 0;

	while (at < n && n - at >= HEAD_SIZE) {
		struct file_head head;

		if (memcmp(p + at, CHUNK_MAGIC, MAGIC_SIZE) != 0) {
			at += ALIGNMENT;
			continue;
		}
		memcpy(&head, p + at, sizeof(head));
		if (head.offset == at && file_head_is_sound(&head, n)) {
			if (found.n == room) {
				room = room ? room * 2 : 256;
				found.heads = block_grow(found.heads, room * sizeof(head));
			}
			found.heads[found.n++] = head;
			at += HEAD_SIZE + file_align(head.stored);
			continue;
		}
		at += ALIGNMENT;
	}
	return found;
}
