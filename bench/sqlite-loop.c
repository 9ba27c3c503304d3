/*
 * bench/sqlite-loop.c - the least that reading a table of SQLite costs:
 * sqlite-loop FILE TABLE... steps through every row and takes every column as
 * an integer. The opponent of the import of an export of Nsight Systems.
 */
#include <sqlite3.h>
#include <stdio.h>

#include "base/base.h"

static bool loop(sqlite3 *db, const char *table, uint64_t *rows, uint64_t *sum)
{
	sqlite3_stmt *statement;
	char text[256];
	int n;

	snprintf(text, sizeof(text), "select * from \"%s\"", table);
	if (sqlite3_prepare_v2(db, text, -1, &statement, NULL) != SQLITE_OK)
		return false;
	n = sqlite3_column_count(statement);
	while (sqlite3_step(statement) == SQLITE_ROW) {
		for (int i = 0; i < n; i++)
			*sum += (uint64_t)sqlite3_column_int64(statement, i);
		++*rows;
	}
	return sqlite3_finalize(statement) == SQLITE_OK;
}

int main(int argc, char **argv)
{
	uint64_t rows = 0, sum = 0;
	sqlite3 *db;

	if (argc < 3 || sqlite3_open_v2(argv[1], &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
		return 2;
	for (int i = 2; i < argc; i++)
		if (!loop(db, argv[i], &rows, &sum)) {
			fprintf(stderr, "%s: %s\n", argv[i], sqlite3_errmsg(db));
			return 1;
		}
	printf("%llu rows, sum %llu\n", (unsigned long long)rows, (unsigned long long)sum);
	sqlite3_close(db);
	return 0;
}
