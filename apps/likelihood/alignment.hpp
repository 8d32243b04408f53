// Aligned DNA sequences, as PHYLIP and FASTA files hold them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "apps/likelihood/malformed.hpp"

namespace penstock::apps::likelihood {

/// What a character of an alignment may stand for: a set of bases as bits, A 1, C 2, G 4, T 8. A gap and N are all
/// four.
using Bases = std::uint8_t;
inline constexpr Bases any_base = 15;

/// The set that this character stands for, in either case (IUPAC's letters; U is T; ? and - any); 0 for none.
Bases bases_of(char character) noexcept;

/// A letter for a set.
char letter_of(Bases bases) noexcept;

struct Alignment {
    std::vector<std::string> names;
    std::vector<std::vector<Bases>> sequences;  ///< all of one length

    std::size_t taxa() const noexcept { return names.size(); }
    std::size_t sites() const noexcept { return sequences.empty() ? 0 : sequences.front().size(); }
};

/// PHYLIP: a line with the numbers of sequences and sites, then the sequences, each as a whole or interleaved, with
/// names that white space ends, or names of exactly ten characters. `file` is its name in messages. Throws
/// MalformedFile: counts that do not hold, letters that are no bases, names that occur twice, fewer than 3 sequences.
Alignment parse_phylip(std::string_view text, const std::string& file);

/// FASTA: a line of '>' and a name, which white space ends, before each sequence. Throws as parse_phylip().
Alignment parse_fasta(std::string_view text, const std::string& file);

/// Either, by its first character. Throws as they do, and SystemError when the file cannot be read.
Alignment read_alignment(const std::string& path);

/// As PHYLIP, one line a sequence.
std::string to_phylip(const Alignment& alignment);

}  // namespace penstock::apps::likelihood
