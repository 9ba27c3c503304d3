/*
 * analysis/bottleneck/bottleneck_tests.c - the tests by which a class is confirmed, and
 * what is missing when there is none.
 *
 * A test is a criterion of the verdict: what was found beside its limit. Those
 * that only tell (their limit is NAN) decide nothing.
 */
#include <math.h>

#include "analysis/bottleneck/bottleneck_parts.h"
#include "query/stats.h"

/* A test of the given kinds of bound; tells if it holds. */
static bool at_least(struct verdict *v, const char *name, double value, double limit)
{
	criterion_add(v, name, value, limit, value >= limit);
	return value >= limit;
}

static void tell(struct verdict *v, const char *name, double value)
{
	criterion_add(v, name, value, NAN, false);
}

static double ratio(double a, double b)
{
	return b > 0 ? a / b : NAN;
}

/* ---- launch ---- */

struct medians {
	double gap_ns, exec_ns, api_ns;
};

/* Medians over the operations of the window: gap to what ran before, execution, and launch call. */
static struct medians medians_of(const struct bottleneck_input *in, struct interval w, struct arena *scratch)
{
	const struct timeline *tl = in->tl;
	const struct timeline_device *d = &tl->devices[in->device];
	int64_t *gaps = arena_array(scratch, int64_t, d->n_ops), *execs = arena_array(scratch, int64_t, d->n_ops);
	int64_t *apis = arena_array(scratch, int64_t, d->n_ops);
	size_t n_gaps = 0, n_execs = 0, n_apis = 0;
	int64_t right_ns = INT64_MIN;

	for (size_t i = d->first_op; i < (size_t)d->first_op + d->n_ops; i++) {
		const struct op *o = &tl->ops[i];
		const bool is_in = o->start_ns >= w.start_ns && o->start_ns < w.end_ns;

		if (is_in) {
			const struct api_call *call = o->call == NULL_ref ? NULL : &tl->calls[o->call];

			if (right_ns != INT64_MIN)
				gaps[n_gaps++] = o->start_ns > right_ns ? duration_ns(right_ns, o->start_ns) : 0;
			execs[n_execs++] = duration_ns(o->start_ns, o->end_ns);
			if (call && !(o->flags & OP_GRAPH_LATER) &&
			    (call->class == CALL_LAUNCH || call->class == CALL_GRAPH_LAUNCH))
				apis[n_apis++] = duration_ns(call->start_ns, call->end_ns);
		}
		right_ns = o->end_ns > right_ns ? o->end_ns : right_ns;
	}
	return (struct medians){
		n_gaps ? stats_of(gaps, n_gaps).median : NAN,
		n_execs ? stats_of(execs, n_execs).median : NAN,
		n_apis ? stats_of(apis, n_apis).median : NAN,
	};
}

static bool test_launch(struct verdict *v, const struct bottleneck_input *in, const struct window_facts *f,
			struct arena *scratch)
{
	const struct medians m = medians_of(in, f->window, scratch);
	const double launch_ns = (double)f->time.ns[SHARE_LAUNCH];
	const bool gaps = m.gap_ns > m.exec_ns, calls = m.exec_ns < m.api_ns;

	criterion_add(v, "launch.gap_to_exec", ratio(m.gap_ns, m.exec_ns), 1, gaps);
	criterion_add(v, "launch.api_to_exec", ratio(m.api_ns, m.exec_ns), 1, calls);
	tell(v, "launch.starved_share", ratio((double)f->time.starved_ns, launch_ns));
	tell(v, "launch.latency_share", ratio((double)f->time.latency_ns, launch_ns));
	return at_least(v, "launch.calls_recorded", ratio((double)f->n_launched, (double)f->n_ops),
			in->limits->confidence_high_share) && (gaps || calls);
}

/* ---- the others ---- */

