// What the application is asked for: its settings, as texts, made into values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "apps/gallery.hpp"
#include "apps/likelihood/alignment.hpp"
#include "apps/likelihood/model.hpp"
#include "apps/likelihood/sampler.hpp"
#include "apps/likelihood/tree.hpp"

namespace penstock::apps::likelihood {

/// A value that a setting has by itself, and what it means.
struct Setting {
    std::string name, value, meaning;
};

/// All of them.
const std::vector<Setting>& all_settings();

/// The texts of a run, those that were not given at their own values.
class Given {
  public:
    explicit Given(const Settings& settings);

    const std::string& text(const std::string& name) const { return texts_.at(name); }
    /// Throw SettingError for what is no number, or not in the range.
    double number(const std::string& name, double least, double most) const;
    std::uint64_t whole(const std::string& name, std::uint64_t least, std::uint64_t most) const;
    /// So many numbers with commas between them.
    std::vector<double> numbers(const std::string& name, std::size_t count, double least, double most) const;
    /// One of these words.
    std::size_t word(const std::string& name, const std::vector<std::string>& words) const;

    [[noreturn]] static void refuse(const std::string& name, const std::string& advice);

  private:
    std::map<std::string, std::string> texts_;
};

/// The model that is asked for; shares of bases from the alignment unless they are given.
Model model_of(const Given& given, const Alignment& alignment);

/// The alignment of the file, that of the input, or a made one of so many taxa and sites (0: 42 and 1,000).
Alignment alignment_of(const Given& given, const Settings& settings);

/// What the sampler is asked for, on a machine of so many workers.
Sampling sampling_of(const Given& given, const Settings& settings, std::size_t workers);

/// The tree of the file, or by neighbour joining.
Tree tree_of(const Given& given, const Alignment& alignment);

}  // namespace penstock::apps::likelihood
