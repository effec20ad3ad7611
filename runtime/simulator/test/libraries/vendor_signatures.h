// Whether a declaration of ours stands for a vendor's: equal values, parameters that pass alike.
#ifndef ULSC_RUNTIME_SIMULATOR_TEST_LIBRARIES_VENDOR_SIGNATURES_H
#define ULSC_RUNTIME_SIMULATOR_TEST_LIBRARIES_VENDOR_SIGNATURES_H

#include <cstdint>
#include <type_traits>

namespace ulsc::simulator::test {

template <typename Ours, typename Theirs>
constexpr bool same(Ours ours, Theirs theirs) {
  return sizeof(Ours) == sizeof(Theirs) &&
         static_cast<int64_t>(ours) == static_cast<int64_t>(theirs);
}

// A parameter or result passes the same way: equal size and alignment, both pointers or neither;
// or there is no result.
template <typename Ours, typename Theirs>
constexpr bool passAlike() {
  if constexpr (std::is_void_v<Ours> || std::is_void_v<Theirs>)
    return std::is_void_v<Ours> == std::is_void_v<Theirs>;
  else
    return std::is_pointer_v<Ours> == std::is_pointer_v<Theirs> &&
           std::is_class_v<Ours> == std::is_class_v<Theirs> && sizeof(Ours) == sizeof(Theirs) &&
           alignof(Ours) == alignof(Theirs);
}

template <typename Ours, typename Theirs>
struct SignaturesAgree : std::false_type {};
template <typename OurResult, typename... Our, typename TheirResult, typename... Their>
struct SignaturesAgree<OurResult(Our...), TheirResult(Their...)> {
  static constexpr bool agree() {
    if constexpr (sizeof...(Our) == sizeof...(Their))
      return passAlike<OurResult, TheirResult>() && (passAlike<Our, Their>() && ...);
    return false;
  }
  static constexpr bool value = agree();
};

} // namespace ulsc::simulator::test

#define ULSC_CHECK(name, result, parameters)                                                       \
  using name##_signature = result parameters;                                                      \
  static_assert(                                                                                   \
      ::ulsc::simulator::test::SignaturesAgree<name##_signature, decltype(::name)>::value, #name);

#define ULSC_SAME(mine, vendor) static_assert(::ulsc::simulator::test::same(mine, vendor), #mine)

#endif // ULSC_RUNTIME_SIMULATOR_TEST_LIBRARIES_VENDOR_SIGNATURES_H
