// The loops around the arithmetic: blocks of keys outside, strips of queries inside, one task per chunk of strips.

TESSERA_INLINE F32 zero_where_nothing(F32 max) {
  // Where no key is allowed yet the maximum is -inf; 0 as the reference keeps exp(-inf - reference) = 0.
  return select_equal(max, splat(kMinusInfinity), splat(0.0F), max);
}

/// Applies masks; sets the block's maxima in logits. False: values that the tier's integers cannot hold.
template <class A, int NV>
bool finish_scores(const Work& w, const Strip& s, int64_t key, int64_t n, Block<NV>& block) {
  for (int v = 0; v < NV; ++v) block.unit[v] = A::kInteger ? load(s.q_scale + v * kLanes) : splat(1.0F);
  block.biased = needs_bias(w, s, key, n);
  if (block.biased && w.head->mask == nullptr && w.block.v_finite) {
    apply_causality<NV>(w, s, key, n, block);
    return true;
  }
  if (block.biased) {
    fill_bias(w, s, key, n);
    return apply_bias<NV>(w, n, block) || !A::kInteger;
  }
  for (int v = 0; v < NV && A::kInteger; ++v) block.max[v] = mul(block.max[v], block.unit[v]);
  return true;
}

/// Moves the strip's maximum up to the block's; alpha = factor of what was summed before, w.rescale = product of the
/// group's alphas so far, w.share = factors of its blocks' weights. True when something before has to be rescaled.
template <class A, int NV>
bool move_maximum(const Work& w, Strip& s, int part, Block<NV>& block, F32 (&alpha)[NV]) {
  bool rescaled = false;
  for (int v = 0; v < NV; ++v) {
    const F32 before = s.started || part > 0 ? load(s.max + v * kLanes) : splat(kMinusInfinity);
    const F32 now = max(block.max[v], before);
    const F32 now_or_zero = zero_where_nothing(now);
    rescaled = rescaled || any_not_equal(now, before);
    store(s.max + v * kLanes, now);
    alpha[v] = exp2_exact(mul(sub(before, now_or_zero), splat(kLog2E)));
    store(w.rescale + v * kLanes, part > 0 ? mul(load(w.rescale + v * kLanes), alpha[v]) : alpha[v]);
    block.reference[v] = now_or_zero;
    if constexpr (A::kInteger) {
      for (int i = 0; i < part; ++i) {
        float* earlier = w.share + i * kWidth + v * kLanes;
        store(earlier, mul(load(earlier), alpha[v]));
      }
      // Weights relative to the block's own maximum use all their bits; the lane's share puts them in proportion.
      block.reference[v] = zero_where_nothing(block.max[v]);
      const F32 share = exp2_exact(mul(sub(block.max[v], now_or_zero), splat(kLog2E)));
      store(w.share + part * kWidth + v * kLanes, mul(share, splat(A::kStep)));
    }
  }
  return rescaled;
}

/// Scores and weights of one block of the group; adds the weights up.
template <class A, int NV>
bool weigh_block(const Work& w, Strip& s, int part, int64_t key, int64_t n, Block<NV>& block) {
  F32 sum[NV], alpha[NV];
  A::template compute_scores<NV>(w, s, n, block.max);
  if (!finish_scores<A, NV>(w, s, key, n, block)) s.redo = true;
  const bool rescaled = move_maximum<A, NV>(w, s, part, block, alpha);
  A::template compute_weights<NV>(w, part, n, block, sum);
  for (int v = 0; v < NV; ++v) {
    if (A::kInteger) sum[v] = mul(sum[v], load(w.share + part * kWidth + v * kLanes));
    float* at = s.sum + v * kLanes;
    store(at, s.started || part > 0 ? fma(load(at), alpha[v], sum[v]) : sum[v]);
  }
  return rescaled;
}

