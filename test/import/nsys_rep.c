/* import/nsys/rep.c: a report is read by way of an export, and it is said which. */
#include <sys/stat.h>
#include <sys/time.h>

#include "test/import/nsys_test.h"

static const char report_head[] = "NVIDIA Tegra Profiler Report 1.";
static const char export_sql[] = "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"
				 "CREATE TABLE SCHED_EVENTS (start INTEGER NOT NULL);"
				 "INSERT INTO SCHED_EVENTS VALUES (1), (2);";

static char notes[1024];

static void keep_note(const struct ui *ui, const char *text)
{
	(void)ui;
	snprintf(notes + strlen(notes), sizeof(notes) - strlen(notes), "%s\n", text);
}

static void write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "wb");

	EXPECT(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static void set_age(const char *path, time_t seconds)
{
	const struct timeval times[2] = { { .tv_sec = 1700000000 - seconds }, { .tv_sec = 1700000000 - seconds } };

	EXPECT(utimes(path, times) == 0);
}

static struct trace *open_report(const char *path, const char *nsys, struct err *err)
{
	const struct import_options options = { .rank = NULL_i32, .nsys = nsys };
	const struct ui ui = { .note = keep_note };

	notes[0] = '\0';
	return import_open(&path, 1, &options, &ui, err);
}

TEST(import_nsys_rep, reads_the_export_beside_it)
{
	const char *report = nsys_path("a.nsys-rep"), *beside = nsys_path("a.sqlite");
	struct trace *t;
	struct err err;

	write_text(report, report_head);
	nsys_make(beside, export_sql);
	set_age(report, 100);
	set_age(beside, 50);
	t = open_report(report, "/nonexistent/nsys", &err);
	unlink(report);
	unlink(beside);
	EXPECT_DONE(t, err);
	EXPECT_EQ_INT(t->sched.n, 2);
	EXPECT(strstr(notes, "a.sqlite beside it\n") != NULL);
	trace_close(t);
}

TEST(import_nsys_rep, says_that_the_export_beside_it_is_older)
{
	const char *report = nsys_path("b.nsys-rep"), *beside = nsys_path("b.sqlite");
	struct trace *t;
	struct err err;

	write_text(report, report_head);
	nsys_make(beside, export_sql);
	set_age(report, 50);
	set_age(beside, 100);
	t = open_report(report, "/nonexistent/nsys", &err);
	unlink(report);
	unlink(beside);
	EXPECT_DONE(t, err);
	EXPECT(strstr(notes, "b.sqlite beside it, which is older") != NULL);
	trace_close(t);
}

TEST(import_nsys_rep, runs_the_export_of_the_program_it_is_given)
{
	const char *report = nsys_path("c.nsys-rep"), *program = nsys_path("c.sh"), *made = nsys_path("made.sqlite");
	char script[512];
	struct trace *t;
	struct err err;

	write_text(report, report_head);
	nsys_make(made, export_sql);
	snprintf(script, sizeof(script),
		 "#!/bin/sh\n[ \"$1 $2 $3 $4\" = 'export --type sqlite -o' ] || exit 3\necho noise\ncp %s \"$5\"\n", made);
	write_text(program, script);
	EXPECT(chmod(program, 0755) == 0);
	t = open_report(report, program, &err);
	unlink(report);
	unlink(program);
	unlink(made);
	EXPECT_DONE(t, err);
	EXPECT_EQ_INT(t->sched.n, 2);
	EXPECT(strstr(trace_text(t, t->source.name[0]), "c.nsys-rep") != NULL);
	trace_close(t);
}

TEST(import_nsys_rep, names_the_command_when_nothing_can_be_read)
{
	const char *report = nsys_path("d.nsys-rep");
	struct err err;

	write_text(report, report_head);
	EXPECT(open_report(report, "/nonexistent/nsys", &err) == NULL);
	unlink(report);
	EXPECT(strstr(err.text, "d.nsys-rep: needs an export (/nonexistent/nsys: could not be started): "
				"nsys export --type sqlite ") != NULL);
}
