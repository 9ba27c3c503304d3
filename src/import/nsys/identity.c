/*
 * import/nsys/identity.c - which process, thread, stream or shape a row is about.
 *
 * A globalTid is hardware:8, VM:8, process:24, thread:24 bits. Two processes
 * of one number on two machines are told apart by a label.
 */
#include <stdio.h>
#include <string.h>

#include "import/nsys/nsys.h"

enum { NOT_APPLICABLE = -1 };

static int64_t pid_of(int64_t global)
{
	return (int64_t)((uint64_t)global >> 24 & 0xffffff);
}

/* The machine and the process without the thread. */
static int64_t process_part(int64_t global)
{
	return (int64_t)((uint64_t)global & ~(uint64_t)0xffffff);
}

ref nsys_process(struct nsys *n, int64_t global_pid)
{
	const int64_t global = process_part(global_pid);
	bool found;
	ref *place, process;

	if (global_pid == NULL_i64)
		return NULL_ref;
	place = nsys_map_at(&n->processes, (struct nsys_key){ { global } }, &found);
	if (found)
		return *place;

	process = builder_process(n->b, pid_of(global), NULL_i64);
	if (BUILDER_AT(n->b, process, global_id, process) != NULL_i64) {
		char label[64];
		int length = snprintf(label, sizeof(label), "%lld on machine %llu", (long long)pid_of(global),
				      (unsigned long long)global >> 48);

		process = builder_named_process(n->b, builder_intern(n->b, label, (size_t)length));
		BUILDER_AT(n->b, process, pid, process) = pid_of(global);
	}
	BUILDER_AT(n->b, process, global_id, process) = global;
	return *place = process;
}

ref nsys_thread(struct nsys *n, int64_t global_tid)
{
	bool found;
	ref *place;

	if (global_tid == NULL_i64)
		return NULL_ref;
	place = nsys_map_at(&n->threads, (struct nsys_key){ { global_tid } }, &found);
	if (!found) {
		ref process = nsys_process(n, global_tid);

		if (process != NULL_ref) {
			*place = builder_thread(n->b, process, (int64_t)((uint64_t)global_tid & 0xffffff));
			BUILDER_AT(n->b, thread, global_id, *place) = global_tid;
		}
	}
	return *place;
}

static int64_t applicable(int64_t id)
{
	return id == UINT32_MAX || id == NOT_APPLICABLE ? NULL_i64 : id;
}

ref nsys_stream(struct nsys *n, int64_t global_pid, int64_t device, int64_t context, int64_t stream)
{
	struct nsys_key key = { { global_pid, applicable(device), applicable(context), applicable(stream) } };
	bool found;
	ref *place = nsys_map_at(&n->streams, key, &found);

	if (!found) {
		int64_t number = key.part[1];
		int32_t device_number = number > INT32_MIN && number <= INT32_MAX ? (int32_t)number : NULL_i32;

		*place = builder_stream(n->b, nsys_process(n, global_pid), device_number, key.part[2], key.part[3]);
	}
	return *place;
}

ref nsys_shape(struct nsys *n, const struct kernel_shape_row *shape)
{
	uint32_t h = shape->demangled * 0x9e3779b1u ^ (uint32_t)shape->grid_x * 0x85ebca6bu ^
		     (uint32_t)shape->block_x * 0xc2b2ae35u ^ (uint32_t)shape->grid_y * 0x27d4eb2fu;
	size_t i = (h ^ h >> 15) % N_SHAPES;

	if (n->shapes[i].used && memcmp(&n->shapes[i].row, shape, sizeof(*shape)) == 0)
		return n->shapes[i].shape;
	memcpy(&n->shapes[i].row, shape, sizeof(*shape));
	n->shapes[i].used = true;
	return n->shapes[i].shape = builder_shape(n->b, shape);
}

ref nsys_domain(struct nsys *n, int64_t global_tid, int64_t domain)
{
	const ref process = nsys_process(n, global_tid);
	bool found;
	ref *place = nsys_map_at(&n->domains, (struct nsys_key){ { process, domain } }, &found);

	if (!found) {
		struct nvtx_domain_row row = row_null_nvtx_domain;

		row.process = process;
		row.number = domain;
		*place = builder_add_nvtx_domain(n->b, &row);
	}
	return *place;
}

ref nsys_counter(struct nsys *n, int64_t type, int64_t metric, int32_t device_number)
{
	bool found;
	ref *place = nsys_map_at(&n->counters, (struct nsys_key){ { type, metric } }, &found);

	if (!found) {
		struct counter_row row = row_null_counter;

		row.type_id = type;
		row.number = metric;
		row.device_number = device_number;
		*place = builder_counter(n->b, &row);
	}
	return *place;
}