static bool test_kernels(struct verdict *v, const struct bottleneck_input *in)
{
	const struct bounds *b = in->bounds;
	const double kernel_ns = (double)b->kernel_ns;
	bool holds = false;

	holds |= at_least(v, "kernels.compute_proved", ratio((double)b->proved_ns[BOUND_COMPUTE], kernel_ns),
			  in->limits->class_proved_share);
	holds |= at_least(v, "kernels.memory_proved", ratio((double)b->proved_ns[BOUND_MEMORY], kernel_ns),
			  in->limits->class_proved_share);
	holds |= at_least(v, "kernels.latency_proved", ratio((double)b->proved_ns[BOUND_LATENCY], kernel_ns),
			  in->limits->class_proved_share);
	tell(v, "kernels.shaped_share", ratio((double)b->shaped_ns, kernel_ns));
	if (b->best_flops > 0)
		tell(v, "kernels.flops_of_peak", b->best_flops / b->peak_flops);
	if (b->best_bytes_per_s > 0)
		tell(v, "kernels.bandwidth_of_peak", b->best_bytes_per_s / b->peak_bytes_per_s);
	/* That kernels fill the time is shown by their share; which of their limits it is, by these. */
	return holds || v->class == BOTTLENECK_KERNEL;
}

static bool test_comm(struct verdict *v, const struct bottleneck_input *in, const struct window_facts *f)
{
	const double overlap = ratio((double)f->time.hidden_comm_ns, (double)f->time.comm_busy_ns);
	const bool is_exposed =
		at_least(v, "communication.exposed_share", f->comm_share, in->limits->class_primary_share);

	criterion_add(v, "communication.overlap", overlap, in->limits->comm_overlap_share,
		      overlap < in->limits->comm_overlap_share);
	return is_exposed && overlap < in->limits->comm_overlap_share;
}

/* Waiting synchronisations of the host that begin in the window and are not late. */
static bool test_sync(struct verdict *v, const struct bottleneck_input *in, const struct window_facts *f)
{
	const double n_steps = f->n_steps ? (double)f->n_steps : 1;
	size_t n = 0;

	for (size_t i = 0; i < in->tl->n_calls; i++) {
		const struct api_call *c = &in->tl->calls[i];

		n += (c->flags & (CALL_BLOCKS | CALL_POLLS)) && !(c->flags & CALL_LATE) &&
		     c->start_ns >= f->window.start_ns && c->start_ns < f->window.end_ns;
	}
	tell(v, "sync.refill_share", ratio((double)f->time.refill_ns, (double)f->time.inner_ns));
	return at_least(v, "sync.waits_per_step", (double)n / n_steps, 1);
}

static bool test_copy(struct verdict *v, const struct bottleneck_input *in, const struct window_facts *f)
{
	static const struct need needs[] = {
		{ TABLE_memcpy, BIT(memcpy, bytes) | BIT(memcpy, src_kind) | BIT(memcpy, dst_kind) },
	};
	const struct timeline *tl = in->tl;
	const struct timeline_device *d = &tl->devices[in->device];
	const struct memcpy_table *m = &tl->trace->memcpy;
	double bytes = 0, pageable = 0, ns = 0, n = 0, n_waited = 0;
	struct err err;

	if (!trace_need(tl->trace, needs, ARRAY_LEN(needs), &err))
		return true;
	for (size_t i = d->first_op; i < (size_t)d->first_op + d->n_ops; i++) {
		const struct op *o = &tl->ops[i];

		if (o->table != OF_MEMCPY || m->bytes[o->row] == NULL_u64 || o->start_ns < f->window.start_ns ||
		    o->start_ns >= f->window.end_ns)
			continue;
		n++;
		n_waited += o->call != NULL_ref && tl->calls[o->call].class == CALL_COPY;
		bytes += (double)m->bytes[o->row];
		ns += (double)duration_ns(o->start_ns, o->end_ns);
		if (m->src_kind[o->row] == MEMORY_PAGEABLE || m->dst_kind[o->row] == MEMORY_PAGEABLE)
			pageable += (double)m->bytes[o->row];
	}
	tell(v, "copy.pageable_share", ratio(pageable, bytes));
	tell(v, "copy.waited_share", ratio(n_waited, n));
	tell(v, "copy.bytes_per_s", ratio(bytes * 1e9, ns));
	return true;
}

