/* test/fake/nvtx.h - NVTX as a program meets it: the injection loader of its headers, versions 2 and 3. */
#pragma once

#include <stdint.h>
#include <wchar.h>

/* nvtxEventAttributes_t. */
struct fake_attributes {
	uint16_t version, size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type, reserved;
	uint64_t payload;
	int32_t message_type;
	const void *message;
};

enum { FAKE_ASCII = 1, FAKE_WIDE = 2, FAKE_REGISTERED = 3, FAKE_UINT64 = 1 };

/* The functions of a client; each is nothing until a tool is there. */
struct fake_nvtx {
	int (*push_ex)(const struct fake_attributes *a);
	int (*push_a)(const char *text);
	int (*push_w)(const wchar_t *text);
	int (*pop)(void);
	void (*mark_a)(const char *text);
	uint64_t (*start_a)(const char *text);
	void (*end)(uint64_t range);
	void (*category_a)(uint32_t id, const char *text);
	void (*thread_a)(uint32_t tid, const char *text);
	void (*domain_mark)(void *domain, const struct fake_attributes *a);
	uint64_t (*domain_start)(void *domain, const struct fake_attributes *a);
	void (*domain_end)(void *domain, uint64_t range);
	int (*domain_push)(void *domain, const struct fake_attributes *a);
	int (*domain_pop)(void *domain);
	void *(*register_a)(void *domain, const char *text);
	void *(*domain_create)(const char *name);
};

/* The client of this program: version 2 or 3 of NVTX, loaded at the first call. */
const struct fake_nvtx *fake_nvtx(int version);
