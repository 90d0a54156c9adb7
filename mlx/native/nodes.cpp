//go:build cgo && mlx

#include <unordered_set>

#include "arrays.h"

int grn_nodes(const uintptr_t *arrays, int n) {
  using gr::array;
  std::unordered_set<std::uintptr_t> seen;
  std::unordered_set<const mlx::core::Primitive *> nodes;
  std::vector<array> todo;
  for (int i = 0; i < n; i++)
    if (arrays[i]) todo.push_back(*reinterpret_cast<const array *>(arrays[i]));
  while (!todo.empty()) {
    const array a = std::move(todo.back());
    todo.pop_back();
    if (a.status() != array::Status::unscheduled || !a.has_primitive() || !seen.insert(a.id()).second) continue;
    nodes.insert(&a.primitive()); // results of one call share it
    todo.insert(todo.end(), a.inputs().begin(), a.inputs().end());
  }
  return (int)nodes.size();
}