static bool test_alloc(struct verdict *v, const struct bottleneck_input *in, const struct window_facts *f)
{
	const double n_steps = f->n_steps ? (double)f->n_steps : 1;
	size_t n = 0;

	for (size_t i = 0; i < in->tl->n_calls; i++) {
		const struct api_call *c = &in->tl->calls[i];

		n += (c->class == CALL_ALLOC || c->class == CALL_MODULE || c->class == CALL_GRAPH_SETUP) &&
		     c->start_ns >= f->window.start_ns && c->start_ns < f->window.end_ns;
	}
	criterion_add(v, "alloc.calls_per_step", (double)n / n_steps, 0, n > 0);
	return n > 0;
}

static bool test_class(struct verdict *v, enum bottleneck class, const struct bottleneck_input *in,
		       const struct window_facts *f, struct arena *scratch)
{
	const struct window_time *t = &f->time;

	switch (class) {
	case BOTTLENECK_COMPUTE: case BOTTLENECK_MEMORY: case BOTTLENECK_LATENCY: case BOTTLENECK_KERNEL:
		return test_kernels(v, in);
	case BOTTLENECK_LAUNCH:
		return test_launch(v, in, f, scratch);
	case BOTTLENECK_DATA:
		return !f->n_steps || at_least(v, "data.steps_share", f->data_step_share, in->limits->data_step_share);
	case BOTTLENECK_COMM:
		return test_comm(v, in, f);
	case BOTTLENECK_SYNC:
		return test_sync(v, in, f);
	case BOTTLENECK_COPY:
		return test_copy(v, in, f);
	case BOTTLENECK_ALLOC:
		return test_alloc(v, in, f);
	case BOTTLENECK_DEPENDENCY:
		return at_least(v, "dependency.resolved_share",
				ratio((double)t->dep_known_ns, (double)t->ns[SHARE_DEPENDENCY]),
				in->limits->class_resolved_share);
	case BOTTLENECK_IO:
		return at_least(v, "io.named_share", ratio((double)t->io_known_ns, (double)t->ns[SHARE_IO]),
				in->limits->class_resolved_share);
	case BOTTLENECK_HOST: /* that it was the host's time is known by the calls around it */
		return at_least(v, "host.calls_recorded", ratio((double)f->n_launched, (double)f->n_ops),
				in->limits->confidence_high_share);
	case BOTTLENECK_MIXED: case BOTTLENECK_DIFFUSE: case BOTTLENECK_UNDECIDED: case N_BOTTLENECKS:
		break;
	}
	return false;
}

bool bottleneck_test(struct verdict *v, const struct bottleneck_input *in, const struct window_facts *facts,
		     struct arena *scratch)
{
	if (v->class == BOTTLENECK_MIXED) {
		const bool first = test_class(v, v->mixed[0], in, facts, scratch);
		const bool second = test_class(v, v->mixed[1], in, facts, scratch);

		return first && second;
	}
	return test_class(v, v->class, in, facts, scratch);
}

/* ---- what is missing ---- */

enum missing {
	MISSING_WORK, MISSING_CALLS, MISSING_START, MISSING_ROWS, MISSING_PROCESS, MISSING_HOLDER, MISSING_HOST,
	MISSING_PROFILER, MISSING_WAKER, MISSING_NAMES, MISSING_RANGES, MISSING_COUNTERS, MISSING_RANKS,
	MISSING_WINDOW, MISSING_WORK_OF_CALLS, N_MISSING
};

