/* session/preload.c: what is preloaded into which program. */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "session/session.h"
#include "test/test.h"

/* A file that begins as an executable of a class and a machine. */
static void make(const char *path, unsigned char class, unsigned machine)
{
	Elf64_Ehdr head = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, class },
			    .e_machine = (Elf64_Half)machine };
	FILE *file = fopen(path, "we");

	EXPECT(file && fwrite(&head, sizeof(head), 1, file) == 1 && fclose(file) == 0 && chmod(path, 0755) == 0);
}

TEST(preload, leaves_alone_what_could_not_load_it)
{
	struct arena arena = { 0 };
	char folder[] = "/tmp/preload-XXXXXX", *collector, *same, *small, *other, *script;
	FILE *file;

	EXPECT(mkdtemp(folder));
	collector = arena_print(&arena, "%s/collector.so", folder);
	same = arena_print(&arena, "%s/same", folder);
	small = arena_print(&arena, "%s/small", folder);
	other = arena_print(&arena, "%s/other", folder);
	script = arena_print(&arena, "%s/script", folder);
	make(collector, ELFCLASS64, EM_X86_64);
	make(same, ELFCLASS64, EM_X86_64);
	make(small, ELFCLASS32, EM_386);
	make(other, ELFCLASS64, EM_AARCH64);
	file = fopen(script, "we");
	EXPECT(file && fputs("#!/bin/sh\n", file) >= 0 && fclose(file) == 0 && chmod(script, 0755) == 0);

	EXPECT_EQ_TEXT(session_preload(collector, same, NULL, &arena), collector);
	EXPECT_EQ_TEXT(session_preload(collector, script, "", &arena), collector);
	EXPECT_EQ_TEXT(session_preload(collector, "no-such-program", NULL, &arena), collector);
	EXPECT(!session_preload(collector, small, NULL, &arena));
	EXPECT(!session_preload(collector, other, "x.so", &arena));
	setenv("PATH", arena_print(&arena, "/no-such-folder:%s", folder), 1);
	EXPECT(!session_preload(collector, "small", NULL, &arena));
	EXPECT_EQ_TEXT(session_preload(collector, "same", "a.so:b.so", &arena),
		       arena_print(&arena, "%s:a.so:b.so", collector));
	EXPECT(!session_preload("/a folder/collector.so", same, NULL, &arena));
	EXPECT(!session_preload("/a:b/collector.so", same, NULL, &arena));

	unlink(collector), unlink(same), unlink(small), unlink(other), unlink(script);
	rmdir(folder);
	arena_end(&arena);
}
