// scenes.cu SCENE [N] - small programs whose records are known exactly.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <signal.h>
#include <stdexcept>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

__global__ void known(float *x) { x[threadIdx.x] += 1.f; }
__global__ void other(float *x) { x[threadIdx.x] *= 2.f; }

static float *x;

static void launch(int n)
{
	for (int i = 0; i < n; i++)
		known<<<1, 32>>>(x);
}

int main(int argc, char **argv)
{
	const char *scene = argc > 1 ? argv[1] : "";
	int n = argc > 2 ? atoi(argv[2]) : 1000;

	cudaMalloc(&x, 4096);
	cudaMemset(x, 0, 4096);
	cudaDeviceSynchronize();
	if (!strcmp(scene, "threads")) {
		std::vector<std::thread> threads;
		for (int i = 0; i < n; i++)
			threads.emplace_back([] { launch(1); });
		for (auto &t : threads)
			t.join();
	} else if (!strcmp(scene, "churn")) {
		for (int i = 0; i < n; i++)
			std::thread([] { launch(1); }).join();
	} else if (!strcmp(scene, "fork")) {
		launch(n);
		cudaDeviceSynchronize();
		pid_t child = fork();
		if (child == 0)
			_exit(7);
		int status;
		waitpid(child, &status, 0);
		launch(n);
		cudaDeviceSynchronize();
		return WEXITSTATUS(status) == 7 ? 0 : 1;
	} else {
		launch(n);
		cudaDeviceSynchronize();
	}
	if (!strcmp(scene, "_exit"))
		_exit(3);
	if (!strcmp(scene, "abort"))
		abort();
	if (!strcmp(scene, "kill"))
		raise(SIGKILL);
	if (!strcmp(scene, "exception"))
		throw std::runtime_error("scene");
	if (!strcmp(scene, "sleepy")) {
		for (int i = 0; i < 60; i++) {
			launch(1);
			usleep(100000);
		}
	}
	if (!strcmp(scene, "running")) { /* killed while kernels run */
		for (;;)
			other<<<1, 32>>>(x);
	}
	cudaDeviceSynchronize();
	printf("%s\n", cudaGetErrorString(cudaGetLastError()));
	return 0;
}
