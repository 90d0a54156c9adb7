// mlx-c uses std::format, which GCC has since version 13: for an older standard library {fmt} stands in.
#pragma once
#include <version>
#ifdef __cpp_lib_format
#include <format>
#else
#define FMT_HEADER_ONLY 1
#include <fmt/format.h>
namespace std { using fmt::format; }
#endif