/// Folds keys [key, key + keys) of the group's blocks into a strip of NV vectors.
template <class A, int NV>
void fold_group(Work& w, Strip& s, int64_t key, int64_t keys) {
  Block<NV> block;
  bool rescaled = false;
  for (int part = 0; part * A::kBlock < keys; ++part) {
    const int64_t rest = keys - part * A::kBlock;
    w.block = w.group[part];
    if (!w.block.fits) s.redo = true;
    if (s.redo) return;
    rescaled |= weigh_block<A, NV>(w, s, part, key + part * A::kBlock, rest < A::kBlock ? rest : A::kBlock, block);
  }
  A::template add_values<NV>(w, s, keys, block.biased, rescaled);
  s.started = true;
}

template <class A>
void fold_group(Work& w, Strip& s, int64_t key, int64_t keys) {
  if (s.redo) return;
  if (s.vectors == 1) fold_group<A, 1>(w, s, key, keys);
  if (s.vectors == 2) fold_group<A, 2>(w, s, key, keys);
  if (s.vectors == 3) fold_group<A, 3>(w, s, key, keys);
}

template <class A>
TESSERA_INLINE void lay_out_integers(Work& w, Arena& arena) {
  const int64_t d_rounded = round_up(w.d, kLanes);
  w.weights = arena.take<std::byte>(A::kGroup * A::kWeightBytes);
  w.share = arena.take<float>(A::kGroup * kWidth);
  w.k_mean = arena.take<float>(d_rounded);
  w.row = arena.take<float>(d_rounded);
  w.columns = arena.take<float>(d_rounded > A::kBlock ? d_rounded * kWidth : A::kBlock * kWidth);
}

/// Lays out `count` packed blocks; returns the bytes they take.
template <class A>
int64_t lay_out_blocks(Work& w, std::byte* memory, int64_t count) {
  Arena arena{memory, 0};
  w.blocks = arena.take<Packed>(count);
  for (int64_t i = 0; i < count; ++i) {
    Packed b;
    b.k = arena.take<std::byte>(A::key_bytes(w.d));
    b.v = arena.take<std::byte>(A::value_bytes(w.dv));
    if (A::kInteger) {
      b.k_scale = arena.take<float>(A::kBlock);
      b.k_offset = arena.take<int32_t>(A::kBlock);
      b.v_scale = arena.take<float>(w.dv_rows);
    }
    if (memory != nullptr) w.blocks[i] = b;
  }
  return arena.used;
}

/// Lays out a task's memory: the blocks of one group, unless others are set, and `strips`; returns the bytes it takes.
template <class A>
int64_t lay_out(Work& w, std::byte* memory, int64_t strips) {
  Arena arena{memory, 0};
  w.strips = arena.take<Strip>(strips);
  std::byte* blocks = arena.take<std::byte>(lay_out_blocks<A>(w, nullptr, A::kGroup));
  if (memory != nullptr) lay_out_blocks<A>(w, blocks, A::kGroup);
  w.scores = arena.take<float>(A::kBlock * kWidth);
  w.bias = arena.take<float>(A::kBlock * kWidth);
  w.rescale = arena.take<float>(kWidth);
  w.largest = arena.take<float>(kWidth);
  if constexpr (A::kInteger) lay_out_integers<A>(w, arena);
  for (int64_t i = 0; i < strips; ++i) {
    Strip s;
    s.q = arena.take<std::byte>(A::query_bytes(w.d, kWidth));
    if (A::kInteger) s.q_scale = arena.take<float>(kWidth), s.q_mean = arena.take<float>(kWidth);
    s.out = arena.take<float>(w.dv_rows * kWidth);
    s.max = arena.take<float>(kWidth);
    s.sum = arena.take<float>(kWidth);
    if (memory != nullptr) w.strips[i] = s;
  }
  return arena.used;
}

