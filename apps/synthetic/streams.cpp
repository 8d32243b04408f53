// The jobs as filters, one behind the other: what lies between two jobs of a block is a buffer that goes from one to
// the next.
#include <algorithm>
#include <string>
#include <vector>

#include "apps/graphs.hpp"
#include "apps/random.hpp"
#include "apps/settings.hpp"
#include "apps/synthetic/synthetic.hpp"
#include "penstock/components.hpp"
#include "penstock/edit.hpp"
#include "penstock/graph.hpp"
#include "penstock/machine.hpp"
#include "penstock/run.hpp"

namespace penstock::apps::synthetic {
namespace {

/// Of how many words blocks are, and from which numbers blocks and table are made, where no program gives them. As in
/// the gallery, a fifth of what a job reads is the table, and the table's numbers come first.
struct BlockSettings {
    Setting<int> words{"words", 16'384, {.unit = "words", .least = 1, .most = 1 << 26}};
    Setting<std::int64_t> seed{"seed", 1, {.least = 0, .most = 4294967295.0}};
    std::vector<std::uint32_t> table(Random& random) const {
        std::vector<std::uint32_t> made(std::max<std::size_t>(1, static_cast<std::size_t>(words.get()) / 5));
        std::ranges::generate(made, [&] { return static_cast<std::uint32_t>(random.integer()); });
        return made;
    }
};

/// Blocks, one a firing; the tag `user[0]` is the number of the block.
struct Blocks {
    Output<std::uint32_t> block{"block"};
    BlockSettings made;
    PassSetting times;
    Setting<std::string> file{"file", ""};
    Setting<int> count{"count", 256, {.unit = "blocks", .least = 1, .most = 1 << 24}};
    Blocks() = default;
    Blocks(ConstWords blocks, std::size_t words) : blocks_{blocks}, words_{words} {}
    void start() {
        if (words_ != 0) return;
        words_ = static_cast<std::size_t>(made.words.get());
        if (file.get().empty()) {
            Random random{static_cast<std::uint32_t>(made.seed.get())};
            (void)made.table(random);
            own_.resize(static_cast<std::size_t>(count.get()) * words_);
            std::ranges::generate(own_, [&] { return static_cast<std::uint32_t>(random.integer()); });
        } else {
            auto array = read_array<std::uint32_t>(file);
            if (array.shape.size() != 2 || array.shape[1] != words_)
                throw UsageError("the file '" + file.get() + "' holds no blocks of " + std::to_string(words_) +
                                 " words");
            own_ = std::move(array.values);
        }
        blocks_ = own_;
    }
    bool operator()() {
        const std::size_t all = blocks_.size() / words_;
        if (next_ == times.count() * all) return false;
        const std::size_t number = next_++ % all;
        auto buffer = block.make(words_);
        std::copy_n(blocks_.subspan(number * words_, words_).data(), words_, buffer.edit().data());
        buffer.edit_tags().user[0] = number;
        block.write(std::move(buffer));
        return true;
    }

  private:
    ConstWords blocks_{};
    std::size_t words_ = 0, next_ = 0;
    std::vector<std::uint32_t> own_;
};

struct JobFilter {
    static constexpr bool may_be_copied = true;
    Input<std::uint32_t> in{"in"};
    Output<std::uint32_t> out{"out"};
    BlockSettings made;
    Setting<int> cycles{"cycles", 1, {.unit = "cycles a byte", .least = 1, .most = 1 << 20}};
    JobFilter() = default;
    explicit JobFilter(ConstWords table) : table_{table} {}
    void start() {
        if (!table_.empty()) return;
        Random random{static_cast<std::uint32_t>(made.seed.get())};
        own_ = made.table(random);
        table_ = own_;
    }
    void operator()() {
        const auto words = in.read();
        if (words.size() < table_.size()) throw UsageError("a block has fewer words than the table");
        auto done = out.make(words.size());
        job(table_, words.span().subspan(table_.size()), done.edit(), static_cast<std::uint32_t>(cycles.get()));
        out.write(std::move(done));
    }

  private:
    ConstWords table_{};
    std::vector<std::uint32_t> own_;
};

/// Puts blocks where they belong. At the end: how many.
struct Collect {
    Input<std::uint32_t> block{"block"};
    Output<double> collected{"collected"};
    Setting<std::string> file{"file", ""};
    Collect() = default;
    explicit Collect(Words results) : results_{results} {}
    void operator()() {
        const auto read = block.read();
        const std::size_t first = static_cast<std::size_t>(read.tags().user[0]) * read.size();
        words_ = read.size();
        ++count_;
        if (results_.empty()) own_.resize(std::max(own_.size(), first + words_));
        std::copy_n(read.span().data(), read.size(), (results_.empty() ? Words(own_) : results_).data() + first);
    }
    void finish() {
        if (!file.get().empty() && words_ != 0 && results_.empty()) {
            const std::size_t shape[] = {own_.size() / words_, words_};
            write_array<std::uint32_t>(file, shape, own_);
        }
        auto found = collected.make(1);
        found.edit()[0] = static_cast<double>(count_);
        collected.write(std::move(found));
    }

  private:
    Words results_{};
    std::vector<std::uint32_t> own_;
    std::size_t words_ = 0, count_ = 0;
};

constexpr const char* job_in_words =
    "A job of so many cycles for each byte of the table and of the block behind it; writes a block.";

}  // namespace

void streamed(const Work& work, ConstWords blocks, Words results, Machine& machine, int copies, std::size_t passes) {
    Graph graph;
    auto& source = graph.add<Blocks>("blocks", {}, blocks, work.words);
    source.times.passes = static_cast<std::int64_t>(passes);
    auto* from = &source.block;
    for (std::size_t j = 0; j < work.jobs; ++j) {
        auto& each = graph.add<JobFilter>("job-" + std::to_string(j), {.copies = copies}, work.table);
        each.cycles = static_cast<int>(work.cycles);
        graph.connect(*from, each.in);
        from = &each.out;
    }
    auto& collect = graph.add<Collect>("collect", {}, results);
    graph.connect(*from, collect.block);
    run_noted(graph, machine);
}

void add_components(Components& components) {
    components.add<Blocks>("synthetic:blocks", "Blocks of words (of a .npy file, or random ones), `passes` times.");
    components.add<JobFilter>("synthetic:job", job_in_words);
    components.add<Collect>("synthetic:collect", "Keeps blocks, and writes them to a file (.npy), if one is named.");
}

void add_components(Components& components, const Work& work, ConstWords blocks, Words results) {
    components.add<Blocks>("synthetic:blocks", "The program's blocks.", blocks, work.words);
    components.add<JobFilter>("synthetic:job", job_in_words, work.table);
    components.add<Collect>("synthetic:collect", "The program's result.", results);
}

}  // namespace penstock::apps::synthetic
