/* primitives.c - what this machine charges for the steps that roar is made of.
 *
 * Prints one JSON object: medians, in microseconds but for memcpy_gb_s, which is 10^9
 * bytes a second.  Figures of a tracer, or of hashing, only
 * compare between machines in proportion to these. */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { N_SAMPLES = 21, N_CALLS = 2000, N_TRIPS = 500 };

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The median over samples of the time of one call of fn(). */
static double median_of(void (*fn)(void), int n_calls)
{
	double samples[N_SAMPLES];

	for (int i = 0; i < N_SAMPLES; i++) {
		double start = now_us();

		for (int k = 0; k < n_calls; k++)
			fn();
		samples[i] = (now_us() - start) / n_calls;
	}
	qsort(samples, N_SAMPLES, sizeof(samples[0]), by_value);
	return samples[N_SAMPLES / 2];
}

static void system_call(void)
{
	syscall(SYS_getppid);
}

static void open_close(void)
{
	close(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
}

static void look(void)
{
	struct stat st;

	(void)stat("/proc/self/exe", &st);
}

enum { COPIED = 64 * 1024 * 1024 };
static char *copied; /* two halves of that size */

static void copy_memory(void)
{
	memcpy(copied + COPIED, copied, COPIED);
	/* Nobody reads it: without this there is nothing to do. */
	__asm__ volatile("" : : "r"(copied) : "memory");
}

/* The memory is touched before, by the first of all samples at the latest. */
static double memcpy_gb_s(void)
{
	double us;

	copied = malloc(2 * (size_t)COPIED);
	if (!copied)
		return -1;
	memset(copied, 1, 2 * (size_t)COPIED);
	us = median_of(copy_memory, 1);
	free(copied);
	return COPIED / us / 1e3;
}

static void fork_wait(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
}

static void exec_true(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		execlp("true", "true", NULL);
		_exit(127);
	}
	waitpid(pid, NULL, 0);
}

static int there[2], back[2];

static void round_trip(void)
{
	char byte = 'x';

	if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
		exit(1);
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	(void)sched_setaffinity(0, sizeof(set), &set);
}

static void echo(void)
{
	char byte;

	close(there[1]);
	while (read(there[0], &byte, 1) == 1)
		if (write(back[1], &byte, 1) != 1)
			break;
	_exit(0);
}

/* A byte to another process and back, each on its CPU; < 0 without a second. */
static double pipe_trip(int our_cpu, int other_cpu)
{
	cpu_set_t before;
	double result;
	pid_t pid;

	sched_getaffinity(0, sizeof(before), &before);
	if (!CPU_ISSET(our_cpu, &before) || !CPU_ISSET(other_cpu, &before))
		return -1;
	if (pipe(there) < 0 || pipe(back) < 0)
		exit(1);
	pid = fork();
	if (pid == 0) {
		pin(other_cpu);
		echo();
	}
	pin(our_cpu);
	result = median_of(round_trip, N_TRIPS);
	close(there[1]);
	close(there[0]);
	close(back[0]);
	close(back[1]);
	waitpid(pid, NULL, 0);
	sched_setaffinity(0, sizeof(before), &before);
	return result;
}

int main(void)
{
	printf("{\"system_call_us\": %.3f, ", median_of(system_call, N_CALLS));
	printf("\"open_close_us\": %.3f, ", median_of(open_close, N_CALLS));
	printf("\"stat_us\": %.3f, ", median_of(look, N_CALLS));
	printf("\"memcpy_gb_s\": %.1f, ", memcpy_gb_s());
	printf("\"pipe_trip_one_cpu_us\": %.2f, ", pipe_trip(0, 0));
	printf("\"pipe_trip_two_cpus_us\": %.2f, ", pipe_trip(0, 1));
	printf("\"fork_wait_us\": %.1f, ", median_of(fork_wait, 20));
	printf("\"exec_true_us\": %.1f}\n", median_of(exec_true, 20));
	return 0;
}
