#include "schedulers/unipc_coefficients.h"

#include <cmath>
#include <utility>

namespace tessera::schedulers {
namespace {

/// Half the log of the signal-to-noise ratio: UniPC's time.
double lambda_of(double sigma) {
  return std::log(1 - sigma) - std::log(sigma);
}

/// What predictor and corrector share.
struct Terms {
  double phi_1 = 0;           ///< e^hh - 1
  double b_h = 0;             ///< B(h)
  std::vector<double> ratio;  ///< (lambda_past - lambda_from) / h, then 1 for the level that the step arrives at
  std::vector<double> right;  ///< right-hand side of the order conditions
};

Terms terms_of(const UniPcLevels& levels) {
  const double from = lambda_of(levels.from);
  const double h = lambda_of(levels.to) - from;
  const double hh = -h;
  Terms t{.phi_1 = std::expm1(hh)};
  t.b_h = levels.solver == UniPcSolver::Bh1 ? hh : t.phi_1;
  for (const double sigma : levels.past) t.ratio.push_back((lambda_of(sigma) - from) / h);
  t.ratio.push_back(1);
  double phi_k = t.phi_1 / hh - 1;
  double factorial = 1;
  for (size_t i = 1; i <= t.ratio.size(); ++i) {
    t.right.push_back(phi_k * factorial / t.b_h);
    factorial *= static_cast<double>(i + 1);
    phi_k = phi_k / hh - 1 / factorial;
  }
  return t;
}

/// Solves the n x n system sum_k ratio[k]^i x[k] = right[i] by Gaussian elimination with pivoting; n is at most 3.
std::vector<double> solve_order_conditions(const Terms& t, size_t n) {
  std::vector<std::vector<double>> a(n, std::vector<double>(n + 1));
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < n; ++k) a[i][k] = std::pow(t.ratio[k], static_cast<double>(i));
    a[i][n] = t.right[i];
  }
  for (size_t c = 0; c < n; ++c) {
    size_t pivot = c;
    for (size_t r = c + 1; r < n; ++r) {
      if (std::abs(a[r][c]) > std::abs(a[pivot][c])) pivot = r;
    }
    std::swap(a[c], a[pivot]);
    for (size_t r = 0; r < n; ++r) {
      if (r == c) continue;
      const double factor = a[r][c] / a[c][c];
      for (size_t k = c; k <= n; ++k) a[r][k] -= factor * a[c][k];
    }
  }
  std::vector<double> x(n);
  for (size_t i = 0; i < n; ++i) x[i] = a[i][n] / a[i][i];
  return x;
}

/// Turns the weights of the differences (m[k] - m0) / ratio[k] and (m_now - m0) into weights of the predictions.
UniPcCoefficients combine(const UniPcLevels& levels, const Terms& t, const std::vector<double>& rho, double rho_now) {
  const double alpha = 1 - levels.to;
  UniPcCoefficients c{.sample = levels.to / levels.from, .base = -alpha * t.phi_1};
  for (size_t k = 0; k < levels.past.size(); ++k) {
    c.past.push_back(-alpha * t.b_h * rho[k] / t.ratio[k]);
    c.base -= c.past.back();
  }
  c.current = -alpha * t.b_h * rho_now;
  c.base -= c.current;
  return c;
}

}  // namespace

UniPcCoefficients unipc_predictor(const UniPcLevels& levels) {
  const Terms t = terms_of(levels);
  // Of order 2 the reference takes the limit 1/2 instead of solving its one equation.
  const bool second = levels.past.size() == 1;
  return combine(levels, t, second ? std::vector<double>{0.5} : solve_order_conditions(t, levels.past.size()), 0);
}

UniPcCoefficients unipc_corrector(const UniPcLevels& levels) {
  const Terms t = terms_of(levels);
  if (levels.past.empty()) return combine(levels, t, {}, 0.5);
  const std::vector<double> rho = solve_order_conditions(t, t.ratio.size());
  return combine(levels, t, rho, rho.back());
}

}  // namespace tessera::schedulers
