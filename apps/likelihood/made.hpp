// Trees and alignments that are made: by chance, or a tree from an alignment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>

#include "apps/likelihood/alignment.hpp"
#include "apps/likelihood/model.hpp"
#include "apps/likelihood/tree.hpp"

namespace penstock::apps::likelihood {

/// Numbers of chance, the same on every system.
class Chance {
  public:
    explicit Chance(std::uint64_t seed) : engine_{seed} {}

    /// In (0, 1).
    double real() { return (static_cast<double>(engine_() >> 11) + 0.5) * 0x1p-53; }
    /// In 0 ... n - 1.
    std::size_t below(std::size_t n) { return static_cast<std::size_t>(real() * static_cast<double>(n)); }
    /// Of the exponential distribution with this mean.
    double exponential(double mean);
    /// Of the gamma distribution of this shape and scale 1.
    double gamma(double shape);
    double normal();

  private:
    std::mt19937_64 engine_;
};

/// Any shape is as likely as any other; lengths are exponential with this mean.
Tree random_tree(std::size_t taxa, double mean_length, Chance& chance);

/// An alignment of sites that evolved along the tree under the model, with names t1, t2 ...
Alignment evolve(const Tree& tree, const Model& model, std::size_t sites, Chance& chance);

/// Neighbour joining (Saitou and Nei, Mol. Biol. Evol. 4, 1987), by distances after Jukes and Cantor; lengths are at
/// least 10^-6. Takes taxa^3 steps.
Tree join_neighbours(const Alignment& alignment);

}  // namespace penstock::apps::likelihood
