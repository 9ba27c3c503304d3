/*
 * session/machine_host.c - the system below the program: what perf, ptrace and
 * the container allow, where spools go, and the network's cards.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/os.h"
#include "session/machine.h"

static void add(struct machine *m, const char *group, const char *name, const char *state, const char *value,
		const char *why, const char *how)
{
	machine_add(m, (struct machine_line){ group, name, state, value, why, how });
}

/* The rest of the first line of a file that begins with a word, or NULL. */
static const char *line_with(struct machine *m, const char *path, const char *word)
{
	FILE *file = fopen(path, "re");
	const char *found = NULL;
	char line[4096];

	while (file && !found && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, word, strlen(word)) == 0)
			found = arena_copy(m->arena, line + strlen(word), strlen(line + strlen(word)));
	}
	if (file)
		fclose(file);
	return found;
}

/* ---- the system ---- */

static void tell_system(struct machine *m)
{
	const char *pretty = line_with(m, "/etc/os-release", "PRETTY_NAME="), *flags = line_with(m, "/proc/cpuinfo", "flags");
	const bool is_steady = flags && strstr(flags, "constant_tsc") && strstr(flags, "nonstop_tsc");
	struct utsname uts;

	if (pretty && *pretty == '"')
		pretty = arena_copy(m->arena, pretty + 1, strcspn(pretty + 1, "\""));
	add(m, "system", "distribution", "", pretty ? pretty : "unknown", NULL, NULL);
	if (uname(&uts) == 0)
		add(m, "system", "kernel", "", arena_print(m->arena, "%s %s", uts.release, uts.machine), NULL, NULL);
	if (flags)
		add(m, "system", "timestamp counter", is_steady ? "on" : "off", is_steady ? "steady" : "",
		    is_steady ? NULL : "it is not constant, so CLOCK_MONOTONIC may be slow to read", NULL);
	add(m, "system", "root", geteuid() == 0 ? "on" : "off", "", geteuid() == 0 ? NULL : "the timeline does not need it",
	    NULL);
}

/* ---- perf ---- */

static int open_event(uint32_t type, uint64_t config, uint64_t sample, pid_t pid, int cpu)
{
	struct perf_event_attr attr = {
		.type = type, .size = sizeof(attr), .config = config, .sample_period = 1000000, .sample_type = sample,
		.disabled = 1, .exclude_kernel = 1, .exclude_hv = 1,
		.branch_sample_type = sample & PERF_SAMPLE_BRANCH_STACK ? PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER : 0,
	};
	const long file = syscall(SYS_perf_event_open, &attr, pid, cpu, -1, 0);
	const int cause = errno;

	if (file >= 0)
		close((int)file);
	return file >= 0 ? 0 : cause;
}

static void tell_event(struct machine *m, const char *name, int cause, const char *how)
{
	const char *why = cause == 0 ? NULL : cause == ENOSYS ? "perf_event_open is not there (a seccomp filter?)" :
			  cause == ENOENT || cause == EOPNOTSUPP ? "this machine has no such event (a virtual machine?)" :
			  strerror(cause);

	add(m, "sampling", name, cause ? "off" : "on", "", why, cause == EACCES || cause == EPERM ? how : NULL);
}

static void tell_perf(struct machine *m)
{
	const char *level = machine_read(m, "/proc/sys/kernel/perf_event_paranoid");
	static const char how[] = "sysctl kernel.perf_event_paranoid=2, or CAP_PERFMON; in a container also a seccomp "
				  "profile that lets perf_event_open pass";

	add(m, "sampling", "perf_event_paranoid", "", level ? level : "not there", NULL, NULL);
	tell_event(m, "CPU clock of a process", open_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, PERF_SAMPLE_IP, 0, -1),
		   how);
	tell_event(m, "CPU cycles of a process", open_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, PERF_SAMPLE_IP, 0, -1),
		   how);
	tell_event(m, "branch records", open_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, PERF_SAMPLE_BRANCH_STACK, 0, -1),
		   how);
	tell_event(m, "CPU clock of the system", open_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, PERF_SAMPLE_IP, -1, 0),
		   "sysctl kernel.perf_event_paranoid=0, or CAP_PERFMON");
}

static void tell_ptrace(struct machine *m)
{
	static const char *const words[] = { "any process of this user", "children only", "administrators only", "nobody" };
	const char *scope = machine_read(m, "/proc/sys/kernel/yama/ptrace_scope");
	const int n = scope ? *scope - '0' : 0;

	add(m, "sampling", "ptrace", n == 3 ? "off" : "on",
	    scope && n >= 0 && n < (int)ARRAY_LEN(words) ? words[n] : "no restriction by Yama", NULL, NULL);
}

/* ---- container ---- */