static const struct {
	const char *en, *zh;
} reasons[N_MISSING] = {
	[MISSING_WORK] = { "the window holds no operation of this device", "窗口内没有该设备的任何操作" },
	[MISSING_CALLS] = {
		"no CUDA calls were recorded, so nothing tells what the device waited for: record them (fathom profile "
		"-t cuda,nvtx; nsys profile -t cuda,nvtx,osrt; PyTorch Profiler with ProfilerActivity.CPU)",
		"没有记录 CUDA 调用，无法判断设备在等什么：请记录调用（fathom profile -t cuda,nvtx；"
		"nsys profile -t cuda,nvtx,osrt；PyTorch Profiler 加上 ProfilerActivity.CPU）" },
	[MISSING_START] = {
		"the calls that launched the work were not recorded: begin to record before the work is launched "
		"(a longer warm-up of the profiler, or --delay instead of a range around one step)",
		"发起这些操作的调用没有被记录：请在提交工作之前开始采集"
		"（延长 profiler 的 warm-up，或用 --delay 代替只包一步的区间）" },
	[MISSING_ROWS] = {
		"records of this time were lost: record a shorter window or fewer kinds of events",
		"这段时间的记录有丢失：请缩短采集窗口或减少事件种类" },
	[MISSING_PROCESS] = {
		"the device's counters show work that no record covers: record all processes that use the device",
		"设备计数器显示有未被记录的工作：请采集使用该设备的所有进程" },
	[MISSING_HOLDER] = {
		"work was queued and ready, and the device began it long after: another process used the device, or the "
		"work waited for something that no record shows; record all processes that use the device, and waits "
		"between streams (fathom profile; nsys profile -t cuda; PyTorch Profiler with cuda_sync events)",
		"任务已入队且就绪，设备却很久之后才开始执行：可能有其他进程占用设备，或任务在等待未被记录的事件；"
		"请采集使用该设备的所有进程，以及 stream 之间的等待"
		"（fathom profile；nsys profile -t cuda；PyTorch Profiler 打开 cuda_sync 事件）" },
	[MISSING_HOST] = {
		"the idle time has no evidence: record the host side too (nsys profile -t cuda,nvtx,osrt "
		"--sample=process-tree --cpuctxsw=process-tree; PyTorch Profiler with ProfilerActivity.CPU)",
		"空闲时间没有证据：请同时采集主机侧（nsys profile -t cuda,nvtx,osrt --sample=process-tree "
		"--cpuctxsw=process-tree；PyTorch Profiler 加上 ProfilerActivity.CPU）" },
	[MISSING_PROFILER] = {
		"the profiler's own work is the largest part of the idle time: record less (no stacks, no memory, "
		"fewer kinds)",
		"空闲时间的最大部分是 profiler 自身的开销：请减少采集内容（不要堆栈、内存，减少事件种类）" },
	[MISSING_WAKER] = {
		"the thread that launches waited for another thread or process (a condition, a semaphore, poll), and "
		"nothing tells what that one did: name its work with ranges, and record the processes of the loader "
		"too (nsys profile -t cuda,nvtx,osrt --sample=process-tree)",
		"提交任务的线程在等待其他线程或进程（条件变量、信号量、poll），而没有记录说明对方在做什么："
		"请用区间标注对方的工作，并同时采集加载数据的进程"
		"（nsys profile -t cuda,nvtx,osrt --sample=process-tree）" },
	[MISSING_NAMES] = {
		"what the CPU did meanwhile was not recorded: add ranges to the program (fathom profile -t cuda,nvtx), "
		"or CPU samples and OS calls (nsys profile -t cuda,nvtx,osrt --sample=process-tree; PyTorch Profiler "
		"with_stack=True)",
		"没有记录 CPU 在此期间做了什么：请在程序中加入 NVTX 区间（fathom profile -t cuda,nvtx），"
		"或采集 CPU 采样与系统调用（nsys profile -t cuda,nvtx,osrt --sample=process-tree；"
		"PyTorch Profiler 的 with_stack=True）" },
	[MISSING_RANGES] = {
		"samples or frames show what the CPU ran meanwhile, but no range says what for: name the parts of a "
		"step with ranges (NVTX, torch.profiler.record_function)",
		"采样或调用帧显示了 CPU 在此期间运行的代码，但没有区间说明其用途："
		"请用区间标注一步中的各部分（NVTX、torch.profiler.record_function）" },
	[MISSING_WINDOW] = {
		"the device worked in a sliver of the window only, so its time says little of the window: choose the part "
		"in which it works (--filter-time, --filter-nvtx, --steps), or record for longer",
		"设备只在窗口的很小一段时间内工作，这段时间不能代表整个窗口：请选择设备工作的部分"
		"（--filter-time、--filter-nvtx、--steps），或延长采集" },
	[MISSING_WORK_OF_CALLS] = {
		"most launches have no kernel on record, so what looks idle may not be: record again, and look at what was "
		"lost (fathom info --health)",
		"大多数 launch 没有对应的 kernel 记录，看似空闲的时间未必空闲：请重新采集，并查看丢失的内容"
		"（fathom info --health）" },
	[MISSING_RANKS] = {
		"one rank alone does not tell whether its communication waits for others or moves data: analyze the "
		"files of all ranks together",
		"只看一个 rank 无法区分通信是在等待其他 rank 还是在传输数据：请把所有 rank 的文件放在一起分析" },
	[MISSING_COUNTERS] = {
		"compute or memory is not decided: neither counters nor shapes that prove it were recorded (ncu --set "
		"basic on the longest kernels, or PyTorch Profiler with record_shapes=True)",
		"无法区分计算受限还是访存受限：没有计数器，也没有可以证明的形状"
		"（对最长的 kernel 运行 ncu --set basic，或使用 PyTorch Profiler 的 record_shapes=True）" },
};

