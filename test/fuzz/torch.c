/* fuzz/torch.c - PyTorch and Chrome JSON. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	fuzz_import("torch-json", p, n);
	return 0;
}
