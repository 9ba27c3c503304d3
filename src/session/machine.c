/* session/machine.c - lines about the machine, and probes in a child process. */
#define _GNU_SOURCE
#include "session/machine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os.h"
#include "base/text.h"

enum { LONGEST_S = 20, FIELDS = 6, MOST_BYTES = 1 << 20 };

static const char *copy(struct machine *m, const char *text)
{
	return text ? arena_copy(m->arena, text, strlen(text)) : "";
}

void machine_add(struct machine *m, struct machine_line line)
{
	if (m->n == m->room) {
		struct machine_line *grown = arena_array(m->arena, struct machine_line, m->room ? m->room * 2 : 64);

		if (m->n)
			memcpy(grown, m->line, m->n * sizeof(*grown));
		m->line = grown;
		m->room = m->room ? m->room * 2 : 64;
	}
	m->line[m->n++] = (struct machine_line){ copy(m, line.group), copy(m, line.name), copy(m, line.state),
						 copy(m, line.value), copy(m, line.why), copy(m, line.how) };
}

/* Fields of a line with a NUL behind each. */
static void write_lines(const struct machine *m, int file)
{
	struct text out = { 0 };
	size_t at = 0;

	for (size_t i = 0; i < m->n; i++) {
		const struct machine_line *l = &m->line[i];
		const char *const fields[FIELDS] = { l->group, l->name, l->state, l->value, l->why, l->how };

		for (size_t f = 0; f < FIELDS; f++)
			text_add(&out, fields[f], strlen(fields[f]) + 1);
	}
	while (at < out.n) {
		const ssize_t n = write(file, out.p + at, out.n - at);

		if (n <= 0)
			break;
		at += (size_t)n;
	}
	text_end(&out);
}

static void read_lines(struct machine *m, int file)
{
	char *text = arena_take(m->arena, MOST_BYTES + 1);
	const char *fields[FIELDS];
	size_t got = 0, n_fields = 0;
	ssize_t n;

	while (got < MOST_BYTES && ((n = read(file, text + got, MOST_BYTES - got)) > 0 || (n < 0 && errno == EINTR)))
		got += n > 0 ? (size_t)n : 0;
	for (size_t at = 0; at < got; at += strlen(text + at) + 1) {
		fields[n_fields++] = text + at;
		if (n_fields < FIELDS)
			continue;
		n_fields = 0;
		machine_add(m, (struct machine_line){ fields[0], fields[1], fields[2], fields[3], fields[4], fields[5] });
	}
}

void machine_in_child(struct machine *m, const char *group, void (*probe)(struct machine *m, const char *what),
		      const char *what)
{
	int ends[2], status = 0;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) != 0) {
		machine_add(m, (struct machine_line){ group, "probe", "off", strerror(errno), NULL, NULL });
		return;
	}
	fflush(NULL);
	child = fork();
	if (child == 0) {
		struct machine mine = { .arena = m->arena };
		const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

		dup2(nothing, STDOUT_FILENO); /* libraries may print */
		dup2(nothing, STDERR_FILENO);
		alarm(LONGEST_S);
		probe(&mine, what);
		write_lines(&mine, ends[1]);
		_exit(0);
	}
	close(ends[1]);
	if (child > 0) {
		read_lines(m, ends[0]);
		while (waitpid(child, &status, 0) < 0 && errno == EINTR)
			continue;
	}
	close(ends[0]);
	if (child < 0 || !WIFEXITED(status))
		machine_add(m, (struct machine_line){ group, "probe", "off", "asking ended badly",
			arena_print(m->arena, "signal %d", child < 0 ? 0 : WTERMSIG(status)), NULL });
}

char *machine_read(struct machine *m, const char *path)
{
	char text[4096];
	const int file = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (file < 0)
		return NULL;
	n = read(file, text, sizeof(text) - 1);
	close(file);
	if (n < 0)
		return NULL;
	text[n] = '\0';
	return arena_copy(m->arena, text, strcspn(text, "\n"));
}

int machine_process(const char *name)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	int found = 0;

	while (dir && !found && (entry = readdir(dir))) {
		char path[300], comm[32] = "";
		int file;

		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		file = open(path, O_RDONLY | O_CLOEXEC);
		if (file < 0)
			continue;
		if (read(file, comm, sizeof(comm) - 1) > 0 && strncmp(comm, name, strnlen(name, 15)) == 0 &&
		    comm[strnlen(name, 15)] == '\n')
			found = (int)strtol(entry->d_name, NULL, 10);
		close(file);
	}
	if (dir)
		closedir(dir);
	return found;
}
