//go:build cgo && mlx

#include "pooltest.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

// The pool once more, of atomics that let others go first now and then. What a worker meets once in a million jobs,
// because the system has put it aside between two of its steps, it then meets in every few.
namespace unsteady {
using namespace std;

inline void stumble() {
  thread_local unsigned draw = (unsigned)std::hash<std::thread::id>()(std::this_thread::get_id());
  draw = draw * 1664525 + 1013904223;
  if (draw >> 29 == 0) std::this_thread::yield();
  if (draw >> 22 == 1) // long enough for others to end a job and begin another
    for (const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(15); std::chrono::steady_clock::now() < until;)
      std::this_thread::yield();
}

template <class T> class atomic : std::atomic<T> {
  using of = std::atomic<T>;

 public:
  using of::of, of::notify_all, of::wait;
  T load(memory_order m) const { return stumble(), of::load(m); }
  void store(T v, memory_order m = memory_order_seq_cst) { stumble(), of::store(v, m), stumble(); }
  T fetch_add(T v, memory_order m = memory_order_seq_cst) { return stumble(), of::fetch_add(v, m); }
  T fetch_sub(T v, memory_order m) { return stumble(), of::fetch_sub(v, m); }
  bool compare_exchange_weak(T &e, T v, memory_order s, memory_order f) { return stumble(), of::compare_exchange_weak(e, v, s, f); }
};
}  // namespace unsteady

#define std unsteady
#define gr gr_unsteady
#include "../../pool.h"
#include "../../pool.cpp"
#undef gr
#undef std

namespace {

using gr_unsteady::Pool;

// A job's pieces: how often each was done, and whether the job is under way. Two take turns, so that a worker which is late
// finds the other's memory and not none.
struct Job {
  explicit Job(int most) : done(most) {}

  std::vector<std::atomic<int>> done;
  std::atomic<bool> open{false};
  std::atomic<int> n{0}, late{0}, stray{0};
  int threads = 0;

  void operator()(int piece, int thread) {
    if (!open) late++;
    if (piece % 5 == 2) std::this_thread::yield(); // others overtake
    if (piece < 0 || piece >= n || thread < 0 || thread >= threads)
      stray++;
    else
      done[piece]++;
    if (!open) late++;
  }

  std::string run(Pool &pool, int pieces) {
    n = pieces, threads = pool.threads();
    for (int i = 0; i < pieces; i++) done[i] = 0;
    open = true;
    pool.run(pieces, *this);
    open = false;
    return fault();
  }

  std::string fault() const {
    if (late) return std::to_string(late) + " times a piece was met when its job was over";
    if (stray) return std::to_string(stray) + " pieces or threads that there are not";
    for (int i = 0; i < n; i++)
      if (done[i] != 1) return "piece " + std::to_string(i) + " of " + std::to_string(n) + " was done " + std::to_string(done[i]) + " times";
    return "";
  }
};

// Longer than workers spin.
void let_them_sleep() {
  const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(300);
  while (std::chrono::steady_clock::now() < until) std::this_thread::yield();
}

char *text(const std::string &fault) { return fault.empty() ? nullptr : strdup(fault.c_str()); }

}  // namespace

char *pt_jobs(int threads, int jobs, int most) {
  Pool pool(threads);
  if (pool.threads() != threads) return text("the pool has " + std::to_string(pool.threads()) + " threads");
  Job turns[2] = {Job(most), Job(most)};
  unsigned draw = 1;
  for (int i = 0; i < jobs; i++) {
    draw = draw * 1664525 + 1013904223;
    const std::string fault = turns[i % 2].run(pool, (int)((draw >> 8) % (most + 1)));
    if (!fault.empty()) return text("job " + std::to_string(i) + ": " + fault);
    if (i % 512 == 511) let_them_sleep();
  }
  for (const Job &job : turns)
    if (const std::string fault = job.fault(); !fault.empty()) return text("in the end: " + fault);
  return nullptr;
}

char *pt_ends(int threads, int pools) {
  for (int i = 0; i < pools; i++) {
    Job job(64);
    {
      Pool pool(threads);
      if (i % 3 > 0)
        if (const std::string fault = job.run(pool, 1 + i % 64); !fault.empty()) return text(fault);
      if (i % 3 > 1) let_them_sleep();
    }
    if (const std::string fault = job.fault(); !fault.empty()) return text("after the pool: " + fault);
  }
  return nullptr;
}

char *pt_scratch() {
  Pool pool(1);
  char *a = (char *)pool.scratch(3, 100), *b = (char *)pool.scratch(0, 1);
  std::memset(a, 7, 100), *b = 8;
  if ((uintptr_t)a % 64 || (uintptr_t)b % 64) return text("the memory is not aligned");
  if (pool.scratch(3, 40) != a || pool.scratch(3, 100) != a) return text("the memory does not stay");
  for (int i = 0; i < 100; i++)
    if (a[i] != 7) return text("slots share memory");
  std::memset(pool.scratch(3, 1 << 20), 1, 1 << 20);
  if (*b != 8) return text("a slot that grew moved another");
  return nullptr;
}
