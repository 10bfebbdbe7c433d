// The product: a task's rows of x become numbers once, then every panel of weights meets them group by group.

// Packed rows of one task: they stay in a 2 MiB second-level cache beside a panel's sums, and every panel that is
// fetched serves at least kFewestRows rows.
constexpr int64_t kTaskBytes = 1 << 20;
constexpr int64_t kFewestRows = 64;
constexpr int64_t kMostRows = 384;

/// How a call is cut into tasks: blocks of row tiles times runs of panels.
struct LinearPlan {
  int64_t tiles = 0, panels = 0;
  int64_t row_blocks = 1, panel_blocks = 1;
  int64_t tiles_per_block = 1;
};

template <class B>
LinearPlan plan_linear(const LinearArgs& a, int threads) {
  LinearPlan plan;
  plan.tiles = (a.rows + kTileRows - 1) / kTileRows;
  plan.panels = (a.out_channels + kLinearWidth - 1) / kLinearWidth;
  int64_t rows = kTaskBytes / (round_to(a.in, B::kGroup) * 4 / B::kPer);
  rows = rows < kFewestRows ? kFewestRows : (rows > kMostRows ? kMostRows : rows);
  const int64_t most_tiles = rows / kTileRows;
  plan.row_blocks = (plan.tiles + most_tiles - 1) / most_tiles;
  if (threads > 1) plan.row_blocks = round_to(plan.row_blocks, threads);
  if (plan.row_blocks > (plan.tiles + 1) / 2) {
    // Few rows: the threads of a block share its panels instead. Each makes the block's rows into numbers anew.
    plan.row_blocks = (plan.tiles + most_tiles - 1) / most_tiles;
    const int64_t sharing = (threads + plan.row_blocks - 1) / plan.row_blocks;
    plan.panel_blocks = sharing < plan.panels ? sharing : plan.panels;
  }
  plan.tiles_per_block = (plan.tiles + plan.row_blocks - 1) / plan.row_blocks;
  return plan;
}

/// One task's rows as numbers: [group][tile][kTileRows][kGroup], with what a step is worth and the zero point times it.
template <class B>
struct LinearRows {
  static constexpr int64_t kRowBytes = B::kGroup * 4 / B::kPer;
  int64_t tiles = 0, groups = 0;
  std::byte* numbers = nullptr;
  float* scales = nullptr;  ///< [group][tile][kTileRows]
  float* zeros = nullptr;   ///< the same; minus the zero point, in units of x
  float* sums = nullptr;    ///< [tiles * kTileRows, kLinearWidth]
  bool* refused = nullptr;  ///< [tiles * kTileRows]: behind the call's end, or with values that do not fit

  LinearRows(int64_t tile_count, int64_t group_count) : tiles(tile_count), groups(group_count) {}
  int64_t rows() const { return tiles * kTileRows; }
  int64_t number_bytes() const { return rows() * groups * kRowBytes; }
  int64_t bytes() const { return number_bytes() + rows() * (2 * round_to(groups, 16) + kLinearWidth + 1) * 4; }
  void place(std::byte* memory) {
    numbers = memory;
    scales = reinterpret_cast<float*>(memory + number_bytes());
    zeros = scales + rows() * round_to(groups, 16);
    sums = zeros + rows() * round_to(groups, 16);
    refused = reinterpret_cast<bool*>(sums + rows() * kLinearWidth);
  }
};

/// One group of one row. Returns: false when a value does not fit.
template <class B, DType T>
TESSERA_INLINE bool quantise_group(const std::byte* row, int64_t first, int64_t last, std::byte* to, float& scale,
                                   float& zero) {
  F32 low = splat(0.0F), high = splat(0.0F), magnitudes = splat(0.0F);
  for (int64_t k = first; k < last; k += kLanes) {
    const F32 x = load_part<T>(row, k, last);
    magnitudes = max_magnitude(magnitudes, x);
    if constexpr (B::kHasZeroPoint) low = min(low, x), high = max(high, x);
  }
  const float magnitude = reduce_max_magnitude(magnitudes);
  if (!(magnitude < kLinearTooLarge)) return false;
  float bottom = -magnitude, top = magnitude;
  if constexpr (B::kHasZeroPoint) bottom = reduce_min(low), top = reduce_max(high);
  const bool empty = magnitude < kLinearTooSmall;
  scale = empty ? 0.0F : (top - bottom) / B::kSteps;
  const float factor = empty ? 0.0F : B::kSteps / (top - bottom);
  const float point = B::kHasZeroPoint ? __builtin_rintf(-bottom * factor) : 0.0F;
  zero = -point * scale;
  const F32 f = splat(factor), p = splat(point);
  for (int64_t k = first; k < last; k += kLanes) {
    const F32 x = load_part<T>(row, k, last);
    B::store_x(to + (k - first) * 4 / B::kPer, to_int(B::kHasZeroPoint ? fma(x, f, p) : mul(x, f)));
  }
  return true;
}

