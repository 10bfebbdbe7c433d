/* The C ABI of a loadable attention kernel. Plugin authors need this one file; examples/attention_plugin uses it.
 *
 * A plugin is a shared library that exports one function, tessera_attention_plugin_v1(). Tessera tries to load it in a
 * child process first, asks accepts() per problem, and checks the first result of every problem on a few rows.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TESSERA_ATTENTION_PLUGIN_ABI 1u

/* A tensor by reference, in the memory layout of DLPack's DLTensor: a pointer to the one is a pointer to the other.
 * device_type and dtype_code are DLPack's numbers: 1 CPU, 2 CUDA; 2 float, 4 bfloat16. Strides count elements. */
typedef struct {
  void* data;
  int32_t device_type;
  int32_t device_id;
  int32_t ndim;
  uint8_t dtype_code;
  uint8_t dtype_bits;
  uint16_t dtype_lanes;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset; /* of the first element from data */
} tessera_tensor_v1;

typedef enum {
  TESSERA_PLUGIN_OK = 0,
  TESSERA_PLUGIN_UNSUPPORTED = 1, /* another backend takes this problem from now on */
  TESSERA_PLUGIN_OUT_OF_MEMORY = 2,
  TESSERA_PLUGIN_DEVICE_FAULT = 3,
  TESSERA_PLUGIN_FAILED = 4
} tessera_plugin_status;

/* softmax(scale * Q K^T + mask) V. A query that no key may attend to gives zeros, and minus infinity in lse. */
typedef struct {
  const tessera_tensor_v1* query;         /* [B, Sq, Hq, D] */
  const tessera_tensor_v1* key;           /* [B, Skv, Hkv, D], query head j reads key head j / (Hq / Hkv) */
  const tessera_tensor_v1* value;         /* [B, Skv, Hkv, Dv] */
  const tessera_tensor_v1* out;           /* [B, Sq, Hq, Dv], to be written */
  const tessera_tensor_v1* lse;           /* [B, Hq, Sq] float32, natural log, to be written; NULL when not wanted */
  const tessera_tensor_v1* bool_mask;     /* [B, Hq, Sq, Skv], true may attend, strides may be 0; or NULL */
  const tessera_tensor_v1* additive_mask; /* the same shape, added to the scaled logits; or NULL */
  const int64_t* key_lengths;             /* [B] on the host: only the first n keys take part; or NULL */
  int32_t causal;                         /* 0 no; 1 key <= query; 2 key <= query + Skv - Sq */
  double scale;
  void* stream; /* cudaStream_t to work on; NULL on a CPU */
} tessera_attention_call_v1;

typedef struct {
  uint32_t abi_version;  /* TESSERA_ATTENTION_PLUGIN_ABI */
  uint32_t struct_bytes; /* sizeof(tessera_attention_plugin) */
  const char* name;      /* the catalog row that it serves ("sage_attn"), or a name of its own */
  const char* version;   /* of the kernel, for reports */
  /* NULL when the problem is taken, else one sentence why not; the text must stay valid. The JSON has the fields of a
   * problem in `tessera explain --batch` (batch, seq_q, heads_kv, dtype, causal, mask, …) and "device": cpu or cuda. */
  const char* (*accepts)(const char* problem_json);
  /* Writes all of out and lse, or a reason of at most error_bytes - 1 characters into error and a status. Called from
   * several threads at once. Must not throw; if it does, the call counts as failed. */
  tessera_plugin_status (*run)(const tessera_attention_call_v1* call, char* error, size_t error_bytes);
} tessera_attention_plugin;

/* The one symbol that a plugin exports. */
const tessera_attention_plugin* tessera_attention_plugin_v1(void);

#ifdef __cplusplus
}
#endif
