/*
 * query/collective.h - what a communication is, by its name and arguments.
 *
 * Bandwidth as NCCL's own performance tests define it: algorithm bandwidth is
 * message bytes over time, and bus bandwidth that times 2(n-1)/n for
 * all-reduce, (n-1)/n for all-gather, reduce-scatter and all-to-all, and 1 for
 * broadcast and reduce, with n the ranks of the group.
 */
#pragma once

#include "trace/trace.h"

enum collective_family {
	FAMILY_OTHER, FAMILY_ALL_REDUCE, FAMILY_ALL_GATHER, FAMILY_REDUCE_SCATTER, FAMILY_ALL_TO_ALL, FAMILY_BARRIER,
	FAMILY_BROADCAST, FAMILY_REDUCE, FAMILY_GATHER, FAMILY_SCATTER, FAMILY_SEND, FAMILY_RECV, FAMILY_SEND_RECV
};

/* By a name as anybody writes it: allreduce, _allgather_base, nccl:all_to_allv, ncclDevKernel_SendRecv. */
enum collective_family collective_family_of(const char *name);

/* Bytes of an element by torch's name of its type (BFloat16), or NULL_i64. */
int64_t element_bytes(const char *dtype);

/* Bytes of the message of a row of collective, output of an all-gather, else input; NULL_i64 where not told. */
int64_t collective_bytes(const struct trace *trace, ref collective);

/* What algorithm bandwidth is multiplied by; NAN where it is not defined. */
double bus_factor(enum collective_family family, int32_t group_size);