static enum missing missing_of(const struct bottleneck_input *in, const struct window_time *time)
{
	static const struct {
		enum idle_class class;
		enum missing missing;
	} by_class[] = {
		{ IDLE_UNKNOWN_ORPHAN, MISSING_START }, { IDLE_UNKNOWN_LOSS, MISSING_ROWS },
		{ IDLE_UNCAPTURED, MISSING_PROCESS }, { IDLE_LATE, MISSING_HOLDER }, { IDLE_UNKNOWN, MISSING_HOST },
	};
	enum missing missing = MISSING_WORK;
	int64_t most_ns = time->no_evidence_ns[IDLE_NO_WORK];

	for (size_t i = 0; i < ARRAY_LEN(by_class); i++)
		if (time->no_evidence_ns[by_class[i].class] > most_ns) {
			most_ns = time->no_evidence_ns[by_class[i].class];
			missing = by_class[i].missing;
		}
	/* Without calls, steps cannot tell where their work is either. */
	if (in->tl->n_calls == 0 &&
	    (missing == MISSING_START || (missing == MISSING_WORK && in->tl->devices[in->device].n_ops > 0)))
		return MISSING_CALLS;
	return missing;
}

void bottleneck_say_reason(struct verdict *v, const struct bottleneck_input *in, const struct window_time *time,
			   enum unsound unsound)
{
	enum missing missing;

	if (unsound != UNSOUND_NOT)
		missing = unsound == UNSOUND_SLIVER ? MISSING_WINDOW : MISSING_WORK_OF_CALLS;
	else if (v->class == BOTTLENECK_UNDECIDED)
		missing = v->share[SHARE_PROFILER] > v->share[SHARE_NONE] ? MISSING_PROFILER : missing_of(in, time);
	else if (v->class == BOTTLENECK_HOST && 2 * time->host_ranges_ns > time->ns[SHARE_HOST])
		return;
	else if (v->class == BOTTLENECK_HOST)
		missing = 2 * time->host_waits_ns > time->ns[SHARE_HOST]   ? MISSING_WAKER
			  : 2 * time->host_known_ns < time->ns[SHARE_HOST] ? MISSING_NAMES
									   : MISSING_RANGES;
	else if (v->class == BOTTLENECK_KERNEL)
		missing = MISSING_COUNTERS;
	else if (v->class == BOTTLENECK_COMM)
		missing = MISSING_RANKS;
	else
		return;
	v->reason = reasons[missing].en;
	v->reason_zh = reasons[missing].zh;
}
