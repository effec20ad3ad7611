/*===- Random.h - The counter-based generator of all randomness
 * ----------------------------------===*
 *
 * Initial values, dropout and shuffling draw from Philox4x32-10 (Salmon, Moraes, Dror, Shaw:
 * "Parallel random numbers: as easy as 1, 2, 3", SC 2011), keyed by what is drawn for and counted
 * by the *global* element, so that every mesh draws the same numbers. The interpreter, the runtime
 * and the generated kernels compute exactly these functions.
 *
 * Part of the license of this project: Apache-2.0 WITH LLVM-exception.
 *===---------------------------------------------------------------------------------------------===*/
#ifndef ULSC_RANDOM_H
#define ULSC_RANDOM_H

#include <stdint.h>

/* A stream of numbers: the key, and the upper half of the counter. */
typedef struct ulsc_random_stream {
  uint32_t key[2];   /* from seed and name */
  uint32_t instance; /* the layer index for dropout, 0 for initial values */
  uint32_t step;     /* the optimizer step for dropout, 0 for initial values */
} ulsc_random_stream;

/* Finaliser of splitmix64 (Steele, Lea, Flood 2014): a bijection on 64 bits. */
static inline uint64_t ulsc_random_mix(uint64_t x) {
  x ^= x >> 30;
  x *= UINT64_C(0xbf58476d1ce4e5b9);
  x ^= x >> 27;
  x *= UINT64_C(0x94d049bb133111eb);
  x ^= x >> 31;
  return x;
}

/* FNV-1a, 64 bits, of a NUL-terminated name. */
static inline uint64_t ulsc_random_hash_name(const char *name) {
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  for (; *name; ++name)
    hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
  return hash;
}

/* The stream of `name_hash` in the run started with `seed`. */
static inline ulsc_random_stream ulsc_random_stream_of(uint64_t seed, uint64_t name_hash,
                                                       uint32_t instance, uint32_t step) {
  uint64_t key = ulsc_random_mix(name_hash + UINT64_C(0x9e3779b97f4a7c15) * (seed + 1));
  ulsc_random_stream stream;
  stream.key[0] = (uint32_t)key;
  stream.key[1] = (uint32_t)(key >> 32);
  stream.instance = instance;
  stream.step = step;
  return stream;
}

/* The four words of global element `index`. Word 0 serves dropout; words 0 and 1 make a normal
 * value. */
static inline void ulsc_random_words(ulsc_random_stream stream, uint64_t index, uint32_t words[4]) {
  uint32_t c0 = (uint32_t)index, c1 = (uint32_t)(index >> 32), c2 = stream.instance,
           c3 = stream.step;
  uint32_t k0 = stream.key[0], k1 = stream.key[1];
  for (int round = 0; round < 10; ++round) {
    uint64_t p0 = (uint64_t)c0 * UINT32_C(0xD2511F53);
    uint64_t p1 = (uint64_t)c2 * UINT32_C(0xCD9E8D57);
    c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
    c1 = (uint32_t)p1;
    c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
    c3 = (uint32_t)p0;
    k0 += UINT32_C(0x9E3779B9);
    k1 += UINT32_C(0xBB67AE85);
  }
  words[0] = c0;
  words[1] = c1;
  words[2] = c2;
  words[3] = c3;
}

/* Dropout keeps an element when its word 0 is at least this threshold: floor(rate * 2^32),
 * saturated. */
static inline uint32_t ulsc_random_drop_threshold(float rate) {
  double scaled = (double)rate * 4294967296.0;
  return scaled >= 4294967295.0 ? UINT32_C(4294967295) : scaled <= 0.0 ? 0 : (uint32_t)scaled;
}

#endif /* ULSC_RANDOM_H */