/// Places strips [begin, end) of the head; returns the last key that any of them needs.
TESSERA_INLINE int64_t place_strips(Work& w, int64_t begin, int64_t end) {
  const StripGrid grid(w.head->seq_q, kLanes);
  int64_t last_key = 0;
  w.strip_count = 0;
  for (int64_t i = begin; i < end && i < grid.per_group * w.head->groups; ++i) {
    Strip& s = w.strips[w.strip_count++];
    const int64_t index = i % grid.per_group;
    s.group = i / grid.per_group;
    s.first = grid.first_query(index);
    s.vectors = grid.vectors(index);
    const int64_t rest = w.head->seq_q - s.first;
    s.count = rest < s.vectors * kLanes ? rest : s.vectors * kLanes;
    s.key_end = w.head->key_end(s.first + s.count - 1);
    last_key = s.key_end > last_key ? s.key_end : last_key;
  }
  return last_key;
}

/// Spreads the fetching of the next group's rows over the tiles that compute the present one; packed rows lie in a line
/// and need none.
template <class A, DType T>
TESSERA_INLINE void set_prefetch(Work& w, int64_t key, int64_t last_key) {
  constexpr int64_t kSize = T == DType::F32 ? 4 : 2;
  constexpr int64_t kMost = A::kGroup * A::kBlock;
  const AttentionArgs& a = *w.head->args;
  Prefetch& p = w.prefetch;
  const int64_t rows = key / A::kBlock < w.packed ? 0 : last_key - key < kMost ? last_key - key : kMost;
  const int64_t tiles = w.strip_count * (kMost / kTileRows);
  p.k = w.head->k + key * a.k.stride_s * kSize, p.v = w.head->v + key * a.v.stride_s * kSize;
  p.k_stride = a.k.stride_s * kSize, p.v_stride = a.v.stride_s * kSize;
  p.k_bytes = w.d * kSize, p.v_bytes = w.dv * kSize;
  p.rows = rows < 0 ? 0 : rows;
  p.rows_per_tile = (kMost + tiles - 1) / tiles;
}

/// Sees to it that the group of blocks from `key` on is packed, and puts it at hand. A block is packed with all keys
/// of the head, whether this chunk's queries see them or not: what its integers are must not depend on the chunk.
template <class A, DType T>
void pack_group(Work& w, int64_t key) {
  const int64_t first = key / A::kBlock;
  w.group = w.blocks + (w.keeps ? first : 0);
  for (int part = 0; part < A::kGroup; ++part, key += A::kBlock) {
    const int64_t rest = w.head->keys - key;
    if (first + part < w.packed || rest <= 0) continue;
    w.block = w.group[part];
    A::template pack_block<T>(w, key, rest < A::kBlock ? rest : A::kBlock);
    w.group[part] = w.block;
    w.packed = first + part + 1;
  }
}

template <class A, DType T>
void run_chunk(Work& w, int64_t last_key) {
  constexpr int64_t kKeys = A::kGroup * A::kBlock;
  if (!w.keeps) w.packed = 0;
  for (int64_t i = 0; i < w.strip_count; ++i) A::template pack_strip<T>(w, w.strips[i]);
  for (int64_t key = 0; key < last_key; key += kKeys) {
    pack_group<A, T>(w, key);
    set_prefetch<A, T>(w, key + kKeys, last_key);
    for (int64_t i = 0; i < w.strip_count; ++i) {
      Strip& s = w.strips[i];
      const int64_t keys = s.key_end - key < kKeys ? s.key_end - key : kKeys;
      if (keys > 0) fold_group<A>(w, s, key, keys);
    }
  }
  for (int64_t i = 0; i < w.strip_count; ++i) {
    const Strip& s = w.strips[i];
    if (s.redo) continue;
    if (!s.started) store_nothing<T>(w, s);
    if (s.started) store_output<T>(w, s), store_lse(w, s);
  }
}

struct Call {
  const AttentionArgs* args = nullptr;
  Plan plan;
  int64_t scratch_bytes = 0;
  KeyCopies copies;
  std::atomic<bool> out_of_memory = false;
  std::atomic<int64_t> exact_redone = 0;
};

TESSERA_INLINE Work make_work(const AttentionArgs& a, const HeadProblem* head) {
  Work w;
  w.head = head;
  w.d = a.head_dim, w.dv = a.value_dim, w.dv_rows = round_up(a.value_dim, kLanes);
  return w;
}

