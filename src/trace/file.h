/*
 * trace/file.h - the layout of a .fathom file, and what its readers and its
 * writer share; nobody outside of trace/file_*.c includes it.
 *
 * docs/format.md says the same for strangers, byte by byte. A file is
 *
 *   header, chunks (a head and a payload each), trailer
 *
 * and every head begins at a multiple of ALIGNMENT, so that chunks can be
 * found without the index and used in place.
 */
#pragma once

#include "base/hash.h"
#include "base/os.h"
#include "trace/trace.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "columns are used in place, and files are little-endian");

#define HEADER_MAGIC "\211fathom\n"
#define CHUNK_MAGIC "\211chunk\r\n"
#define TRAILER_MAGIC "\211ftail\r\n"

enum { FORMAT_MAJOR = 1, FORMAT_MINOR = 0, ALIGNMENT = 64, NAME_SIZE = 32, MAGIC_SIZE = 8 };

/* Sizes that are believed without a proof, and how far a payload may inflate. */
enum { FREE_ROWS = 1 << 20, MOST_INFLATION = 1 << 16 };

enum { FLAG_COMPRESSED = 1 };

struct file_header {
	char magic[MAGIC_SIZE];
	uint16_t major, minor;
	uint32_t schema;
	uint32_t flags;
	uint32_t head_size;
	uint64_t zeros[4];
	uint64_t checksum; /* of the bytes before it */
};

enum chunk_kind {
	CHUNK_TABLE = 1, CHUNK_COLUMN, CHUNK_STRING_OFFSETS, CHUNK_STRING_BYTES, CHUNK_CONTENTS, CHUNK_INDEX
};

/* Bits of an encoding, in the order in which a reader undoes them. */
enum {
	ENCODING_CONSTANT = 1, /* no payload: every value is the head's; alone */
	ENCODING_ZSTD = 2,     /* one zstd frame */
	ENCODING_SHUFFLE = 4,  /* byte 0 of every value, then byte 1 of every value ... */
	ENCODING_ZIGZAG = 8,   /* 0, -1, 1, -2 ... are stored as 0, 1, 2, 3 ... */
	ENCODING_DELTA = 16,   /* minus the value before */
	ENCODING_OTHER = 32,   /* minus the value of another column in the same row */
	ENCODING_KNOWN = 63
};

struct file_head {
	char magic[MAGIC_SIZE];
	char table[NAME_SIZE], column[NAME_SIZE];
	char other[NAME_SIZE]; /* for ENCODING_OTHER */
	uint8_t kind, type;    /* type: enum cell_type + 1, 0 for none */
	uint8_t encoding, state;
	uint32_t zero;
	uint64_t rows;
	uint64_t raw;             /* bytes after decoding */
	uint64_t stored;          /* bytes of the payload, without padding */
	uint64_t payload_checksum;
	uint64_t value;           /* for ENCODING_CONSTANT */
	uint64_t offset;          /* of this head in the file */
	uint64_t zeros[3];
	uint64_t checksum; /* of the bytes before it */
};

struct file_trailer {
	char magic[MAGIC_SIZE];
	uint64_t index_offset; /* of the head of the index */
	uint64_t index_bytes;
	uint64_t index_checksum;
	uint64_t file_bytes;
	uint64_t n_chunks; /* heads in the index */
	uint64_t zero;
	uint64_t checksum; /* of the bytes before it */
};

_Static_assert(sizeof(struct file_header) == 64, "docs/format.md");
_Static_assert(sizeof(struct file_head) == 192, "docs/format.md");
_Static_assert(sizeof(struct file_trailer) == 64, "docs/format.md");

/* A head's payload, and where the next head may begin at the earliest. */
enum { HEAD_SIZE = sizeof(struct file_head) };

static inline uint64_t file_align(uint64_t n)
{
	return (n + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
}

/* Checksum of a header, head or trailer, which ends with it. */
static inline uint64_t file_checksum(const void *p, size_t size)
{
	return hash_bytes(p, size - sizeof(uint64_t));
}

/* ---- file_code.c: encodings ---- */

/* Values as stored. Owned by the caller (block_end). */
struct coded {
	void *block; /* NULL: as they are */
	uint64_t stored;
	uint8_t encoding;
	const char *other; /* name of the other column, or NULL */
};

/* Another column that values may be stored against. */
struct code_other {
	const char *name;
	const void *values;
};

/* Find the smallest of the encodings that a column of that cell size can have. */
struct coded file_encode(const void *values, size_t n, size_t size, const struct code_other *others, size_t n_others);

/*
 * Undo the encoding of a payload of head->stored bytes; other is the other
 * column's values. Gives a block of head->raw bytes, owned by the caller
 * (block_end), or NULL with err.
 */
void *file_decode(const struct file_head *head, const void *payload, size_t size, const void *other,
		  struct err *err) MUST_CHECK;

/* ---- file_scan.c: a file without a sound index ---- */

/* What was found: heads whose checksum is right and whose payload is in the file. */
struct file_scan {
	struct file_head *heads; /* a block, owned by the caller */
	size_t n;
};

struct file_scan file_scan(const char *p, size_t n);

/* True when a head can be believed and its payload lies in a file of n bytes. */
bool file_head_is_sound(const struct file_head *head, uint64_t n);

/* ---- file_open.c, file_read.c, file_loss.c: an opened file ---- */

struct file_loss {
	struct file_loss *next;
	const char *kind, *place, *detail;
	uint64_t amount;
	str_id kind_id, place_id, detail_id; /* once it is told */
};

struct trace_file {
	struct os_map map;
	struct trace_file_info info;
	const struct file_head *heads; /* in the map, or a block after a scan */
	size_t n_heads;
	bool is_partial;      /* heads were searched: what was not found may be lost */
	struct span contents; /* names of all chunks, a line each; empty when not needed */
	const struct file_head *tables[N_TABLES];
	const struct file_head *columns[N_TABLES][64];
	const struct file_head *string_offsets, *string_bytes;
	size_t rows[N_TABLES];              /* in the file; 0 once a table is lost */
	uint64_t loaded[N_TABLES];          /* bits of columns */
	const char *table_cause[N_TABLES];  /* why a table is lost */
	const char *column_cause[N_TABLES][64];
	bool has_strings, has_lost_strings;
	size_t n_strings;             /* in the file: ids are below */
	struct file_loss *losses, **last_loss;
	size_t n_losses, n_told;      /* told: their texts are in strings */
	const void *loss_columns[64]; /* of table loss as the file has it */
	size_t loss_rows_told[64];    /* losses that follow in the column that is shown */
};

/* Own a block until trace_close. */
void *file_keep(struct trace *trace, void *block);

/* An array of n equal cells, shared by all that ask for the like. Owned by the trace. */
const void *file_constant(struct trace *trace, size_t size, uint64_t bits, size_t n);

/* Give back what file_constant took. */
void file_end_constants(struct trace *trace);

/* True when the rows of its table mean nothing without the column. */
bool file_is_key(enum table_id t, size_t column);

/* Note a loss: a row of table loss once file_tell_losses was called. Texts are copied. */
void file_lose(struct trace *trace, const char *kind, const char *place, uint64_t amount, const char *detail);

/* A whole table, or one column, is lost: refs to it, or its values, read as NULL. */
void file_lose_table(struct trace *trace, enum table_id t, const char *why);
void file_lose_column(struct trace *trace, enum table_id t, size_t column, const char *kind, const char *why);

/* Bring strings and table loss up to date with the losses. */
void file_tell_losses(struct trace *trace);
