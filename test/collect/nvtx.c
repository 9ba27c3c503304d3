/* collect_nvtx: ranges, marks and names, by the loaders of NVTX 2 and 3. */
#include "test/collect/capture.h"

#include <stdio.h>

/* The texts of a kind's events in the order of time of one thread, joined by blanks. */
static const char *texts_of(const struct captured *p, uint32_t kind)
{
	static char out[1000];
	struct seen *all = capture_records(p, kind, NULL);
	size_t n = 0;

	out[0] = '\0';
	for (struct seen *s = all; s->record; s++)
		n += (size_t)snprintf(out + n, sizeof(out) - n, "%s%s", n ? " " : "",
				      capture_text(p, ((const struct spool_nvtx *)s->record)->text));
	free(all);
	return out;
}

TEST(collect_nvtx, records_both_versions_without_cuda)
{
	struct capture c;
	const struct captured *p = &c.processes[0];

	capture_begin(&c);
	capture_run_same(&c, "push:three pop mark:m3 nvtx:2 push:two pop mark:m2 start:s2 stop print:ok");
	EXPECT_EQ_TEXT(c.output, "ok\n");
	EXPECT_EQ_INT(c.n, 1);
	EXPECT_EQ_INT(p->head->cupti_status, SPOOL_CUPTI_ABSENT);
	EXPECT_EQ_TEXT(texts_of(p, SPOOL_NVTX_PUSH), "three two");
	EXPECT_EQ_TEXT(texts_of(p, SPOOL_NVTX_MARK), "m3 m2");
	EXPECT_EQ_TEXT(texts_of(p, SPOOL_NVTX_START), "s2");
	EXPECT_EQ_INT(capture_count(&c, SPOOL_NVTX_POP), 2);
	EXPECT_EQ_INT(capture_count(&c, SPOOL_NVTX_END), 1);
}

TEST(collect_nvtx, makes_wide_texts_utf8)
{
	struct capture c;

	capture_begin(&c);
	capture_run(&c, "wide:x pop");
	EXPECT_EQ_TEXT(texts_of(&c.processes[0], SPOOL_NVTX_PUSH), "weit \u00e4\u20ac\U0001f600");
}

TEST(collect_nvtx, keeps_payload_colour_and_category)
{
	struct capture c;
	struct seen *all;
	const struct spool_nvtx *push;

	capture_begin(&c);
	capture_run(&c, "payload:load:4711 pop category:forward:5");
	all = capture_records(&c.processes[0], SPOOL_NVTX_PUSH, NULL);
	push = all[0].record;
	EXPECT(push != NULL);
	EXPECT_EQ_INT(SPOOL_FLAGS(all[0].word), 1);
	EXPECT_EQ_INT(push->payload[0], 4711);
	EXPECT_EQ_INT(push->color, 0xff00ff00);
	EXPECT_EQ_INT(push->category, 5);
	free(all);
	all = capture_records(&c.processes[0], SPOOL_NAME, NULL);
	EXPECT(all[0].record != NULL);
	EXPECT_EQ_INT(SPOOL_FLAGS(all[0].word), SPOOL_NAMED_CATEGORY);
	EXPECT_EQ_INT(((const struct spool_name *)all[0].record)->object, 5);
	EXPECT_EQ_TEXT(capture_text(&c.processes[0], ((const struct spool_name *)all[0].record)->text), "forward");
	free(all);
}

TEST(collect_nvtx, writes_a_registered_text_once)
{
	struct capture c;
	struct seen *all;
	size_t n_same = 0;

	capture_begin(&c);
	capture_run(&c, "registered:step@loop:1000");
	EXPECT_EQ_INT(capture_count(&c, SPOOL_NVTX_PUSH), 1000);
	EXPECT_EQ_INT(capture_count(&c, SPOOL_NVTX_DOMAIN), 1);
	all = capture_records(&c.processes[0], SPOOL_TEXT, NULL);
	for (struct seen *s = all; s->record; s++)
		n_same += strcmp(((const struct spool_text *)s->record)->bytes, "step") == 0;
	EXPECT_EQ_INT(n_same, 1);
	free(all);
	all = capture_records(&c.processes[0], SPOOL_NVTX_PUSH, NULL);
	for (struct seen *s = all; s->record; s++) {
		const struct spool_nvtx *push = s->record;

		EXPECT(push->is_registered && push->domain);
		EXPECT_EQ_TEXT(capture_text(&c.processes[0], push->text), "step");
		if (s - all > 20)
			break;
	}
	free(all);
}

TEST(collect_nvtx, tells_the_depth_of_a_range)
{
	struct capture c;

	capture_begin(&c);
	capture_run(&c, "deep:500 exit:0"); /* the program checks what push and pop return, and ends with 99 */
	EXPECT_EQ_INT(c.status, 0);
	capture_begin(&c);
	capture_run(&c, "deep:500");
	EXPECT_EQ_INT(c.status, 0);
	EXPECT_EQ_INT(capture_count(&c, SPOOL_NVTX_PUSH), 500);
}

TEST(collect_nvtx, leaves_domains_out)
{
	struct capture c;

	capture_begin(&c);
	strcpy(c.control.domains, "noise,default");
	c.control.leave_domains_out = 1;
	capture_run(&c, "push:plain push:in@work push:in@noise pop:@noise pop:@work pop");
	EXPECT_EQ_TEXT(texts_of(&c.processes[0], SPOOL_NVTX_PUSH), "in");
	EXPECT_EQ_INT(capture_count(&c, SPOOL_NVTX_POP), 1);
}

TEST(collect_nvtx, stays_loaded_where_ranges_are_not_wanted)
{
	struct capture c;

	capture_begin(&c);
	c.control.kinds = SPOOL_CUDA;
	capture_run_same(&c, "push:a sleep:120 pop init launch:23 sync sleep:60 nvtx:2 push:b pop print:alive");
	EXPECT_EQ_TEXT(c.output, "alive\n");
	EXPECT_EQ_INT(c.n, 1);
	EXPECT_EQ_INT(capture_count(&c, SPOOL_KERNEL), 23);
	EXPECT_EQ_INT(capture_count(&c, SPOOL_NVTX_PUSH), 0);
}

TEST(collect_nvtx, mixes_up_no_texts_of_threads)
{
	struct capture c;
	const struct captured *p = &c.processes[0];
	struct seen *all;
	const char *names[4096] = { NULL };

	capture_begin(&c);
	capture_run(&c, "threads:16:0:400");
	all = capture_records(p, SPOOL_NVTX_PUSH, NULL);
	for (struct seen *s = all; s->record; s++) {
		const uint32_t id = ((const struct spool_nvtx *)s->record)->text;
		const char *text = names[id % 4096], *thread;
		int number = -1, worker = -2;

		if ((s - all) % 16)
			continue; /* a reader that looks at each text anew is slow */
		text = capture_text(p, id);
		thread = capture_thread(p, s->thread);
		EXPECT(text && thread);
		EXPECT(sscanf(text, "range%d.", &number) == 1 && sscanf(thread, "worker%d", &worker) == 1);
		EXPECT_EQ_INT(number, worker);
	}
	free(all);
	EXPECT_EQ_INT(capture_count(&c, SPOOL_NVTX_PUSH), 6400);
}
