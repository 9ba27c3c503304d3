/* answer/speech.c - see speech.h. */
#include "answer/speech.h"

#include <stdarg.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

static const struct phrase phrases[N_PHRASES] = {
#define PHRASE(key, en, zh) [SAY_##key] = { en, zh },
#include "answer/phrases.def"
#undef PHRASE
};

/* What English takes from the lists of the analyses, Chinese has here. */
static const char *const chinese_classes[N_BOTTLENECKS] = {
	[BOTTLENECK_COMPUTE] = "计算受限（compute-bound）", [BOTTLENECK_MEMORY] = "访存受限（memory-bound）",
	[BOTTLENECK_LATENCY] = "延迟受限（latency-bound）", [BOTTLENECK_KERNEL] = "kernel 受限（kernel-bound）",
	[BOTTLENECK_LAUNCH] = "启动受限（launch-bound）", [BOTTLENECK_HOST] = "CPU 受限（host-bound）",
	[BOTTLENECK_DATA] = "数据加载受限（data-bound）", [BOTTLENECK_IO] = "IO 受限（io-bound）",
	[BOTTLENECK_COMM] = "通信受限（communication-bound）", [BOTTLENECK_SYNC] = "同步受限（sync-bound）",
	[BOTTLENECK_COPY] = "拷贝受限（copy-bound）", [BOTTLENECK_ALLOC] = "分配受限（alloc-bound）",
	[BOTTLENECK_DEPENDENCY] = "依赖等待受限（dependency-bound）", [BOTTLENECK_MIXED] = "混合瓶颈（mixed）",
	[BOTTLENECK_DIFFUSE] = "瓶颈分散（diffuse）", [BOTTLENECK_UNDECIDED] = "无法判定（undecided）",
};

static const struct phrase idle_words[N_IDLE_CLASSES] = {
	[IDLE_LAUNCH_API] = { "launch calls", "停在启动调用里" },
	[IDLE_LAUNCH_DEVICE] = { "launch latency", "启动延迟" },
	[IDLE_DEP_REMOTE] = { "waiting for another device", "等待另一设备" },
	[IDLE_DEP_EVENT] = { "waiting for another stream", "等待其他 stream 的 event" },
	[IDLE_DEP_HOST_FN] = { "waiting for a host function", "等待主机回调" },
	[IDLE_DEP_EXTERNAL] = { "waiting for an external semaphore", "等待外部信号量" },
	[IDLE_DEP_UNRESOLVED] = { "waiting for something not recorded", "等待未记录的依赖" },
	[IDLE_SYNC] = { "CPU in synchronization", "CPU 停在同步调用里" },
	[IDLE_MEMCPY] = { "CPU in blocking copies", "CPU 停在阻塞式拷贝里" },
	[IDLE_ALLOC] = { "CPU allocating", "CPU 在分配内存" },
	[IDLE_MODULE] = { "CPU loading modules", "CPU 在加载模块" },
	[IDLE_GRAPH_SETUP] = { "CPU setting up graphs", "CPU 在构建 graph" },
	[IDLE_API_OTHER] = { "CPU in other CUDA calls", "CPU 在其他 CUDA 调用里" },
	[IDLE_COMM] = { "CPU in communication calls", "CPU 在通信调用里" },
	[IDLE_DATA] = { "CPU loading data", "CPU 在加载数据" },
	[IDLE_OS_IO] = { "CPU reading or writing", "CPU 在读写 IO" },
	[IDLE_OS_WAIT] = { "CPU waiting in the operating system", "CPU 在操作系统里等待" },
	[IDLE_SLEEP] = { "CPU asleep", "CPU 在睡眠" },
	[IDLE_PREEMPTED] = { "CPU thread preempted", "CPU 线程被抢占" },
	[IDLE_PYTHON] = { "CPU in Python", "CPU 在执行 Python" },
	[IDLE_GIL] = { "CPU waiting for the GIL", "CPU 在等 GIL" },
	[IDLE_NATIVE] = { "CPU in native code", "CPU 在执行本地代码" },
	[IDLE_SUBMISSION] = { "CPU between launches", "CPU 在两次下发之间" },
	[IDLE_RANGE] = { "CPU in ranges of the program", "CPU 在程序自己的 range 中" },
	[IDLE_UNNAMED] = { "unnamed CPU work", "CPU 在做未命名的事" },
	[IDLE_PROFILER] = { "the profiler's own work", "采集器自身" },
	[IDLE_UNCAPTURED] = { "device work that was not captured", "未采集到的设备任务" },
	[IDLE_LATE] = { "queued and ready, but held up", "已入队且就绪，却迟迟未开始" },
	[IDLE_NO_WORK] = { "no work at all", "完全没有任务" },
	[IDLE_UNKNOWN_LOSS] = { "records were lost", "记录丢失" },
	[IDLE_UNKNOWN_ORPHAN] = { "next work has no call on record", "下一任务没有调用记录" },
	[IDLE_UNKNOWN] = { "unknown", "未知" },
};

