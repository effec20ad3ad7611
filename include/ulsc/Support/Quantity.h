//===- Quantity.h - Large whole numbers as users write and read them ---------------*- C++ -*-===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//
#ifndef ULSC_SUPPORT_QUANTITY_H
#define ULSC_SUPPORT_QUANTITY_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace ulsc {

/// Reads a whole number from 1 to `most` written in digits, with a point or an exponent: `70e9`,
/// `7.5e9`, `1024`. With `takesUnits` a unit of bytes may follow: kB, MB, GB, TB are powers of
/// 1,000, KiB, MiB, GiB, TiB of 1,024. Exact: nothing goes through floating point. Otherwise
/// nothing is returned and `problem` says what is wrong, as what follows `--option is "text", `.
std::optional<int64_t> parseQuantity(llvm::StringRef text, int64_t most, bool takesUnits,
                                     std::string &problem);

/// `1,120,000`.
std::string formatCount(int64_t count);

/// Bytes in the largest of B, kB, MB, GB (powers of 1,000) that leaves at least 1: `293.125 GB`.
/// All digits where four decimals hold them, else rounded to two.
std::string formatDecimalBytes(int64_t bytes);

/// Bytes in the largest of B, KiB, MiB, GiB (powers of 1,024) that leaves at least 1, rounded to
/// two decimals.
std::string formatBinaryBytes(int64_t bytes);

} // namespace ulsc

#endif // ULSC_SUPPORT_QUANTITY_H
