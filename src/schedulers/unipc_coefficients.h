// The numbers of UniPC's predictor and corrector: pure functions of the noise levels, in float64.
#pragma once

#include <span>
#include <vector>

namespace tessera::schedulers {

/// bh1: B(h) = h, bh2: B(h) = e^h - 1. Source: Zhao et al. 2023, arXiv 2302.04867, section 3.
enum class UniPcSolver { Bh1, Bh2 };

/// next = sample * x + base * m0 + sum(past[k] * m[k]) + current * m_now, where m are predictions of the clean sample:
/// m0 at the level that the step starts from, m[0], m[1], … at the levels before it, m_now at the level it arrives at.
struct UniPcCoefficients {
  double sample = 0;
  double base = 0;
  std::vector<double> past;
  double current = 0;  ///< corrector only
};

/// The levels of one step along the flow (alpha = 1 - sigma).
struct UniPcLevels {
  double from = 0;               ///< sigma of the start
  double to = 0;                 ///< sigma of the end; 0 at the last step
  std::span<const double> past;  ///< sigmas before the start, latest first; its size + 1 is the order
  UniPcSolver solver = UniPcSolver::Bh2;
};

/// Step to a level whose prediction is not known yet.
UniPcCoefficients unipc_predictor(const UniPcLevels& levels);

/// The same step once more, with the prediction at its end.
UniPcCoefficients unipc_corrector(const UniPcLevels& levels);

}  // namespace tessera::schedulers