static const struct phrase trigger_words[N_TRIGGERS] = {
	[TRIGGER_LEADING] = { "before the first work", "第一个任务之前" },
	[TRIGGER_TRAILING] = { "after the last work", "最后一个任务之后" },
	[TRIGGER_DEPENDENCY] = { "a wait for other device work", "等其他设备任务" },
	[TRIGGER_SYNC] = { "a wait of the CPU for it", "CPU 先等它跑空" },
	[TRIGGER_STARVED] = { "nothing queued", "队列里没有任务" },
	[TRIGGER_LATENCY] = { "work queued already", "下一任务已入队" },
	[TRIGGER_UNKNOWN] = { "not known", "未知" },
};

static const struct phrase path_words[N_PATH_KINDS] = {
	[PATH_COMPUTE] = { "compute", "计算" },
	[PATH_COMM_TRANSFER] = { "communication, transfer", "通信传输" },
	[PATH_COMM_WAIT] = { "communication, wait", "通信等待" },
	[PATH_COMM] = { "communication", "通信" },
	[PATH_COPY] = { "copies and fills", "拷贝与填充" },
	[PATH_LAUNCH_LATENCY] = { "launch latency", "启动延迟" },
	[PATH_DISPATCH_GAP] = { "gaps between queued work", "队列内任务间隙" },
	[PATH_LAUNCH_CALL] = { "launch calls", "启动调用" },
	[PATH_SYNC_RETURN] = { "return from waits", "等待返回" },
	[PATH_SYNC_LATE] = { "waits for nothing", "无效等待" },
	[PATH_ALLOC] = { "allocation", "内存分配" },
	[PATH_MODULE] = { "module loading", "模块加载" },
	[PATH_API_OTHER] = { "other CUDA calls", "其他 CUDA 调用" },
	[PATH_HOST] = { "CPU between CUDA calls", "CUDA 调用之间的 CPU" },
	[PATH_OS_WAIT] = { "waits in the operating system", "操作系统等待" },
	[PATH_WAKE_UP] = { "wake-up latency", "唤醒延迟" },
	[PATH_PROFILER] = { "the profiler's own work", "采集器自身" },
	[PATH_UNKNOWN] = { "unknown", "未知" },
};

static const struct phrase share_words[N_SHARES] = {
	[SHARE_KERNEL] = { "kernels", "kernel" }, [SHARE_COMM] = { "communication", "通信" },
	[SHARE_COPY] = { "copies", "拷贝" }, [SHARE_DATA] = { "data loading", "数据加载" },
	[SHARE_SYNC] = { "synchronization", "同步" }, [SHARE_LAUNCH] = { "launch and submission", "启动与下发" },
	[SHARE_HOST] = { "other CPU work", "其他 CPU 工作" }, [SHARE_ALLOC] = { "allocation and set-up", "分配与构建" },
	[SHARE_IO] = { "operating system", "操作系统" }, [SHARE_DEPENDENCY] = { "dependencies", "依赖等待" },
	[SHARE_PROFILER] = { "profiler", "采集器" }, [SHARE_NONE] = { "no known cause", "原因不明" },
};

