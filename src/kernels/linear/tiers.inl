// The tiers of one instruction set: what its linear_path() hands out. Included after body.inl.
int64_t packed(Tier tier, int64_t in, int64_t out) {
  return tier == Tier::High ? packed_bytes<LinearWords>(in, out) : packed_bytes<LinearBytes>(in, out);
}

bool pack(Tier tier, const LinearWeights& weights, std::byte* to, const ParallelFor& parallel) {
  if (tier == Tier::High) return pack_weights<LinearWords>(weights, to, parallel);
  return pack_weights<LinearBytes>(weights, to, parallel);
}

LinearRun run(const LinearArgs& args, const ParallelFor& parallel) {
  return args.tier == Tier::High ? run_linear<LinearWords>(args, parallel) : run_linear<LinearBytes>(args, parallel);
}
