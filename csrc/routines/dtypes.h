// Element types of the routines: names, conversions of 16-bit floats, and unsigned keys that sort like the values.
//
// Invariant: key() is a bijection of bit patterns; unsigned order of keys is the total order of the values, for
// floats -NaN < -inf < ... < -0 < +0 < ... < +inf < +NaN.
#pragma once
#include <cstdint>
#include <cstring>
#include <type_traits>

// For lambdas and functions in inner loops that are called from several places, where the compiler would not.
#define JITNEY_INLINE __attribute__((always_inline))

namespace jitney {

struct F16 { uint16_t bits; };
struct BF16 { uint16_t bits; };
struct C64 { float re, im; };
struct C128 { double re, im; };

template <class To, class From>
inline To bit_cast(From from) {
  static_assert(sizeof(To) == sizeof(From), "bit_cast keeps the size");
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}

template <size_t kBytes>
struct UIntOf;
template <> struct UIntOf<1> { using type = uint8_t; };
template <> struct UIntOf<2> { using type = uint16_t; };
template <> struct UIntOf<4> { using type = uint32_t; };
template <> struct UIntOf<8> { using type = uint64_t; };
template <class T>
using UInt = typename UIntOf<sizeof(T)>::type;

// ---- 16-bit floats

inline float to_float(BF16 v) { return bit_cast<float>(static_cast<uint32_t>(v.bits) << 16); }

inline float to_float(F16 v) {
  uint32_t o = (v.bits & 0x7fffu) << 13, exponent = o & 0x0f800000u;
  o += 112u << 23;                              // the difference of the exponent biases
  if (exponent == 0x0f800000u) o += 112u << 23;  // infinity or NaN
  float normal = bit_cast<float>(o);
  float denormal = bit_cast<float>(o + (1u << 23)) - bit_cast<float>(113u << 23);
  uint32_t magnitude = bit_cast<uint32_t>(exponent == 0 ? denormal : normal);
  return bit_cast<float>(magnitude | static_cast<uint32_t>(v.bits & 0x8000u) << 16);
}

// Round to nearest, ties to even.
inline BF16 to_bf16(float f) {
  uint32_t x = bit_cast<uint32_t>(f);
  uint32_t rounded = (x + 0x7fffu + ((x >> 16) & 1u)) >> 16;
  uint32_t nan = (x >> 16) | 0x40u;
  return BF16{static_cast<uint16_t>((x & 0x7fffffffu) > 0x7f800000u ? nan : rounded)};
}

inline F16 to_f16(float f) {
  uint32_t x = bit_cast<uint32_t>(f), sign = (x >> 16) & 0x8000u;
  x &= 0x7fffffffu;
  uint32_t normal = (x + 0xc8000fffu + ((x >> 13) & 1u)) >> 13;
  // 0.5 has the spacing of half's denormals, so the addition rounds to it.
  uint32_t denormal = bit_cast<uint32_t>(bit_cast<float>(x < 0x38800000u ? x : 0u) + 0.5f) - 0x3f000000u;
  uint32_t r = x < 0x38800000u ? denormal : normal;
  r = x >= 0x477ff000u ? 0x7c00u : r;
  r = x > 0x7f800000u ? 0x7e00u : r;
  return F16{static_cast<uint16_t>(r | sign)};
}

template <class T>
struct IsFloat : std::integral_constant<bool, std::is_floating_point<T>::value || std::is_same<T, F16>::value ||
                                                  std::is_same<T, BF16>::value> {};

// What sums and products of T are formed in, and the way there and back. Integers wrap.
template <class T, class = void>
struct Arithmetic {
  using type = UInt<T>;
  static type load(T v) { return static_cast<type>(v); }
  static T store(type v) { return static_cast<T>(v); }
};
template <class T>
struct Arithmetic<T, std::enable_if_t<std::is_floating_point<T>::value>> {
  using type = T;
  static type load(T v) { return v; }
  static T store(type v) { return v; }
};
template <>
struct Arithmetic<F16> {
  using type = float;
  static float load(F16 v) { return to_float(v); }
  static F16 store(float v) { return to_f16(v); }
};
template <>
struct Arithmetic<BF16> {
  using type = float;
  static float load(BF16 v) { return to_float(v); }
  static BF16 store(float v) { return to_bf16(v); }
};

// ---- sort keys

template <class T>
constexpr uint64_t infinity_bits() {
  return std::is_same<T, F16>::value    ? 0x7c00u
         : std::is_same<T, BF16>::value ? 0x7f80u
         : sizeof(T) == 4               ? 0x7f800000u
                                        : 0x7ff0000000000000u;
}

template <class T>
struct Order {
  using U = UInt<T>;
  static constexpr U kSign = static_cast<U>(U{1} << (8 * sizeof(U) - 1));
  static constexpr int kBits = std::is_same<T, bool>::value ? 1 : 8 * static_cast<int>(sizeof(U));

  JITNEY_INLINE static U key(U bits) {
    if constexpr (IsFloat<T>::value) {
      U negative = static_cast<U>(0) - static_cast<U>(bits >> (8 * sizeof(U) - 1));
      return bits ^ (negative | kSign);
    } else if constexpr (std::is_signed<T>::value) {
      return bits ^ kSign;
    } else {
      return bits;
    }
  }
  JITNEY_INLINE static U bits(U key) {
    if constexpr (IsFloat<T>::value) {
      U positive = static_cast<U>(0) - static_cast<U>(key >> (8 * sizeof(U) - 1));
      return key ^ (static_cast<U>(~positive) | kSign);
    } else {
      return Order::key(key);
    }
  }
  static bool is_nan(U bits) {
    return IsFloat<T>::value && static_cast<U>(bits & static_cast<U>(~kSign)) > static_cast<U>(infinity_bits<T>());
  }
  static bool is_zero(U bits) { return static_cast<U>(bits & static_cast<U>(~kSign)) == 0; }

  // Key for which all NaNs are equal and last, and -0 == +0. Not invertible.
  static U loose_key(U bits) {
    if constexpr (IsFloat<T>::value) {
      if (is_nan(bits)) return static_cast<U>(~U{0});
      if (is_zero(bits)) return key(0);
    }
    return key(bits);
  }
};

// ---- names: calls visit.template operator()<T>("f32") for each type of a list

template <class... Ts>
struct TypeList {};

template <class T>
constexpr const char* type_name() {
  if constexpr (std::is_same<T, F16>::value) return "f16";
  else if constexpr (std::is_same<T, BF16>::value) return "bf16";
  else if constexpr (std::is_same<T, float>::value) return "f32";
  else if constexpr (std::is_same<T, double>::value) return "f64";
  else if constexpr (std::is_same<T, bool>::value) return "bool";
  else if constexpr (std::is_same<T, C64>::value) return "c64";
  else if constexpr (std::is_same<T, C128>::value) return "c128";
  else if constexpr (std::is_signed<T>::value)
    return sizeof(T) == 1 ? "i8" : sizeof(T) == 2 ? "i16" : sizeof(T) == 4 ? "i32" : "i64";
  else return sizeof(T) == 1 ? "u8" : sizeof(T) == 2 ? "u16" : sizeof(T) == 4 ? "u32" : "u64";
}

using Integers = TypeList<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>;
using Floats = TypeList<F16, BF16, float, double>;

}  // namespace jitney
