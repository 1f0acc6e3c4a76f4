/* SPDX-License-Identifier: MIT
 *
 * What the compiler can't know: which way is the usual one. What is marked as
 * cold is kept out of the functions that call it, so that these have small
 * frames and stand close together. */
#ifndef MRPC_BASE_HINT_H
#define MRPC_BASE_HINT_H

#define MRPC_LIKELY(x) __builtin_expect(!!(x), 1)
#define MRPC_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define MRPC_INLINE static inline __attribute__((always_inline))
#define MRPC_COLD __attribute__((noinline, cold))

#endif
