/*
 * fuzz/fuzz.h - what the harnesses share; each is one file with one
 * LLVMFuzzerTestOneInput, run by libFuzzer or by driver.c.
 */
#pragma once

#include "base/base.h"

/* Put bytes into this process's one temporary file and return its path. */
const char *fuzz_file(const void *p, size_t n);

/* Read bytes by the importer of that name, seal what it kept, and use the trace. */
void fuzz_import(const char *importer, const void *p, size_t n);

struct trace;

/* Touch every column and run every report into csv. */
void fuzz_use(struct trace *trace);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);