template <class B, DType T>
void quantise_rows(const LinearArgs& a, int64_t first_row, const LinearRows<B>& to) {
  for (int64_t r = 0; r < to.rows(); ++r) {
    const int64_t row = first_row + r;
    const std::byte* x = static_cast<const std::byte*>(a.x) + row * a.x_stride * kElementBytes<T>;
    bool fits = row < a.rows;
    for (int64_t g = 0; g < to.groups; ++g) {
      const int64_t at = g * to.rows() + r, first = g * B::kGroup, end = first + B::kGroup;
      to.scales[at] = 0.0F, to.zeros[at] = 0.0F;
      if (!fits) continue;
      fits = quantise_group<B, T>(x, first, end < a.in ? end : a.in, to.numbers + at * LinearRows<B>::kRowBytes,
                                  to.scales[at], to.zeros[at]);
    }
    to.refused[r] = !fits;
  }
}

/// x * sigmoid(2 u), u = sqrt(2 / pi) (x + 0.044715 x^3): GELU with tanh, by an exponential that cannot overflow.
TESSERA_INLINE F32 gelu_tanh(F32 x) {
  const F32 u = mul(x, fma(mul(x, x), splat(-0.1029432F), splat(-2.3022082F)));  // -2 log2(e) u
  const F32 t = exp2_exact(min(u, sub(splat(0.0F), u)));
  const F32 share = div(select_below(splat(0.0F), u, t, splat(1.0F)), add(splat(1.0F), t));
  return mul(x, share);
}

/// A tile's place: rows of the task, channels of the panel.
struct LinearTile {
  int64_t row = 0;      ///< of the call
  int64_t channel = 0;  ///< of the call
  int64_t columns = 0;  ///< how many of the panel's channels exist
  float* sums = nullptr;
  const bool* refused = nullptr;
};

template <DType T>
TESSERA_INLINE void store_tile_row(const LinearArgs& a, const LinearTile& tile, int64_t row, const F32 (&values)[3]) {
  std::byte* to = static_cast<std::byte*>(a.out) + (row * a.out_stride + tile.channel) * kElementBytes<T>;
#pragma GCC unroll 3
  for (int v = 0; v < 3; ++v) {
    const int64_t left = tile.columns - v * kLanes;
    if (left >= kLanes) {
      store_from_f32<T>(to + v * kLanes * kElementBytes<T>, values[v]);
    } else if (left > 0) {
      store_first_from_f32<T>(to + v * kLanes * kElementBytes<T>, values[v], left);
    }
  }
}

/// The last group's end of a row: bias, activation, store.
template <DType T>
TESSERA_INLINE void finish_row(const LinearArgs& a, const LinearTile& tile, int64_t row, F32 (&values)[3]) {
#pragma GCC unroll 3
  for (int v = 0; v < 3; ++v) {
    const int64_t left = tile.columns - v * kLanes;
    if (a.bias != nullptr && left > 0) {
      const auto* bias = reinterpret_cast<const std::byte*>(a.bias + tile.channel);
      values[v] = add(values[v], load_part<DType::F32>(bias, v * kLanes, tile.columns));
    }
    if (a.after == LinearAfter::GeluTanh) values[v] = gelu_tanh(values[v]);
  }
  store_tile_row<T>(a, tile, row, values);
}

