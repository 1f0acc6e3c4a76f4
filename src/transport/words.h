/* SPDX-License-Identifier: MIT
 *
 * A command line becomes its words, as a shell would cut them, but for all that
 * a shell would replace: no variables, no globs, no pipes.
 *
 *   'as it is'   "with \" and \\"   one\ word   join'ed'" here"   '' is empty
 */
#ifndef MRPC_TRANSPORT_WORDS_H
#define MRPC_TRANSPORT_WORDS_H

#include <stddef.h>

/* Cuts `text` in place; the words point into it, NULL-terminated, at most
 * `max` with the NULL. MRPC_ESYNTAX for a quote or a backslash without its
 * other half, MRPC_ELIMIT for too many; "" and blanks are no words. */
int mrpc_words_split(char *text, char **words, size_t max);

#endif
