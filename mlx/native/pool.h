// The threads of an engine. A job is cut into pieces that the caller and the workers take in turn, so that a worker which
// the system has put aside holds nobody up. Workers spin for a moment after a job, because the next is a few µs away
// while a forward runs, then sleep.

#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace gr {

inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

class Pool {
 public:
  explicit Pool(int threads); // the caller's included; at least 1
  ~Pool();
  Pool(const Pool &) = delete;
  Pool &operator=(const Pool &) = delete;

  int threads() const { return (int)workers_.size() + 1; }

  // One user at a time: a primitive holds the lock for all its jobs, and with it the scratch memory.
  std::mutex &mutex() { return use_; }

  // Memory that stays until the next call with this slot, aligned to 64 bytes; for 0 bytes what the slot has. The pool's lock
  // is held.
  void *scratch(int slot, size_t bytes);

  // Calls f(piece, thread) for each piece from 0 to n - 1, n below 2^24; f must not throw. The pool's lock is held.
  template <class F> void run(int n, F &&f) {
    if (n <= 1 || workers_.empty()) {
      for (int i = 0; i < n; i++) f(i, 0);
      return;
    }
    start(n, [](void *context, int piece, int thread) { (*static_cast<std::remove_reference_t<F> *>(context))(piece, thread); }, (void *)&f);
  }

 private:
  using Function = void (*)(void *, int, int);

  void start(int n, Function f, void *context);
  void work(int thread);
  void take(int thread);

  struct Scratch {
    void *data = nullptr;
    size_t size = 0;
  };

  std::mutex use_;
  std::vector<Scratch> scratch_;
  std::vector<std::thread> workers_;

  // The job: written before `ticket_` is, read by those who drew a piece of it.
  Function function_ = nullptr;
  void *context_ = nullptr;
  // Which job (16 bits), how many pieces it has and which is next (24 bits each): one number, so that a late worker draws
  // no piece of a job that is over, nor of one that is just being posted.
  alignas(64) std::atomic<uint64_t> ticket_{0};
  alignas(64) std::atomic<int> left_{0};
  alignas(64) std::atomic<uint32_t> posted_{0}; // jobs so far: what workers wait on
  std::atomic<int> asleep_{0};
  std::atomic<bool> ended_{false};
};

}  // namespace gr
