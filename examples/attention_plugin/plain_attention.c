/* A complete attention plugin: plain float32 attention on the CPU, one query row at a time.
 * Build: cc -O2 -shared -fPIC -I src plain_attention.c -o plain_attention.so -lm (from the repository's root: its path
 * instead), then TESSERA_ATTENTION_PLUGINS=./plain_attention.so tessera doctor. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attention/plugin/plugin_abi.h"

static const char* accepts(const char* problem) {
  if (strstr(problem, "\"dtype\":\"fp32\"") == NULL) return "plain_attention takes fp32 only";
  if (strstr(problem, "\"device\":\"cpu\"") == NULL) return "plain_attention runs on the CPU only";
  if (strstr(problem, "\"mask\":\"bool\"") || strstr(problem, "\"mask\":\"additive\"")) return "no dense masks";
  return NULL;
}

static float* at(const tessera_tensor_v1* t, int64_t b, int64_t s, int64_t h) {
  float* first = (float*)((char*)t->data + t->byte_offset);
  return first + b * t->strides[0] + s * t->strides[1] + h * t->strides[2];
}

/* How many of the first keys query row i may see. */
static int64_t visible(const tessera_attention_call_v1* c, int64_t b, int64_t i) {
  const int64_t sq = c->query->shape[1], skv = c->key->shape[1];
  int64_t keys = c->key_lengths ? c->key_lengths[b] : skv;
  if (c->causal == 1 && i + 1 < keys) keys = i + 1;
  if (c->causal == 2 && i + 1 + skv - sq < keys) keys = i + 1 + skv - sq;
  return keys < 0 ? 0 : keys;
}

/* Two passes: logits with their maximum, then the weighted sum of the values. */
static void one_row(const tessera_attention_call_v1* c, int64_t b, int64_t i, int64_t h, float* logits) {
  const int64_t keys = visible(c, b, i), d = c->query->shape[3], dv = c->value->shape[3];
  const int64_t head = h / (c->query->shape[2] / c->key->shape[2]);
  const float* q = at(c->query, b, i, h);
  float* out = at(c->out, b, i, h);
  float top = -INFINITY;
  double total = 0;
  for (int64_t j = 0; j < keys; ++j) {
    const float* k = at(c->key, b, j, head);
    double dot = 0;
    for (int64_t x = 0; x < d; ++x) dot += (double)q[x * c->query->strides[3]] * k[x * c->key->strides[3]];
    logits[j] = (float)(dot * c->scale);
    if (logits[j] > top) top = logits[j];
  }
  for (int64_t j = 0; j < keys; ++j) total += logits[j] = expf(logits[j] - top);
  for (int64_t x = 0; x < dv; ++x) {
    double sum = 0;
    for (int64_t j = 0; j < keys; ++j) sum += logits[j] * at(c->value, b, j, head)[x * c->value->strides[3]];
    out[x * c->out->strides[3]] = keys ? (float)(sum / total) : 0.0f;
  }
  if (c->lse) at(c->lse, b, h, i)[0] = keys ? top + (float)log(total) : -INFINITY; /* [B, Hq, Sq] */
}

static tessera_plugin_status run(const tessera_attention_call_v1* c, char* error, size_t error_bytes) {
  const int64_t* n = c->query->shape;
  float* logits = malloc(sizeof(float) * (size_t)(c->key->shape[1] + 1));
  if (logits == NULL) {
    snprintf(error, error_bytes, "no memory for %lld logits", (long long)c->key->shape[1]);
    return TESSERA_PLUGIN_OUT_OF_MEMORY;
  }
  for (int64_t row = 0; row < n[0] * n[1] * n[2]; ++row) {
    one_row(c, row / (n[1] * n[2]), row / n[2] % n[1], row % n[2], logits);
  }
  free(logits);
  return TESSERA_PLUGIN_OK;
}

const tessera_attention_plugin* tessera_attention_plugin_v1(void) {
  static const tessera_attention_plugin table = {
      TESSERA_ATTENTION_PLUGIN_ABI, sizeof(tessera_attention_plugin), "plain_attention", "1.0", accepts, run};
  return &table;
}
