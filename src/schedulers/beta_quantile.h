// Quantiles of the beta distribution, for the beta-spaced noise schedule.
#pragma once

namespace tessera::schedulers {

/// The x in [0, 1] where the beta(a, b) distribution function reaches p; a, b > 0, p in [0, 1].
/// Accuracy: about 1e-14 in x.
double beta_quantile(double p, double a, double b);

}  // namespace tessera::schedulers