/// kTileRows rows times one panel over one group of inputs.
template <class B, DType T>
void linear_tile(const LinearArgs& a, const LinearTile& tile, const std::byte* x, const float* scales,
                 const float* zeros, const std::byte* w, int64_t group) {
  const LinearLayout<B> layout{a.in};
  const int64_t steps = layout.steps(group);
  I32 acc[kTileRows][3];
#pragma GCC unroll 8
  for (int r = 0; r < kTileRows; ++r) {
#pragma GCC unroll 3
    for (int v = 0; v < 3; ++v) acc[r][v] = splat_int(0);
  }
  for (int64_t i = 0; i < steps; ++i) {
    I32 panel[3];
#pragma GCC unroll 3
    for (int v = 0; v < 3; ++v) panel[v] = load_int(w + (i * 3 + v) * kLanes * 4);
#pragma GCC unroll 8
    for (int r = 0; r < kTileRows; ++r) {
      int32_t lane;
      __builtin_memcpy(&lane, x + r * LinearRows<B>::kRowBytes + i * 4, 4);
      const I32 b = splat_int(lane);
#pragma GCC unroll 3
      for (int v = 0; v < 3; ++v) acc[r][v] = B::dot(acc[r][v], b, panel[v]);
    }
  }
  const float* w_scale = reinterpret_cast<const float*>(w + steps * kLinearWidth * 4);
  const bool last = group + 1 == layout.groups();
#pragma GCC unroll 8
  for (int r = 0; r < kTileRows; ++r) {
    F32 values[3];
    float* sums = tile.sums + r * kLinearWidth;
#pragma GCC unroll 3
    for (int v = 0; v < 3; ++v) {
      const F32 scaled = mul(to_float(acc[r][v]), load(w_scale + v * kLanes));
      const F32 before = group == 0 ? splat(0.0F) : load(sums + v * kLanes);
      values[v] = fma(scaled, splat(scales[r]), before);
      if constexpr (B::kHasZeroPoint) {
        values[v] = fma(load(w_scale + kLinearWidth + v * kLanes), splat(zeros[r]), values[v]);
      }
      if (!last) store(sums + v * kLanes, values[v]);
    }
    if (last && !tile.refused[r]) finish_row<T>(a, tile, tile.row + r, values);
  }
}

template <class B, DType T>
void linear_panel(const LinearArgs& a, const LinearRows<B>& rows, int64_t first_row, int64_t panel) {
  const LinearLayout<B> layout{a.in};
  const std::byte* w = a.packed + panel * layout.panel_bytes();
  const int64_t channel = panel * kLinearWidth;
  const int64_t columns = a.out_channels - channel < kLinearWidth ? a.out_channels - channel : kLinearWidth;
  for (int64_t g = 0; g < rows.groups; ++g, w += LinearLayout<B>::kGroupBytes) {
    for (int64_t t = 0; t < rows.tiles; ++t) {
      const int64_t at = g * rows.rows() + t * kTileRows;
      const int64_t row = t * kTileRows;
      linear_tile<B, T>(a, {first_row + row, channel, columns, rows.sums + row * kLinearWidth, rows.refused + row},
                        rows.numbers + at * LinearRows<B>::kRowBytes, rows.scales + at, rows.zeros + at, w, g);
    }
  }
}

struct LinearCall {
  const LinearArgs* args;
  LinearPlan plan;
  std::atomic<int64_t> refused = 0;
  std::atomic<bool> no_memory = false;
};

inline int64_t report_refused(const LinearArgs& a, int64_t first_row, int64_t rows, const bool* refused) {
  int64_t count = 0;
  for (int64_t r = 0; r < rows && first_row + r < a.rows; ++r) {
    a.refused[first_row + r] = refused[r] ? 1 : 0;
    if (refused[r]) ++count;
  }
  return count;
}

template <class B, DType T>
void linear_task(void* data, int64_t index) {
  LinearCall& call = *static_cast<LinearCall*>(data);
  const LinearPlan& plan = call.plan;
  const int64_t block = index / plan.panel_blocks, run = index % plan.panel_blocks;
  const int64_t first_tile = block * plan.tiles_per_block;
  const int64_t left = plan.tiles - first_tile;
  if (left <= 0) return;
  LinearRows<B> rows(left < plan.tiles_per_block ? left : plan.tiles_per_block,
                     LinearLayout<B>{call.args->in}.groups());
  std::byte* memory = thread_scratch(rows.bytes());
  if (memory == nullptr) {
    call.no_memory = true;
    return;
  }
  rows.place(memory);
  const int64_t first_row = first_tile * kTileRows;
  quantise_rows<B, T>(*call.args, first_row, rows);
  if (run == 0) call.refused += report_refused(*call.args, first_row, rows.rows(), rows.refused);
  const int64_t end = plan.panels * (run + 1) / plan.panel_blocks;
  for (int64_t panel = plan.panels * run / plan.panel_blocks; panel < end; ++panel) {
    linear_panel<B, T>(*call.args, rows, first_row, panel);
  }
}

template <class B>
LinearRun run_linear(const LinearArgs& args, const ParallelFor& parallel) {
  LinearCall call{&args, plan_linear<B>(args, parallel.threads)};
  const int64_t tasks = call.plan.row_blocks * call.plan.panel_blocks;
  if (args.dtype == DType::F32) parallel(tasks, linear_task<B, DType::F32>, &call);
  if (args.dtype == DType::F16) parallel(tasks, linear_task<B, DType::F16>, &call);
  if (args.dtype == DType::BF16) parallel(tasks, linear_task<B, DType::BF16>, &call);
  return {call.no_memory ? Status::OutOfMemory : Status::Ok, kIsa, call.refused};
}
