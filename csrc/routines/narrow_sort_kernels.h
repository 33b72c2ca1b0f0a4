// Stable argsort of rows of a few elements, one row a lane. Included inside a namespace that defines kVectorBytes.
//
// Neighbours are exchanged where the left one is greater, in n rounds (odd-even transposition): equal keys never pass
// one another, so the order is stable, and every row takes the same steps.

#include "vectors.h"

constexpr int kMostNarrow = 8;

// Key: unsigned integer of 4 or 8 bytes. B: the bits of an element, I: index.
template <class Key, class B, class I>
struct NarrowRows {
  static constexpr int kLanes = Vec<Key>::kLanes;
  using KeysOf = void (*)(Key* bits, int64_t count, Key flip);  // bits of elements -> keys that order like them

  static JITNEY_INLINE inline void exchange(V<Key>& a, V<Key>& b, V<Key>& ia, V<Key>& ib) {
    auto greater = a > b;
    V<Key> low = greater ? b : a, high = greater ? a : b;
    V<Key> first = greater ? ib : ia, second = greater ? ia : ib;
    a = low, b = high, ia = first, ib = second;
  }

  template <int n>
  static void block(const B* in, I* out, KeysOf keys_of, Key flip) {
    Key keys[n][kLanes] __attribute__((aligned(kVectorBytes)));
    for (int lane = 0; lane < kLanes; ++lane) {
#pragma GCC unroll 8
      for (int i = 0; i < n; ++i) keys[i][lane] = in[lane * n + i];
    }
    keys_of(&keys[0][0], n * kLanes, flip);
    V<Key> key[n], index[n];
#pragma GCC unroll 8
    for (int i = 0; i < n; ++i) key[i] = load<Key>(keys[i]), index[i] = V<Key>{} + static_cast<Key>(i);
#pragma GCC unroll 8
    for (int round = 0; round < n; ++round) {
#pragma GCC unroll 8
      for (int i = round & 1; i + 1 < n; i += 2) exchange(key[i], key[i + 1], index[i], index[i + 1]);
    }
#pragma GCC unroll 8
    for (int i = 0; i < n; ++i) store<Key>(keys[i], index[i]);
    for (int lane = 0; lane < kLanes; ++lane) {
#pragma GCC unroll 8
      for (int i = 0; i < n; ++i) out[lane * n + i] = static_cast<I>(keys[i][lane]);
    }
  }

  template <int n>
  static void rows_of(const B* in, I* out, int64_t rows, KeysOf keys_of, Key flip) {
    int64_t r = 0;
    for (; r + kLanes <= rows; r += kLanes) block<n>(in + r * n, out + r * n, keys_of, flip);
    if (r == rows) return;
    B some[kLanes * n] = {};
    I order[kLanes * n];
    memcpy(some, in + r * n, static_cast<size_t>((rows - r) * n) * sizeof some[0]);
    block<n>(some, order, keys_of, flip);
    memcpy(out + r * n, order, static_cast<size_t>((rows - r) * n) * sizeof order[0]);
  }

  static void run(const B* in, I* out, int64_t n, int64_t rows, KeysOf keys_of, bool descending) {
    Key flip = descending ? static_cast<Key>(~Key{0}) : Key{0};
    switch (n) {
      case 2: return rows_of<2>(in, out, rows, keys_of, flip);
      case 3: return rows_of<3>(in, out, rows, keys_of, flip);
      case 4: return rows_of<4>(in, out, rows, keys_of, flip);
      case 5: return rows_of<5>(in, out, rows, keys_of, flip);
      case 6: return rows_of<6>(in, out, rows, keys_of, flip);
      case 7: return rows_of<7>(in, out, rows, keys_of, flip);
      case 8: return rows_of<8>(in, out, rows, keys_of, flip);
    }
  }
};

// Keys for which all NaNs are equal and last, and -0 == +0, from the bits of elements, in place.
template <class T, class Key>
static void loose_keys(Key* bits, int64_t count, Key flip) {
  using U = UInt<T>;
  for (int64_t i = 0; i < count; ++i) {
    Key key = Order<T>::key(static_cast<U>(bits[i]));
    if constexpr (IsFloat<T>::value) {
      constexpr U kSign = Order<T>::kSign, kInfinity = static_cast<U>(infinity_bits<T>());
      U magnitude = static_cast<U>(bits[i] & static_cast<U>(~kSign));
      key = magnitude == 0 ? kSign : key;
      key = magnitude > kInfinity ? static_cast<U>(~U{0}) : key;
    }
    bits[i] = key ^ flip;
  }
}
