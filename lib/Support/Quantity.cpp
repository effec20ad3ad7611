//===- Quantity.cpp - Large whole numbers as users write and read them ------------------------===//
//
// Part of the license of this project: Apache-2.0 WITH LLVM-exception.
//
//===---------------------------------------------------------------------------------------===//

#include "ulsc/Support/Quantity.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/FormatVariadic.h"

using namespace ulsc;
using llvm::StringRef;

namespace {
/// A unit is `factor × 10^zeros` bytes.
struct Unit {
  StringRef name;
  int64_t factor;
  int64_t zeros;
};

/// A number as it is written: `digits × 10^exponent`.
struct Decimal {
  StringRef whole, fraction;
  int64_t exponent = 0;
};
} // namespace

static constexpr Unit kUnits[] = {{"kB", 1, 3},
                                  {"KB", 1, 3},
                                  {"MB", 1, 6},
                                  {"GB", 1, 9},
                                  {"TB", 1, 12},
                                  {"KiB", int64_t(1) << 10, 0},
                                  {"MiB", int64_t(1) << 20, 0},
                                  {"GiB", int64_t(1) << 30, 0},
                                  {"TiB", int64_t(1) << 40, 0},
                                  {"B", 1, 0}};

static bool isDigits(StringRef text) {
  return llvm::all_of(text, [](char c) { return llvm::isDigit(c); });
}

static std::optional<Decimal> splitDecimal(StringRef text) {
  Decimal number;
  auto [mantissa, exponent] = text.split(text.contains('e') ? 'e' : 'E');
  std::tie(number.whole, number.fraction) = mantissa.split('.');
  if (!isDigits(number.whole) || !isDigits(number.fraction) || number.whole.empty() ||
      (mantissa.contains('.') && number.fraction.empty()))
    return std::nullopt;
  if (mantissa.size() == text.size())
    return number;
  exponent.consume_front("+");
  if (exponent.getAsInteger(10, number.exponent))
    return std::nullopt;
  return number;
}

/// `digits × 10^exponent × factor`, whose factor is a power of two.
/// Nothing if it is not whole; more than any legal number where it is too large.
static std::optional<int64_t> evaluate(const Decimal &number, int64_t factor, int64_t zeros) {
  constexpr int64_t tooLarge = std::numeric_limits<int64_t>::max();
  std::string digits = (number.whole + number.fraction).str();
  int64_t exponent = number.exponent + zeros - int64_t(number.fraction.size());
  StringRef left = StringRef(digits).ltrim('0'), significant = left.rtrim('0');
  exponent += int64_t(left.size() - significant.size());
  int64_t value = 0;
  if (significant.empty())
    return 0;
  if (significant.size() > 18 || exponent > 18)
    return tooLarge;
  if (significant.getAsInteger(10, value) || exponent < -18)
    return std::nullopt;
  for (; exponent < 0; ++exponent) {
    // A ten is a five, which only the digits can have, and a two of either.
    if (value % 5 != 0)
      return std::nullopt;
    value /= 5;
    int64_t &even = factor % 2 == 0 ? factor : value;
    if (even % 2 != 0)
      return std::nullopt;
    even /= 2;
  }
  std::optional<int64_t> product = llvm::checkedMul(value, factor);
  for (; exponent > 0 && product; --exponent)
    product = llvm::checkedMul(*product, int64_t(10));
  return product.value_or(tooLarge);
}

std::optional<int64_t> ulsc::parseQuantity(StringRef text, int64_t most, bool takesUnits,
                                           std::string &problem) {
  problem = "expected a whole number from 1 to " + formatCount(most) +
            (takesUnits ? ", as 80e9 or 80GB (1 GB is 1e9 bytes) or 80GiB" : ", as 70e9");
  int64_t factor = 1, zeros = 0;
  StringRef number = text;
  if (takesUnits)
    for (const Unit &unit : kUnits)
      if (number.consume_back(unit.name)) {
        factor = unit.factor;
        zeros = unit.zeros;
        number = number.rtrim(' ');
        break;
      }
  std::optional<Decimal> decimal = splitDecimal(number);
  if (!decimal)
    return std::nullopt;
  std::optional<int64_t> value = evaluate(*decimal, factor, zeros);
  if (!value)
    problem = "which is not whole; " + problem;
  else if (*value > most)
    problem = "which is too large; " + problem;
  else if (*value > 0)
    return value;
  return std::nullopt;
}

std::string ulsc::formatCount(int64_t count) {
  std::string digits = std::to_string(count);
  for (size_t place = digits.size(); place > 3 && llvm::isDigit(digits[place - 4]);) {
    place -= 3;
    digits.insert(place, ",");
  }
  return digits;
}

std::string ulsc::formatDecimalBytes(int64_t bytes) {
  if (bytes < 1000)
    return std::to_string(bytes) + " B";
  auto [unit, name] = bytes >= 1'000'000'000 ? std::pair<int64_t, StringRef>(1'000'000'000, "GB")
                      : bytes >= 1'000'000   ? std::pair<int64_t, StringRef>(1'000'000, "MB")
                                             : std::pair<int64_t, StringRef>(1'000, "kB");
  // In units of the last decimal.
  int64_t places = unit == 1000 ? 1000 : 10'000, last = unit / places;
  unsigned decimals = unit == 1000 ? 3 : 4;
  bool isExact = bytes % last == 0;
  if (!isExact) {
    places = 100;
    last = unit / places;
    decimals = 2;
  }
  int64_t scaled = bytes / last + (bytes % last >= last - last / 2 && !isExact);
  std::string fraction = std::to_string(scaled % places);
  fraction.insert(0, decimals - fraction.size(), '0');
  StringRef digits = isExact ? StringRef(fraction).rtrim('0') : StringRef(fraction);
  return formatCount(scaled / places) + (digits.empty() ? "" : ".") + digits.str() + " " +
         name.str();
}

std::string ulsc::formatBinaryBytes(int64_t bytes) {
  static constexpr StringRef units[] = {"B", "KiB", "MiB", "GiB"};
  double value = double(bytes);
  unsigned unit = 0;
  for (; value >= 1024 && unit < 3; ++unit)
    value /= 1024;
  return llvm::formatv(unit ? "{0:F2} {1}" : "{0:F0} {1}", value, units[unit]).str();
}
