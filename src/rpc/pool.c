/* SPDX-License-Identifier: MIT
 *
 * Free lists. What goes back with much memory of its own is trimmed first, so
 * that one large message doesn't weigh on the host for ever. */
#include "rpc/pool.h"

#include "rpc/keep.h"

enum {
  MAX_CALLS = 256,
  MAX_BATCHES = 8,
  MAX_LOANS = 4,
  KEEP_REPLY = 64 << 10, /* bytes of a free batch's buffer */
  KEEP_NODES = 16 << 10  /* nodes of a free document: 256 KiB */
};

mrpc_call *mrpc_pool_take_call(mrpc_dispatch *dispatch) {
  mrpc_call *call = dispatch->free_calls;
  if (call) {
    dispatch->free_calls = call->next_free;
    dispatch->free_call_count--;
  } else {
    call = mrpc_mem_new(&dispatch->env->mem, sizeof *call);
    if (!call) return NULL;
    call->dispatch = dispatch;
    mrpc_list_init(&call->in_batch);
    mrpc_list_init(&call->in_peer);
    mrpc_buf_init(&call->stash, &dispatch->env->mem, 0);
  }
  dispatch->users++;
  return call;
}

void mrpc_pool_give_call(mrpc_call *call) {
  mrpc_dispatch *dispatch = call->dispatch;
  if (call->stash.data) mrpc_buf_clear(&call->stash);
  if (dispatch->free_call_count < MAX_CALLS) {
    call->next_free = dispatch->free_calls;
    dispatch->free_calls = call;
    dispatch->free_call_count++;
  } else {
    mrpc_mem_free(&dispatch->env->mem, call, sizeof *call);
  }
  mrpc_dispatch_release(dispatch);
}

static mrpc_loan *take_loan(mrpc_dispatch *dispatch) {
  mrpc_loan *loan = dispatch->free_loans;
  if (loan) {
    dispatch->free_loans = loan->next_free;
    dispatch->free_loan_count--;
    return loan;
  }
  loan = mrpc_mem_new(&dispatch->env->mem, sizeof *loan);
  if (loan) mrpc_doc_init(&loan->doc, &dispatch->env->mem);
  return loan;
}

static void free_loan(mrpc_dispatch *dispatch, mrpc_loan *loan) {
  mrpc_doc_clear(&loan->doc);
  mrpc_mem_free(&dispatch->env->mem, loan, sizeof *loan);
}

void mrpc_pool_give_loan(mrpc_batch *batch) {
  mrpc_dispatch *dispatch = batch->peer->dispatch;
  mrpc_loan *loan = batch->loan;
  if (batch->text) {
    mrpc_mem_free(&dispatch->env->mem, batch->text, batch->text_len + 1);
    batch->text = NULL;
    if (batch->is_behind) batch->peer->behind -= batch->text_len;
  }
  if (batch->ids)
    mrpc_mem_free(&dispatch->env->mem, batch->ids,
                  batch->id_count * sizeof *batch->ids);
  batch->ids = NULL;
  if (!loan) return;
  batch->loan = NULL;
  if (loan->doc.cap > KEEP_NODES) {
    mrpc_doc_clear(&loan->doc);
    mrpc_repeat_forget(&loan->before);
  }
  if (dispatch->free_loan_count == MAX_LOANS) {
    free_loan(dispatch, loan);
    return;
  }
  loan->next_free = dispatch->free_loans;
  dispatch->free_loans = loan;
  dispatch->free_loan_count++;
}

static mrpc_batch *take_batch(mrpc_dispatch *dispatch) {
  mrpc_batch *batch = dispatch->free_batches;
  if (batch) {
    dispatch->free_batches = batch->next_free;
    dispatch->free_batch_count--;
    return batch;
  }
  batch = mrpc_mem_new(&dispatch->env->mem, sizeof *batch);
  if (!batch) return NULL;
  mrpc_list_init(&batch->link);
  mrpc_list_init(&batch->order);
  mrpc_buf_init(&batch->reply, &dispatch->env->mem, SIZE_MAX);
  return batch;
}

static void free_batch(mrpc_dispatch *dispatch, mrpc_batch *batch) {
  mrpc_buf_clear(&batch->reply);
  mrpc_mem_free(&dispatch->env->mem, batch, sizeof *batch);
}

mrpc_batch *mrpc_pool_take_batch(mrpc_peer *peer) {
  mrpc_batch *batch = take_batch(peer->dispatch);
  if (!batch) return NULL;
  batch->peer = peer;
  batch->waiting = 0;
  batch->left = 0;
  batch->stashed = 0;
  batch->is_placed = false;
  batch->has_started = false;
  batch->is_refused = false;
  batch->is_behind = false;
  batch->loan = take_loan(peer->dispatch);
  if (batch->loan) return batch;
  mrpc_pool_give_batch(batch);
  return NULL;
}

void mrpc_pool_give_batch(mrpc_batch *batch) {
  mrpc_dispatch *dispatch = batch->peer->dispatch;
  mrpc_pool_give_loan(batch);
  if (batch->headers) mrpc_keep_release(batch);
  mrpc_list_remove(&batch->link);
  mrpc_buf_truncate(&batch->reply, 0);
  mrpc_buf_relax(&batch->reply, KEEP_REPLY);
  if (dispatch->free_batch_count == MAX_BATCHES) {
    free_batch(dispatch, batch);
    return;
  }
  batch->next_free = dispatch->free_batches;
  dispatch->free_batches = batch;
  dispatch->free_batch_count++;
}

void mrpc_pool_clear(mrpc_dispatch *dispatch) {
  while (dispatch->free_calls) {
    mrpc_call *call = dispatch->free_calls;
    dispatch->free_calls = call->next_free;
    mrpc_mem_free(&dispatch->env->mem, call, sizeof *call);
  }
  while (dispatch->free_batches) {
    mrpc_batch *batch = dispatch->free_batches;
    dispatch->free_batches = batch->next_free;
    free_batch(dispatch, batch);
  }
  while (dispatch->free_loans) {
    mrpc_loan *loan = dispatch->free_loans;
    dispatch->free_loans = loan->next_free;
    free_loan(dispatch, loan);
  }
}
