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
  if (block.biased) {
    fill_bias(w, s, key, n);
    return apply_bias<NV>(w, n, block) || !A::kInteger;
  }
  for (int v = 0; v < NV && A::kInteger; ++v) block.max[v] = mul(block.max[v], block.unit[v]);
  return true;
}

/// Moves the strip's maximum up to the block's; w.rescale = factor of what was summed before, w.share = factor of this
/// block's weights. True when something before has to be rescaled.
template <class A, int NV>
bool move_maximum(const Work& w, Strip& s, Block<NV>& block) {
  bool rescaled = false;
  for (int v = 0; v < NV; ++v) {
    const F32 before = s.started ? load(s.max + v * kLanes) : splat(kMinusInfinity);
    const F32 now = max(block.max[v], before);
    const F32 now_or_zero = zero_where_nothing(now);
    rescaled = rescaled || any_not_equal(now, before);
    store(s.max + v * kLanes, now);
    store(w.rescale + v * kLanes, exp2_exact(mul(sub(before, now_or_zero), splat(kLog2E))));
    block.reference[v] = now_or_zero;
    if constexpr (A::kInteger) {
      // Weights relative to the block's own maximum use all their bits; the lane's share puts them in proportion.
      block.reference[v] = zero_where_nothing(block.max[v]);
      const F32 share = exp2_exact(mul(sub(block.max[v], now_or_zero), splat(kLog2E)));
      store(w.share + v * kLanes, mul(share, splat(A::kStep)));
    }
  }
  return rescaled;
}

/// Folds keys [key, key + n) of the packed block into a strip of NV vectors.
template <class A, int NV>
void fold_block(const Work& w, Strip& s, int64_t key, int64_t n) {
  Block<NV> block;
  F32 sum[NV];
  A::template compute_scores<NV>(w, s, n, block.max);
  if (!finish_scores<A, NV>(w, s, key, n, block)) s.redo = true;
  const bool rescaled = move_maximum<A, NV>(w, s, block);
  A::template compute_weights<NV>(w, n, block, sum);
  for (int v = 0; v < NV; ++v) {
    if (A::kInteger) sum[v] = mul(sum[v], load(w.share + v * kLanes));
    float* at = s.sum + v * kLanes;
    store(at, s.started ? fma(load(at), load(w.rescale + v * kLanes), sum[v]) : sum[v]);
  }
  A::template add_values<NV>(w, s, n, block.biased, rescaled);
  s.started = true;
}

template <class A>
void fold_block(const Work& w, Strip& s, int64_t key, int64_t n) {
  if (!w.block_fits) s.redo = true;
  if (s.redo) return;
  if (s.vectors == 1) fold_block<A, 1>(w, s, key, n);
  if (s.vectors == 2) fold_block<A, 2>(w, s, key, n);
  if (s.vectors == 3) fold_block<A, 3>(w, s, key, n);
}

TESSERA_INLINE void lay_out_integers(Work& w, Arena& arena, int64_t block) {
  const int64_t d_rounded = round_up(w.d, kLanes);
  w.weights = arena.take<std::byte>(block * kWidth * 4);
  w.k_scale = arena.take<float>(block);
  w.k_offset = arena.take<int32_t>(block);
  w.v_scale = arena.take<float>(w.dv_rows);
  w.share = arena.take<float>(kWidth);
  w.k_mean = arena.take<float>(d_rounded);
  w.row = arena.take<float>(d_rounded);
  w.columns = arena.take<float>(d_rounded > block ? d_rounded * kWidth : block * kWidth);
}