/// Runs the strips that met values out of range in fp32, one by one: they are rare. True when there were some.
template <DType T>
bool redo_exactly(Call& call, Work& w, std::byte* memory, int64_t begin) {
  uint64_t marked = 0;
  bool any = false;
  for (int64_t i = 0; i < w.strip_count; ++i) marked |= static_cast<uint64_t>(w.strips[i].redo) << i;
  for (int64_t i = 0; marked != 0; ++i, marked >>= 1) {
    if ((marked & 1) == 0) continue;
    Work exact = make_work(*call.args, w.head);
    lay_out<Exact>(exact, memory, 1);
    run_chunk<Exact, T>(exact, place_strips(exact, begin + i, begin + i + 1));
    call.exact_redone.fetch_add(1, std::memory_order_relaxed);
    any = true;
  }
  return any;
}

/// Strips [begin, end) of one head, a chunk at a time.
template <class A, DType T>
void run_chunks(Call& call, Work& w, std::byte* memory, int64_t begin, int64_t end) {
  const int64_t chunk = call.plan.strips_per_chunk;
  std::byte* copy = call.copies.take();
  bool fresh = true;  // scratch memory holds nothing of the head yet
  for (int64_t at = begin; at < end; at += chunk) {
    lay_out<A>(w, memory, chunk);
    if (copy != nullptr) {
      w.keeps = true;
      if (at == begin) lay_out_blocks<A>(w, copy, call.plan.groups_per_head * A::kGroup);
      w.blocks = reinterpret_cast<Packed*>(copy);
    }
    if (fresh) A::template begin_head<T>(w);
    fresh = false;
    run_chunk<A, T>(w, place_strips(w, at, at + chunk < end ? at + chunk : end));
    if constexpr (A::kInteger) fresh = redo_exactly<T>(call, w, memory, at);
  }
  call.copies.give_back(copy);
}

template <class A, DType T>
void run_task(void* data, int64_t index) {
  Call& call = *static_cast<Call*>(data);
  const AttentionArgs& a = *call.args;
  const int64_t head_index = index / call.plan.tasks_per_head;
  const int64_t begin = index % call.plan.tasks_per_head * call.plan.strips_per_task;
  const HeadProblem head = head_problem(a, head_index / a.heads_kv, head_index % a.heads_kv);
  std::byte* memory = thread_scratch(call.scratch_bytes);
  if (memory == nullptr) return call.out_of_memory.store(true);
  Work w = make_work(a, &head);
  run_chunks<A, T>(call, w, memory, begin, begin + call.plan.strips_per_task);
}

template <class A>
AttentionRun run_call(const AttentionArgs& a, const ParallelFor& parallel) {
  Work w = make_work(a, nullptr);
  const int64_t one_strip = lay_out<A>(w, nullptr, 1);
  const int64_t strip_bytes = lay_out<A>(w, nullptr, 2) - one_strip;
  Call call;
  call.args = &a;
  call.plan = make_plan(a, {kLanes, A::kBlock * A::kGroup, strip_bytes, A::kPackCost, parallel.threads});
  call.scratch_bytes = lay_out<A>(w, nullptr, call.plan.strips_per_chunk);
  const int64_t exact_strip = lay_out<Exact>(w, nullptr, 1);
  if (exact_strip > call.scratch_bytes) call.scratch_bytes = exact_strip;
  if (call.plan.copies > 0)
    call.copies.make(call.plan.copies, lay_out_blocks<A>(w, nullptr, call.plan.groups_per_head * A::kGroup));
  const ParallelFor::Task task = a.dtype == DType::F32   ? run_task<A, DType::F32>
                                 : a.dtype == DType::F16 ? run_task<A, DType::F16>
                                                         : run_task<A, DType::BF16>;
  parallel(call.plan.tasks, task, &call);
  const Status status = call.out_of_memory ? Status::OutOfMemory : Status::Ok;
  return {status, kIsa, call.exact_redone, call.scratch_bytes, call.copies.bytes(), 0, A::kTier};
}
