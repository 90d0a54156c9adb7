//go:build cgo && mlx

#include "pool.h"

#include <chrono>
#include <cstdlib>
#include <new>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

// In builds that look for memory errors, scratch memory ends where it was asked to end.
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, size)
#define ASAN_UNPOISON_MEMORY_REGION(at, size)
#endif

namespace gr {
namespace {

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

// After a job a worker looks for the next for about this long.
constexpr auto kSpin = std::chrono::microseconds(60);
// Between looks at the clock; after the first such round the processor is offered to others each time.
constexpr int kRound = 200;

constexpr int kPieceBits = 24;
constexpr uint64_t kPieceMask = (1 << kPieceBits) - 1;

}  // namespace

Pool::Pool(int threads) {
  for (int i = 1; i < threads; i++) workers_.emplace_back([this, i] { work(i); });
}

Pool::~Pool() {
  ended_.store(true);
  posted_.fetch_add(1);
  posted_.notify_all();
  for (auto &w : workers_) w.join();
  for (auto &s : scratch_) std::free(s.data);
}

void *Pool::scratch(int slot, size_t bytes) {
  if ((size_t)slot >= scratch_.size()) scratch_.resize(slot + 1);
  auto &s = scratch_[slot];
  if (s.size < bytes) {
    std::free(s.data);
    s = {};
    const size_t size = (bytes + bytes / 8 + 63) / 64 * 64;
    if (!(s.data = std::aligned_alloc(64, size))) throw std::bad_alloc();
    s.size = size;
  }
  if (bytes > 0) {
    ASAN_UNPOISON_MEMORY_REGION(s.data, s.size);
    ASAN_POISON_MEMORY_REGION((char *)s.data + bytes, s.size - bytes);
  }
  return s.data;
}

void Pool::start(int n, Function f, void *context) {
  const uint64_t job = (ticket_.load(std::memory_order_relaxed) >> 2 * kPieceBits) + 1;
  function_ = f, context_ = context;
  left_.store(n, std::memory_order_relaxed);
  ticket_.store(job << 2 * kPieceBits | (uint64_t)n << kPieceBits, std::memory_order_release);
  posted_.fetch_add(1, std::memory_order_seq_cst);
  if (asleep_.load(std::memory_order_seq_cst) > 0) posted_.notify_all();
  take(0);
  for (int i = 0; left_.load(std::memory_order_acquire) > 0; i++)
    if (i < 4000)
      pause();
    else
      std::this_thread::yield();
}

// take does pieces of the job that is posted until none is left.
void Pool::take(int thread) {
  uint64_t t = ticket_.load(std::memory_order_acquire);
  while ((t & kPieceMask) < (t >> kPieceBits & kPieceMask)) {
    if (!ticket_.compare_exchange_weak(t, t + 1, std::memory_order_acq_rel, std::memory_order_acquire)) continue;
    function_(context_, (int)(t & kPieceMask), thread);
    left_.fetch_sub(1, std::memory_order_release);
    t = ticket_.load(std::memory_order_acquire);
  }
}

void Pool::work(int thread) {
  uint32_t seen = 0;
  while (true) {
    auto until = std::chrono::steady_clock::time_point();
    for (int i = 1; posted_.load(std::memory_order_acquire) == seen; i++) {
      pause();
      if (i % kRound != 0) continue;
      const auto now = std::chrono::steady_clock::now();
      if (i == kRound) {
        until = now + kSpin;
      } else if (now > until) {
        asleep_.fetch_add(1, std::memory_order_seq_cst);
        posted_.wait(seen, std::memory_order_seq_cst);
        asleep_.fetch_sub(1, std::memory_order_seq_cst);
      } else {
        std::this_thread::yield();
      }
    }
    seen = posted_.load(std::memory_order_acquire);
    if (ended_.load(std::memory_order_acquire)) return;
    take(thread);
  }
}

}  // namespace gr