/// Lays out a task's memory; returns the bytes it takes.
template <class A>
int64_t lay_out(Work& w, std::byte* memory, int64_t strips) {
  Arena arena{memory, 0};
  w.strips = arena.take<Strip>(strips);
  w.k = arena.take<std::byte>(A::key_bytes(w.d));
  w.v = arena.take<std::byte>(A::value_bytes(w.dv));
  w.scores = arena.take<float>(A::kBlock * kWidth);
  w.bias = arena.take<float>(A::kBlock * kWidth);
  w.rescale = arena.take<float>(kWidth);
  w.largest = arena.take<float>(kWidth);
  if (A::kInteger) lay_out_integers(w, arena, A::kBlock);
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

/// Spreads the fetching of the next block over the tiles that compute the present one.
template <class A, DType T>
TESSERA_INLINE void set_prefetch(Work& w, int64_t key, int64_t last_key) {
  constexpr int64_t kSize = T == DType::F32 ? 4 : 2;
  const AttentionArgs& a = *w.head->args;
  Prefetch& p = w.prefetch;
  const int64_t rows = last_key - key < A::kBlock ? last_key - key : A::kBlock;
  const int64_t tiles = w.strip_count * (A::kBlock / kTileRows);
  p.k = w.head->k + key * a.k.stride_s * kSize, p.v = w.head->v + key * a.v.stride_s * kSize;
  p.k_stride = a.k.stride_s * kSize, p.v_stride = a.v.stride_s * kSize;
  p.k_bytes = w.d * kSize, p.v_bytes = w.dv * kSize;
  p.rows = rows < 0 ? 0 : rows;
  p.rows_per_tile = (A::kBlock + tiles - 1) / tiles;
}

template <class A, DType T>
void run_strips(Work& w, int64_t last_key) {
  A::template begin_head<T>(w);
  for (int64_t i = 0; i < w.strip_count; ++i) A::template pack_strip<T>(w, w.strips[i]);
  for (int64_t key = 0; key < last_key; key += A::kBlock) {
    const int64_t n = last_key - key < A::kBlock ? last_key - key : A::kBlock;
    A::template pack_block<T>(w, key, n);
    set_prefetch<A, T>(w, key + n, last_key);
    for (int64_t i = 0; i < w.strip_count; ++i) {
      Strip& s = w.strips[i];
      const int64_t keys = s.key_end - key < n ? s.key_end - key : n;
      if (keys > 0) fold_block<A>(w, s, key, keys);
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
  std::atomic<bool> out_of_memory = false;
  std::atomic<int64_t> exact_redone = 0;
};

TESSERA_INLINE Work make_work(const AttentionArgs& a, const HeadProblem* head) {
  Work w;
  w.head = head;
  w.d = a.head_dim, w.dv = a.value_dim, w.dv_rows = round_up(a.value_dim, kLanes);
  return w;
}

/// Runs the strips that met values out of range in fp32, one by one: they are rare.
template <DType T>
void redo_exactly(Call& call, Work& w, std::byte* memory, int64_t begin) {
  uint64_t marked = 0;
  for (int64_t i = 0; i < w.strip_count; ++i) marked |= static_cast<uint64_t>(w.strips[i].redo) << i;
  for (int64_t i = 0; marked != 0; ++i, marked >>= 1) {
    if ((marked & 1) == 0) continue;
    Work exact = make_work(*call.args, w.head);
    lay_out<Exact>(exact, memory, 1);
    run_strips<Exact, T>(exact, place_strips(exact, begin + i, begin + i + 1));
    call.exact_redone.fetch_add(1, std::memory_order_relaxed);
  }
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
  lay_out<A>(w, memory, call.plan.strips_per_task);
  run_strips<A, T>(w, place_strips(w, begin, begin + call.plan.strips_per_task));
  if constexpr (A::kInteger) redo_exactly<T>(call, w, memory, begin);
}

template <class A>
AttentionRun run_call(const AttentionArgs& a, const ParallelFor& parallel) {
  Work w = make_work(a, nullptr);
  const int64_t one_strip = lay_out<A>(w, nullptr, 1);
  const int64_t strip_bytes = lay_out<A>(w, nullptr, 2) - one_strip;
  Call call;
  call.args = &a;
  call.plan = make_plan(a, kLanes, strip_bytes, parallel.threads);
  call.scratch_bytes = lay_out<A>(w, nullptr, call.plan.strips_per_task);
  const int64_t exact_strip = lay_out<Exact>(w, nullptr, 1);
  if (exact_strip > call.scratch_bytes) call.scratch_bytes = exact_strip;
  const ParallelFor::Task task = a.dtype == DType::F32   ? run_task<A, DType::F32>
                                 : a.dtype == DType::F16 ? run_task<A, DType::F16>
                                                         : run_task<A, DType::BF16>;
  parallel(call.plan.tasks, task, &call);
  return {call.out_of_memory ? Status::OutOfMemory : Status::Ok, kIsa, call.exact_redone};
}
