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

#include "base/hint.h"

#if defined(__SSE2__) && defined(__x86_64__)
#define MRPC_SSE2
#include <emmintrin.h>
#endif

/* Eight bytes as a word whose lowest byte is the first. */
MRPC_INLINE uint64_t mrpc_load8(const char *p) {
  uint64_t word;
  memcpy(&word, p, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  word = __builtin_bswap64(word);
#endif
  return word;
}

MRPC_INLINE uint32_t mrpc_load4(const char *p) {
  uint32_t word;
  memcpy(&word, p, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  word = __builtin_bswap32(word);
#endif
  return word;
}

/* `len` bytes, less than eight, with zeros behind: from both ends, so that
 * nothing behind them is read. */
MRPC_INLINE uint64_t mrpc_load_less(const char *p, size_t len) {
  if (len >= 4)
    return mrpc_load4(p) | (uint64_t)mrpc_load4(p + len - 4) << 8 * (len - 4);
  if (len == 0) return 0;
  const uint8_t *b = (const uint8_t *)p;
  return b[0] | (uint32_t)b[len / 2] << 8 * (len / 2) |
         (uint32_t)b[len - 1] << 8 * (len - 1);
}

MRPC_INLINE void mrpc_store8(char *p, uint64_t word) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  word = __builtin_bswap64(word);
#endif
  memcpy(p, &word, sizeof word);
}

MRPC_INLINE bool mrpc_is_space(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
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

/* The high bit of each byte that is 0, without borrows. */
MRPC_INLINE uint64_t mrpc_zeros8(uint64_t word) {
  return ~(((word & MRPC_EACH(0x7f)) + MRPC_EACH(0x7f)) | word) &
         MRPC_EACH(0x80);
}

/* The high bits of eight bytes, moved together by the product. */
MRPC_INLINE unsigned mrpc_bits8(uint64_t hit) {
  return (unsigned)((hit >> 7) * 0x0102040810204080u >> 56);
}

/* Which bytes of 8 are special, as bits. */
MRPC_INLINE unsigned mrpc_special8(uint64_t word) {
  uint64_t hit =
      (word & MRPC_EACH(0x80)) | mrpc_zeros8(word & MRPC_EACH(0xe0)) |
      mrpc_zeros8(word ^ MRPC_EACH('"')) | mrpc_zeros8(word ^ MRPC_EACH('\\'));
  return mrpc_bits8(hit);
}

/* Which bytes at p, of 16, are special, as bits. */
MRPC_INLINE unsigned mrpc_special16(const char *p) {
#ifdef MRPC_SSE2
  /* With one bit changed the quote stands right above the control characters,
   * and what isn't ASCII is below them, as signed numbers: all these are
   * negative when the next one is taken from them. */
  __m128i x = _mm_loadu_si128((const __m128i *)(const void *)p);
  __m128i low = _mm_subs_epi8(_mm_xor_si128(x, _mm_set1_epi8('"' ^ 0x20)),
                              _mm_set1_epi8(0x21));
  __m128i hit = _mm_or_si128(low, _mm_cmpeq_epi8(x, _mm_set1_epi8('\\')));
  return (unsigned)_mm_movemask_epi8(hit);
#else
  return mrpc_special8(mrpc_load8(p)) | mrpc_special8(mrpc_load8(p + 8)) << 8;
#endif
}

/* Which bytes of 16 differ, as bits. */
MRPC_INLINE unsigned mrpc_differ16(const char *a, const char *b) {
#ifdef MRPC_SSE2
  __m128i x = _mm_loadu_si128((const __m128i *)(const void *)a);
  __m128i y = _mm_loadu_si128((const __m128i *)(const void *)b);
  return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(x, y)) ^ 0xffff;
#else
  unsigned same = mrpc_bits8(mrpc_zeros8(mrpc_load8(a) ^ mrpc_load8(b))) |
                  mrpc_bits8(mrpc_zeros8(mrpc_load8(a + 8) ^ mrpc_load8(b + 8)))
                      << 8;
  return same ^ 0xffff;
#endif
}

/* Copies eight bytes; how many stand before the first that is `stop`? */
MRPC_INLINE unsigned mrpc_copy8(char *to, const char *p, char stop) {
  uint64_t word = mrpc_load8(p);
  mrpc_store8(to, word);
  uint64_t hit = mrpc_zeros8(word ^ MRPC_EACH((uint8_t)stop));
  return hit ? (unsigned)__builtin_ctzll(hit) / 8 : 8;
}

/* The same of sixteen. */
MRPC_INLINE unsigned mrpc_copy16(char *to, const char *p, char stop) {
#ifdef MRPC_SSE2
  __m128i x = _mm_loadu_si128((const __m128i *)(const void *)p);
  _mm_storeu_si128((__m128i *)(void *)to, x);
  int hit = _mm_movemask_epi8(_mm_cmpeq_epi8(x, _mm_set1_epi8(stop)));
  return (unsigned)__builtin_ctz((unsigned)hit | 0x10000);
#else
  unsigned n = mrpc_copy8(to, p, stop);
  return n < 8 ? n : 8 + mrpc_copy8(to + 8, p + 8, stop);
#endif
}

MRPC_INLINE bool mrpc_is_special(char c) {
  return (uint8_t)c < 0x20 || (c & 0x80) || c == '"' || c == '\\';
}

/* Copies sixteen bytes; how many stand before the first special one? */
MRPC_INLINE unsigned mrpc_copy16_plain(char *to, const char *p) {
  memcpy(to, p, 16);
  return (unsigned)__builtin_ctz(mrpc_special16(p) | 0x10000);
}

/* Which bytes at p, of 32, are neither spaces nor line ends, as bits. */
MRPC_INLINE uint32_t mrpc_indent32(const char *p) {
  uint32_t bits = 0;
#ifdef MRPC_SSE2
  for (int i = 0; i < 32; i += 16) {
    __m128i x = _mm_loadu_si128((const __m128i *)(const void *)(p + i));
    __m128i blank = _mm_or_si128(_mm_cmpeq_epi8(x, _mm_set1_epi8(' ')),
                                 _mm_cmpeq_epi8(x, _mm_set1_epi8('\n')));
    bits |= (uint32_t)_mm_movemask_epi8(blank) << i;
  }
#else
  for (int i = 0; i < 32; i += 8) {
    uint64_t word = mrpc_load8(p + i);
    bits |= mrpc_bits8(mrpc_zeros8(word ^ MRPC_EACH(' ')) |
                       mrpc_zeros8(word ^ MRPC_EACH('\n')))
            << i;
  }
#endif
  return ~bits;
}

/* p + n, but by a computed jump: the processor guesses where it leads and goes
 * on, instead of waiting until n is known. That is worth much where n comes
 * from memory, decides where the next load is, and repeats itself. The empty
 * asm keeps the compiler from turning the jump back into an addition. */
#define MRPC_GUESS(n)               \
  case n:                           \
    p += (n);                       \
    __asm__ volatile("" : "+r"(p)); \
    break;
#define MRPC_GUESS4(n) \
  MRPC_GUESS(n) MRPC_GUESS((n) + 1) MRPC_GUESS((n) + 2) MRPC_GUESS((n) + 3)
#define MRPC_GUESS16(n) \
  MRPC_GUESS4(n) MRPC_GUESS4((n) + 4) MRPC_GUESS4((n) + 8) MRPC_GUESS4((n) + 12)

/* n < 16 */
MRPC_INLINE const char *mrpc_guess16(const char *p, unsigned n) {
  switch (n) {
    MRPC_GUESS16(0)
    default: __builtin_unreachable();
  }
  return p;
}

/* n < 32 */
MRPC_INLINE const char *mrpc_guess32(const char *p, unsigned n) {
  switch (n) {
    MRPC_GUESS16(0)
    MRPC_GUESS16(16)
    default: __builtin_unreachable();
  }
  return p;
}

/* The next special byte in [p, end), or the end. Where fewer than sixteen
 * bytes are left, the last sixteen of the text, which begins at `text`, are
 * looked at. */
MRPC_INLINE const char *mrpc_find_special(const char *text, const char *p,
                                          const char *end) {
  while (MRPC_LIKELY(end - p >= 16)) {
    unsigned hit = mrpc_special16(p);
    if (hit) return p + (unsigned)__builtin_ctz(hit);
    p += 16;
  }
  if (MRPC_LIKELY(end - text >= 16)) {
    unsigned hit = mrpc_special16(end - 16) >> (16 - (end - p));
    return hit ? p + (unsigned)__builtin_ctz(hit) : end;
  }
  while (p < end && !mrpc_is_special(*p)) p++;
  return p;
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

/* The commonest case by itself: do the first three of four bytes (as of
 * mrpc_load4) make a character? 0x200f are the bits that tell overlong forms
 * (E0 80 to E0 9F) and surrogates (ED A0 to ED BF) from the rest. */
MRPC_INLINE bool mrpc_utf8_is3(uint32_t word) {
  uint32_t second = word & 0x200f;
  return (word & 0xc0c0f0) == 0x8080e0 && second != 0 && second != 0x200d;
}

#endif
