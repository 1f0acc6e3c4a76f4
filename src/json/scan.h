/* SPDX-License-Identifier: MIT
 *
 * What parser and writer share: looking at eight or sixteen bytes of a string
 * at once, and UTF-8. Inside src/json only. Sixteen bytes take SSE2 where the
 * compiler has it, and arithmetic on words elsewhere; no function reads bytes
 * that it wasn't given. */
#ifndef MRPC_JSON_SCAN_H
#define MRPC_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define MRPC_LIKELY(x) __builtin_expect(!!(x), 1)
#define MRPC_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define MRPC_INLINE static inline __attribute__((always_inline))
#define MRPC_COLD __attribute__((noinline, cold))

/* Eight bytes as a word whose lowest byte is the first. */
MRPC_INLINE uint64_t mrpc_load8(const char *p) {
  uint64_t word;
  memcpy(&word, p, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  word = __builtin_bswap64(word);
#endif
  return word;
}

MRPC_INLINE void mrpc_store8(char *p, uint64_t word) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  word = __builtin_bswap64(word);
#endif
  memcpy(p, &word, sizeof word);
}

/* A byte in every byte of a word. */
#define MRPC_EACH(byte) (0x0101010101010101u * (uint64_t)(byte))

/* How many bytes at p, of 8, stand for themselves in a string: aren't quote,
 * backslash, control or part of a longer character. Subtracting borrows from
 * the bytes behind a hit only, and it's the first hit that counts. */
MRPC_INLINE unsigned mrpc_plain8(uint64_t word) {
  uint64_t hit = word | (word - MRPC_EACH(0x20)) |
                 ((word ^ MRPC_EACH('"')) - MRPC_EACH(1)) |
                 ((word ^ MRPC_EACH('\\')) - MRPC_EACH(1));
  hit &= MRPC_EACH(0x80);
  return hit ? (unsigned)__builtin_ctzll(hit) / 8 : 8;
}

/* The same of 16, as bits: bit i is set when p[i] doesn't. */
MRPC_INLINE unsigned mrpc_special16(const char *p) {
#ifdef __SSE2__
  /* Compared as signed, what isn't ASCII is less than a space, too. */
  __m128i x = _mm_loadu_si128((const __m128i *)(const void *)p);
  __m128i hit =
      _mm_or_si128(_mm_cmplt_epi8(x, _mm_set1_epi8(0x20)),
                   _mm_or_si128(_mm_cmpeq_epi8(x, _mm_set1_epi8('"')),
                                _mm_cmpeq_epi8(x, _mm_set1_epi8('\\'))));
  return (unsigned)_mm_movemask_epi8(hit);
#else
  unsigned first = mrpc_plain8(mrpc_load8(p));
  if (first == 8) first += mrpc_plain8(mrpc_load8(p + 8));
  return ~0u << first & 0xffff;
#endif
}

/* How many bytes at p, of 16, are white space. */
MRPC_INLINE unsigned mrpc_space16(const char *p) {
#ifdef __SSE2__
  __m128i x = _mm_loadu_si128((const __m128i *)(const void *)p);
  __m128i space =
      _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(x, _mm_set1_epi8(' ')),
                                _mm_cmpeq_epi8(x, _mm_set1_epi8('\n'))),
                   _mm_or_si128(_mm_cmpeq_epi8(x, _mm_set1_epi8('\r')),
                                _mm_cmpeq_epi8(x, _mm_set1_epi8('\t'))));
  unsigned bits = (unsigned)_mm_movemask_epi8(space);
  return (unsigned)__builtin_ctz(~bits);
#else
  unsigned n = 0;
  while (n < 16 &&
         (p[n] == ' ' || p[n] == '\n' || p[n] == '\r' || p[n] == '\t'))
    n++;
  return n;
#endif
}

/* The length of the character of two to four bytes at p, or 0 when it isn't
 * well-formed UTF-8 (Unicode, table 3-7: no overlong form, no surrogate,
 * nothing above U+10FFFF). */
MRPC_INLINE size_t mrpc_utf8_length(const char *at, const char *end) {
  const unsigned char *p = (const unsigned char *)at;
  size_t left = (size_t)(end - at);
  unsigned c = p[0];
  if (c < 0xc2 || c > 0xf4 || left < 2) return 0;
  if (c < 0xe0) return (p[1] & 0xc0) == 0x80 ? 2 : 0;
  unsigned low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
  unsigned high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
  if (p[1] < low || p[1] > high || left < 3 || (p[2] & 0xc0) != 0x80) return 0;
  if (c < 0xf0) return 3;
  return left >= 4 && (p[3] & 0xc0) == 0x80 ? 4 : 0;
}

#endif
