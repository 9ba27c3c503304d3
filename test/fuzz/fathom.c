/*
 * fuzz/fathom.c - .fathom files, with and without an index.
 *
 * Checksums would stop nearly every mutation at the door, so they are made
 * right again first; an input of odd length keeps its wrong ones.
 */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "trace/file.h"

static void mend_chunk(uint8_t *p, size_t n)
{
	struct file_head head;

	memcpy(&head, p, sizeof(head));
	if (head.stored <= n - sizeof(head))
		head.payload_checksum = hash_bytes(p + sizeof(head), head.stored);
	head.checksum = file_checksum(&head, sizeof(head));
	memcpy(p, &head, sizeof(head));
}

static void mend(uint8_t *p, size_t n)
{
	struct file_header header;
	struct file_trailer trailer;

	for (size_t at = 0; at + sizeof(struct file_head) <= n; at += ALIGNMENT)
		if (memcmp(p + at, CHUNK_MAGIC, MAGIC_SIZE) == 0)
			mend_chunk(p + at, n - at);
	if (n >= sizeof(header)) {
		memcpy(&header, p, sizeof(header));
		memcpy(header.magic, HEADER_MAGIC, MAGIC_SIZE);
		header.checksum = file_checksum(&header, sizeof(header));
		memcpy(p, &header, sizeof(header));
	}
	if (n >= sizeof(header) + sizeof(trailer)) {
		uint8_t *end = p + n - sizeof(trailer);

		memcpy(&trailer, end, sizeof(trailer));
		if (memcmp(trailer.magic, TRAILER_MAGIC, MAGIC_SIZE) != 0)
			return;
		trailer.file_bytes = n;
		if (trailer.index_offset <= n && trailer.index_bytes <= n - trailer.index_offset)
			trailer.index_checksum = hash_bytes(p + trailer.index_offset, trailer.index_bytes);
		trailer.checksum = file_checksum(&trailer, sizeof(trailer));
		memcpy(end, &trailer, sizeof(trailer));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	uint8_t *copy = malloc(n + 1);
	struct trace *trace;
	struct err err;

	memcpy(copy, p, n);
	if (n % 2 == 0)
		mend(copy, n);
	trace = trace_open(fuzz_file(copy, n), &err);
	free(copy);
	if (trace) {
		fuzz_use(trace);
		trace_close(trace);
	}
	return 0;
}
