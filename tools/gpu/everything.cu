// everything.cu [wait [N]] - one of each kind of record; with `wait`, N times, then sleeps.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <unistd.h>

__global__ void add(float *x, int n, float by)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		x[i] += by;
}

#define MUST(call)                                                                                                     \
	do {                                                                                                           \
		cudaError_t status_ = call;                                                                            \
		if (status_ != cudaSuccess)                                                                            \
			return fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(status_)), 1;                     \
	} while (0)

static int work(void)
{
	const int n = 1 << 20;
	const size_t bytes = n * sizeof(float);
	float *pageable = new float[n](), *pinned, *a, *b, *pooled, *managed;
	cudaStream_t first, second;
	cudaEvent_t begin, end;
	cudaGraph_t graph;
	cudaGraphExec_t instance;
	cudaMemPool_t pool;
	int least, most;
	float ms;

	MUST(cudaDeviceGetStreamPriorityRange(&least, &most));
	MUST(cudaStreamCreate(&first));
	MUST(cudaStreamCreateWithPriority(&second, cudaStreamNonBlocking, most));
	nvtxNameCudaStreamA(second, "side stream");
	MUST(cudaEventCreate(&begin));
	MUST(cudaEventCreate(&end));
	MUST(cudaMallocHost(&pinned, bytes));
	MUST(cudaMalloc(&a, bytes));
	MUST(cudaMalloc(&b, bytes));

	nvtxRangePushA("copies");
	MUST(cudaMemcpy(a, pageable, bytes, cudaMemcpyHostToDevice));
	MUST(cudaMemcpyAsync(b, pinned, bytes, cudaMemcpyHostToDevice, first));
	MUST(cudaMemcpyAsync(b, a, bytes / 2, cudaMemcpyDeviceToDevice, first));
	MUST(cudaMemcpyAsync(pinned, b, bytes, cudaMemcpyDeviceToHost, first));
	MUST(cudaMemsetAsync(a, 0, bytes, first));
	MUST(cudaMemset2DAsync(a, 4096, 1, 1024, 16, second));
	MUST(cudaStreamSynchronize(first));
	nvtxRangePop();

	nvtxRangePushA("streams");
	MUST(cudaEventRecord(begin, first));
	for (int i = 0; i < 10; i++)
		add<<<128, 256, 0, first>>>(a, n, 1);
	MUST(cudaEventRecord(end, first));
	MUST(cudaStreamWaitEvent(second, end, 0));
	for (int i = 0; i < 10; i++)
		add<<<64, 512, 1024, second>>>(b, n, 2);
	MUST(cudaEventSynchronize(end));
	MUST(cudaEventElapsedTime(&ms, begin, end));
	while (cudaStreamQuery(second) == cudaErrorNotReady)
		usleep(10);
	MUST(cudaDeviceSynchronize());
	nvtxRangePop();

	nvtxRangePushA("pool");
	MUST(cudaDeviceGetDefaultMemPool(&pool, 0));
	for (int i = 0; i < 3; i++) {
		MUST(cudaMallocAsync(&pooled, bytes, first));
		add<<<32, 256, 0, first>>>(pooled, n, 3);
		MUST(cudaFreeAsync(pooled, first));
		MUST(cudaStreamSynchronize(first));
	}
	MUST(cudaMemPoolTrimTo(pool, 0));
	nvtxRangePop();

	nvtxRangePushA("graph");
	MUST(cudaStreamBeginCapture(first, cudaStreamCaptureModeGlobal));
	for (int i = 0; i < 5; i++)
		add<<<16, 128, 0, first>>>(a, n, 4);
	MUST(cudaMemcpyAsync(b, a, bytes, cudaMemcpyDeviceToDevice, first));
	MUST(cudaMemsetAsync(a, 0, bytes, first));
	MUST(cudaStreamEndCapture(first, &graph));
	MUST(cudaGraphInstantiate(&instance, graph, 0));
	for (int i = 0; i < 7; i++)
		MUST(cudaGraphLaunch(instance, first));
	MUST(cudaStreamSynchronize(first));
	nvtxRangePop();

	nvtxRangePushA("managed");
	MUST(cudaMallocManaged(&managed, bytes));
	memset(managed, 0, bytes);
	add<<<128, 256, 0, first>>>(managed, n, 5);
	MUST(cudaStreamSynchronize(first));
	for (int i = 0; i < n; i += 1024)
		managed[i] += 1;
	MUST(cudaMemPrefetchAsync(managed, bytes, cudaMemLocation{cudaMemLocationTypeDevice, 0}, 0, first));
	add<<<128, 256, 0, first>>>(managed, n, 6);
	MUST(cudaDeviceSynchronize());
	nvtxRangePop();
	MUST(cudaFree(managed));
	MUST(cudaFree(a));
	MUST(cudaFree(b));
	MUST(cudaFreeHost(pinned));
	delete[] pageable;
	return 0;
}

int main(int argc, char **argv)
{
	const bool waits = argc > 1 && !strcmp(argv[1], "wait");
	const int n = waits && argc > 2 ? atoi(argv[2]) : 1;

	for (int i = 0; i < n; i++)
		if (work())
			return 1;
	puts("done");
	fflush(stdout);
	if (waits)
		sleep(3600);
	return 0;
}