static void tell_limits(struct machine *m)
{
	const char *memory = machine_read(m, "/sys/fs/cgroup/memory.max"), *cpu = machine_read(m, "/sys/fs/cgroup/cpu.max");
	const char *seccomp = line_with(m, "/proc/self/status", "Seccomp:\t");
	const int processors = os_processors(), all = (int)sysconf(_SC_NPROCESSORS_ONLN);
	long long quota, period, bytes;
	char *end;

	if (!memory)
		memory = machine_read(m, "/sys/fs/cgroup/memory/memory.limit_in_bytes");
	add(m, "container", "container", "", os_exists("/.dockerenv") ? "Docker" : os_exists("/run/.containerenv") ? "Podman" :
	    getenv("KUBERNETES_SERVICE_HOST") ? "Kubernetes" : getenv("container") ? getenv("container") : "none seen", NULL, NULL);
	add(m, "container", "processors", "", processors == all ? arena_print(m->arena, "%d", all) :
	    arena_print(m->arena, "%d of %d", processors, all), NULL, NULL);
	if (cpu && sscanf(cpu, "%lld %lld", &quota, &period) == 2 && period > 0)
		add(m, "container", "processor time", "", arena_print(m->arena, "%.1f processors", (double)quota / (double)period),
		    "threads are held back beyond that, and the timeline shows gaps", NULL);
	bytes = memory ? strtoll(memory, &end, 10) : 0;
	if (memory && end != memory && bytes > 0 && bytes < 1ll << 50)
		add(m, "container", "memory", "", arena_print(m->arena, "%.1f GB", (double)bytes / 1e9), NULL, NULL);
	if (seccomp && *seccomp != '0')
		add(m, "container", "seccomp", "on", "a filter may refuse perf_event_open and ptrace", NULL, NULL);
}

void machine_host(struct machine *m)
{
	tell_system(m);
	tell_perf(m);
	tell_ptrace(m);
	tell_limits(m);
}

/* ---- where spools go ---- */

static const char *file_system(long type)
{
	switch ((unsigned long)type & 0xffffffff) {
	case 0x01021994: return "tmpfs";
	case 0x794c7630: return "overlay";
	case 0xef53: return "ext4";
	case 0x58465342: return "xfs";
	case 0x9123683e: return "btrfs";
	case 0x6969: return "nfs";
	case 0x0bd00bd0: return "lustre";
	case 0x65735546: return "fuse";
	default: return "another file system";
	}
}

void machine_place(struct machine *m, const char *spool)
{
	const char *told = getenv("TMPDIR"), *folder = spool ? spool : told && *told ? told : "/tmp", *why = NULL;
	struct statvfs space;
	struct statfs kind;
	const char *name;

	if (statvfs(folder, &space) != 0 || statfs(folder, &kind) != 0 || access(folder, W_OK) != 0) {
		add(m, "recording", "spool folder", "off", folder, strerror(errno), "--spool FOLDER or TMPDIR names another");
		return;
	}
	name = file_system(kind.f_type);
	if (strcmp(name, "tmpfs") == 0)
		why = "what is recorded takes memory";
	else if (strcmp(name, "nfs") == 0 || strcmp(name, "lustre") == 0 || strcmp(name, "fuse") == 0)
		why = "a file system of the network is slow to write, and its mapped files may fail";
	add(m, "recording", "spool folder", "on", arena_print(m->arena, "%s, %s, %.1f GB free", folder, name,
	    (double)space.f_bavail * (double)space.f_frsize / 1e9), why, why ? "--spool FOLDER or TMPDIR names another" : NULL);
}

/* ---- the network ---- */

static void tell_port(struct machine *m, const char *card, const char *port)
{
	const char *folder = arena_print(m->arena, "/sys/class/infiniband/%s/ports/%s", card, port);
	const char *state = machine_read(m, arena_print(m->arena, "%s/state", folder));
	const char *rate = machine_read(m, arena_print(m->arena, "%s/rate", folder));
	const char *layer = machine_read(m, arena_print(m->arena, "%s/link_layer", folder));
	const bool is_active = state && strstr(state, "ACTIVE");

	add(m, "network", arena_print(m->arena, "%s port %s", card, port), is_active ? "on" : "off",
	    arena_print(m->arena, "%s, %s", layer ? layer : "unknown layer", rate ? rate : "unknown rate"),
	    is_active ? NULL : state, NULL);
}

void machine_network(struct machine *m)
{
	DIR *cards = opendir("/sys/class/infiniband");
	struct dirent *card, *port;
	size_t n = 0;

	while (cards && (card = readdir(cards))) {
		DIR *ports = card->d_name[0] == '.' ? NULL :
			     opendir(arena_print(m->arena, "/sys/class/infiniband/%s/ports", card->d_name));

		while (ports && (port = readdir(ports))) {
			if (port->d_name[0] == '.')
				continue;
			tell_port(m, card->d_name, port->d_name);
			n++;
		}
		if (ports)
			closedir(ports);
	}
	if (cards)
		closedir(cards);
	if (n == 0)
		add(m, "network", "InfiniBand", "off", "", "/sys/class/infiniband: no card", NULL);
}
