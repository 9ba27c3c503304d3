// graph.cu NODES REPLAYS [TURNS] - replay a graph of kernels of so many turns (2000 take 5 us); prints microseconds a replay.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <vector>

__global__ void work(float *x, int n) { float v = x[threadIdx.x]; for (int i = 0; i < n; i++) v = v * 1.0001f + 0.5f; x[threadIdx.x] = v; }

int main(int argc, char **argv)
{
	int nodes = argc > 1 ? atoi(argv[1]) : 300, replays = argc > 2 ? atoi(argv[2]) : 200, turns = argc > 3 ? atoi(argv[3]) : 2000;
	float *x;
	cudaStream_t s;
	cudaGraph_t g;
	cudaGraphExec_t e;
	std::vector<double> us;

	cudaMalloc(&x, 4096);
	cudaMemset(x, 0, 4096);
	cudaStreamCreate(&s);
	cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
	for (int i = 0; i < nodes; i++)
		work<<<1, 128, 0, s>>>(x, turns);
	cudaStreamEndCapture(s, &g);
	cudaGraphInstantiate(&e, g, 0);
	for (int i = 0; i < 10; i++)
		cudaGraphLaunch(e, s);
	cudaStreamSynchronize(s);
	for (int i = 0; i < replays; i++) {
		auto a = std::chrono::steady_clock::now();
		cudaGraphLaunch(e, s);
		cudaStreamSynchronize(s);
		us.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - a).count());
	}
	std::sort(us.begin(), us.end());
	printf("replay us median %.3f min %.3f\n", us[us.size() / 2], us[0]);
	return cudaGetLastError() != cudaSuccess;
}