bool lang_find(const char *word, enum lang *out)
{
	if (!word || !*word)
		return false;
	if (strncasecmp(word, "zh", 2) == 0) {
		*out = LANG_ZH;
		return true;
	}
	*out = LANG_EN;
	return strncasecmp(word, "en", 2) == 0 || strcmp(word, "C") == 0 || strncmp(word, "C.", 2) == 0 ||
	       strcmp(word, "POSIX") == 0;
}

const char *say(const struct speech *s, enum phrase_id id)
{
	return say_own(s, &phrases[id]);
}

/* The place that begins there: a digit, and the words behind a colon, if there are any. */
struct place {
	size_t number, n;    /* of the value; bytes of the place, 0 where none begins */
	struct span one, many;
};

static struct place place_at(const char *p)
{
	struct place out = { 0 };
	const char *end = strchr(p, '}'), *bar;

	if (p[0] != '{' || p[1] < '0' || p[1] > '9' || !end || (p[2] != '}' && p[2] != ':'))
		return out;
	out.number = (size_t)(p[1] - '0');
	out.n = (size_t)(end - p) + 1;
	bar = p[2] == ':' ? memchr(p, '|', out.n) : NULL;
	if (bar) {
		out.one = (struct span){ p + 3, (size_t)(bar - p) - 3 };
		out.many = (struct span){ bar + 1, (size_t)(end - bar) - 1 };
	}
	return out;
}

static size_t count_places(const char *p)
{
	size_t n = 0;

	for (; *p; p++) {
		const struct place place = place_at(p);

		if (place.n && place.number + 1 > n)
			n = place.number + 1;
	}
	return n;
}

const char *say_with(const struct speech *s, enum phrase_id id, ...)
{
	const char *values[10] = { NULL };
	const size_t n = count_places(phrases[id].en);
	struct text out = { 0 };
	va_list args;

	va_start(args, id);
	for (size_t i = 0; i < n; i++)
		values[i] = va_arg(args, const char *);
	va_end(args);
	for (const char *p = say(s, id); *p; p++) {
		const struct place place = place_at(p);
		const char *value = place.n && values[place.number] ? values[place.number] : "";

		if (!place.n)
			text_addc(&out, *p);
		else if (!place.many.p)
			text_adds(&out, value);
		else if (strcmp(value, "1") == 0)
			text_add(&out, place.one.p, place.one.n);
		else
			text_add(&out, place.many.p, place.many.n);
		p += place.n ? place.n - 1 : 0;
	}

	const char *text = arena_copy(s->arena, out.n ? out.p : "", out.n);

	text_end(&out);
	return text;
}

const char *say_class(const struct speech *s, enum bottleneck b)
{
	return s->lang == LANG_ZH ? chinese_classes[b] : bottleneck_name(b);
}

const char *say_idle(const struct speech *s, enum idle_class c)
{
	return say_own(s, &idle_words[c]);
}

const char *say_trigger(const struct speech *s, enum trigger t)
{
	return say_own(s, &trigger_words[t]);
}

const char *say_path(const struct speech *s, enum path_kind k)
{
	return say_own(s, &path_words[k]);
}

const char *say_share(const struct speech *s, enum share k)
{
	return say_own(s, &share_words[k]);
}

const char *say_severity(const struct speech *s, enum finding_severity v)
{
	static const enum phrase_id ids[] = { SAY_severity_info, SAY_severity_low, SAY_severity_medium, SAY_severity_high,
					      SAY_severity_critical };

	return say(s, ids[v]);
}

const char *say_confidence(const struct speech *s, enum confidence c)
{
	static const enum phrase_id ids[] = { SAY_confidence_low, SAY_confidence_medium, SAY_confidence_high };

	return say(s, ids[c]);
}
