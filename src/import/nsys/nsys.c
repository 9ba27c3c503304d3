/*
 * import/nsys/nsys.c - reads what `nsys export --type sqlite` writes.
 *
 *   (1) Every line that can be read is counted as kept, used, lost or unknown
 *       under its table's name; what cannot be read is a loss.
 *   (2) Times stay as they are: zero is the start of the collection.
 *   (3) A table that is there is recorded, even without lines; one that is not
 *       is absent, or not recorded where the capture's options say so.
 *
 * To add a table: a struct nsys_table in device.c, host.c or target.c.
 */
#include <string.h>

#include "import/nsys/nsys.h"

static const char magic[] = "SQLite format 3"; /* and its NUL */

static bool is_sqlite(struct span head)
{
	return head.n >= sizeof(magic) && memcmp(head.p, magic, sizeof(magic)) == 0;
}

/* Some table that every export has; a cut file may have lost all but one. */
static bool is_export(struct nsys *n)
{
	static const char *const names[] = { "StringIds", "META_DATA_EXPORT", "META_DATA_CAPTURE", "ANALYSIS_DETAILS" };
	size_t n_known = 0;

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		n_known += nsys_find(&n->database, names[i]) != NULL;
	for (size_t i = 0; i < n_nsys_device_tables; i++)
		n_known += nsys_find(&n->database, nsys_device_tables[i].name) != NULL;
	for (size_t i = 0; i < n_nsys_host_tables; i++)
		n_known += nsys_find(&n->database, nsys_host_tables[i].name) != NULL;
	return n_known > 0;
}

static void begin_source(struct nsys *n)
{
	struct source_row row = row_null_source;

	row.name = builder_text(n->b, source_name(n->source));
	row.format = builder_text(n->b, "nsys-sqlite");
	row.rank = source_rank(n->source, NULL_i32);
	row.size = source_size(n->source) ? source_size(n->source) : n->database.size;
	builder_begin_source(n->b, &row);
	if (n->database.damage)
		builder_lose(n->b, "damaged", source_name(n->source), 1, n->database.damage);
}

static void read_tables(struct nsys *n)
{
	nsys_read_strings(n);
	nsys_describe_source(n);
	for (size_t i = 0; i < n_nsys_target_tables; i++)
		nsys_read_table(n, &nsys_target_tables[i]);
	nsys_read_domains(n);
	for (size_t i = 0; i < n_nsys_host_tables; i++)
		nsys_read_table(n, &nsys_host_tables[i]);
	for (size_t i = 0; i < n_nsys_device_tables; i++)
		nsys_read_table(n, &nsys_device_tables[i]);
	nsys_read_facts(n);
	nsys_read_capture(n);
	nsys_read_rest(n);
}

static void end(struct nsys *n)
{
	nsys_close(&n->database);
	nsys_map_end(&n->processes);
	nsys_map_end(&n->threads);
	nsys_map_end(&n->streams);
	nsys_map_end(&n->gpus);
	nsys_map_end(&n->context_devices);
	nsys_map_end(&n->domains);
	nsys_map_end(&n->counters);
	nsys_map_end(&n->strings.sparse);
	block_end(n->strings.dense);
	arena_end(&n->arena);
}

static bool read_sqlite(struct source *source, struct builder *b, struct err *err)
{
	struct nsys n = { .b = b, .source = source };

	if (!nsys_open(source, &n.arena, &n.database, err)) {
		arena_end(&n.arena);
		return false;
	}
	if (!is_export(&n)) {
		end(&n);
		return fail(err, "%s: an SQLite database without a table of Nsight Systems", source_path(source));
	}
	n.shapes = arena_take_array(&n.arena, N_SHAPES, sizeof(*n.shapes));
	begin_source(&n);
	read_tables(&n);
	builder_end_source(b, 0); /* promise (2) */
	end(&n);
	return true;
}

const struct importer importer_nsys = {
	.name    = "nsys-sqlite",
	.summary = "SQLite export of Nsight Systems",
	.suffix  = ".sqlite",
	.sniff   = is_sqlite,
	.read    = read_sqlite,
};
