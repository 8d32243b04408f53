#include "apps/likelihood/sampler.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "penstock/error.hpp"
#include "penstock/message.hpp"
#include "penstock/spmd.hpp"

namespace penstock::apps::likelihood {
namespace {

/// What ends a rank when somebody gave up.
struct GaveUp : std::exception {};

/// A sample as numbers, which travel between ranks.
std::vector<double> packed(const Sample& sample) {
    const Tree& tree = sample.tree;
    std::vector<double> numbers{static_cast<double>(sample.generation),
                                sample.log_likelihood,
                                sample.log_prior,
                                sample.model.alpha,
                                sample.model.kappa,
                                static_cast<double>(tree.top())};
    numbers.insert(numbers.end(), sample.model.shares.begin(), sample.model.shares.end());
    numbers.insert(numbers.end(), sample.model.rates.begin(), sample.model.rates.end());
    for (Node node = 1; node < tree.nodes(); ++node) numbers.push_back(tree.length(node));
    for (std::size_t inner = tree.taxa(); inner < tree.nodes(); ++inner)
        for (const Node child : tree.children(static_cast<Node>(inner))) numbers.push_back(child);
    return numbers;
}

Sample unpacked(const std::vector<double>& numbers, const Sample& like) {
    Sample sample = like;
    const double* next = numbers.data();
    sample.generation = static_cast<std::uint64_t>(*next++);
    sample.log_likelihood = *next++;
    sample.log_prior = *next++;
    sample.model.alpha = *next++;
    sample.model.kappa = *next++;
    sample.tree.set_top(static_cast<Node>(*next++));
    for (double& share : sample.model.shares) share = *next++;
    for (double& rate : sample.model.rates) rate = *next++;
    for (Node node = 1; node < sample.tree.nodes(); ++node) sample.tree.set_length(node, *next++);
    for (std::size_t inner = sample.tree.taxa(); inner < sample.tree.nodes(); ++inner)
        for (const std::size_t place : {0u, 1u})
            sample.tree.attach(static_cast<Node>(inner), place, static_cast<Node>(*next++));
    sample.tree.set_top(sample.tree.top());
    return sample;
}

/// What one rank does. All draw the same numbers for exchanges, so nobody has to be told who exchanges.
template <class Real>
class Member {
  public:
    Member(const Patterns& patterns, const Tree& tree, const Model& model, const Sampling& sampling, int rank)
        : sampling_{sampling}, rank_{rank}, exchanges_{sampling.seed ^ 0x9E37'79B9'7F4A'7C15u},
          like_{0, 0, 0, tree, model} {
        for (std::size_t i = 0; i < sampling.chains; ++i) {
            heats_.push_back(1 / (1 + static_cast<double>(i) * sampling.temperature));
            if (!is_mine(i)) continue;
            chains_.push_back(
                {i, i,
                 std::make_unique<Chain<Real>>(patterns, tree, model, sampling.mean_length, sampling.seed + 1 + i)});
        }
    }

    struct Post {
        Messenger* swaps = nullptr;  ///< none: this is the only rank
        Messenger* samples = nullptr;
    };

    void run(const Post& post, const std::function<void(const Sample&)>& take,
             const std::function<void(std::uint64_t)>& look) {
        send_sample(0, post, take);
        for (std::uint64_t generation = 1; generation <= sampling_.generations; ++generation) {
            for (Mine& mine : chains_) mine.chain->step(heats_[mine.heat]);
            if (sampling_.chains > 1 && generation % sampling_.swap_every == 0) exchange(post);
            if (generation % sampling_.every == 0) send_sample(generation, post, take);
            look(generation);
        }
    }
    void add_to(Tally& tally) const {
        for (const Mine& mine : chains_) {
            for (std::size_t i = 0; i < moves; ++i) {
                tally.proposed[i] += mine.chain->counts()[i].proposed;
                tally.taken[i] += mine.chain->counts()[i].taken;
            }
        }
        tally.swaps_taken += swaps_taken_;
        if (rank_ == 0) tally.swaps_proposed += swaps_;  // all count the same
    }

  private:
    struct Mine {
        std::size_t number, heat;
        std::unique_ptr<Chain<Real>> chain;
    };
    /// What the two chains of an exchange tell each other.
    struct Stand {
        double log_posterior;
        std::uint64_t heat;
    };

    bool is_mine(std::size_t chain) const { return owner(chain) == rank_; }
    int owner(std::size_t chain) const { return static_cast<int>(chain % static_cast<std::size_t>(sampling_.ranks)); }
    Mine* find(std::size_t number) {
        const auto found = std::ranges::find(chains_, number, &Mine::number);
        return found == chains_.end() ? nullptr : &*found;
    }

    void exchange(const Post& post) {
        const std::size_t first = exchanges_.below(sampling_.chains);
        const std::size_t second = (first + 1 + exchanges_.below(sampling_.chains - 1)) % sampling_.chains;
        const double threshold = std::log(exchanges_.real());
        ++swaps_;
        Mine *const a = find(first), *const b = find(second);
        if (a == nullptr && b == nullptr) return;
        const auto stand = [](const Mine& mine) { return Stand{mine.chain->log_posterior(), mine.heat}; };
        Stand of_a{}, of_b{};
        if (a != nullptr) of_a = stand(*a);
        if (b != nullptr) of_b = stand(*b);
        if (a == nullptr || b == nullptr) {
            const int other = owner(a == nullptr ? first : second);
            const Stand& mine = a == nullptr ? of_b : of_a;
            Stand& theirs = a == nullptr ? of_a : of_b;
            Request sent = post.swaps->isend(other, mine);
            post.swaps->recv(other, theirs);
            post.swaps->wait(sent);
        }
        const double gain = (heats_[of_a.heat] - heats_[of_b.heat]) * (of_b.log_posterior - of_a.log_posterior);
        if (!(threshold < gain)) return;
        if (a != nullptr) {
            a->heat = of_b.heat;
            ++swaps_taken_;  // by who has the first: once for all ranks
        }
        if (b != nullptr) b->heat = of_a.heat;
    }

    void send_sample(std::uint64_t generation, const Post& post, const std::function<void(const Sample&)>& take) {
        const auto cold = std::ranges::find(chains_, std::size_t{0}, &Mine::heat);
        if (cold != chains_.end()) {
            const Chain<Real>& chain = *cold->chain;
            Sample sample{generation, chain.log_likelihood(), chain.log_prior(), chain.tree(), chain.model()};
            if (rank_ == 0) take(sample);
            else post.samples->send(0, packed(sample));
        } else if (rank_ == 0) {
            // Others may be ahead, and their later samples come first.
            while (early_.empty() || early_.begin()->first != generation) {
                const auto numbers = post.samples->template recv_vector<double>(any_source);
                const Sample sample = unpacked(numbers, like_);
                early_.emplace(sample.generation, sample);
            }
            take(early_.begin()->second);
            early_.erase(early_.begin());
        }
    }

    const Sampling& sampling_;
    int rank_;
    Chance exchanges_;
    Sample like_;  ///< of the shape that samples have
    std::vector<double> heats_;
    std::vector<Mine> chains_;
    std::map<std::uint64_t, Sample> early_;
    std::uint64_t swaps_ = 0, swaps_taken_ = 0;
};

constexpr auto between_looks = std::chrono::milliseconds{50};

template <class Real>
Tally sample_alone(const Patterns& patterns, const Tree& tree, const Model& model, const Sampling& sampling,
                   const std::function<void(const Sample&)>& take, const std::function<void(double)>& watch) {
    Member<Real> member(patterns, tree, model, sampling, 0);
    auto last = std::chrono::steady_clock::now();
    member.run({}, take, [&](std::uint64_t generation) {
        constexpr std::uint64_t often = 16;
        if (!watch || generation % often != 0 || std::chrono::steady_clock::now() - last < between_looks) return;
        last = std::chrono::steady_clock::now();
        watch(static_cast<double>(generation) / static_cast<double>(sampling.generations));
    });
    Tally tally;
    member.add_to(tally);
    return tally;
}

template <class Real>
Tally sample_by_ranks(const Patterns& patterns, const Tree& tree, const Model& model, const Sampling& sampling,
                      const std::function<void(const Sample&)>& take, const std::function<void(double)>& watch) {
    std::atomic<bool> give_up{false}, over{false};
    std::atomic<std::uint64_t> reached{0};
    std::vector<Tally> tallies(static_cast<std::size_t>(sampling.ranks));
    std::exception_ptr failure;
    // The ranks, beside the caller, who watches.
    std::thread team([&] {
        try {
            spmd(sampling.ranks, [&](Rank me) {
                Messenger swaps(me, {.name = "swaps"}), samples(me, {.name = "samples"});
                Member<Real> member(patterns, tree, model, sampling, me.index());
                member.run({&swaps, &samples}, take, [&](std::uint64_t generation) {
                    if (give_up.load(std::memory_order_relaxed)) throw GaveUp{};
                    if (me.index() == 0) reached.store(generation, std::memory_order_relaxed);
                });
                member.add_to(tallies[static_cast<std::size_t>(me.index())]);
            });
        } catch (...) {
            failure = std::current_exception();
        }
        over.store(true, std::memory_order_release);
        over.notify_all();
    });
    std::exception_ptr reason;
    while (!over.load(std::memory_order_acquire)) {
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
        if (!watch || reason) continue;
        try {
            watch(static_cast<double>(reached.load(std::memory_order_relaxed)) /
                  static_cast<double>(sampling.generations));
        } catch (...) {
            reason = std::current_exception();
            give_up.store(true, std::memory_order_relaxed);
        }
    }
    team.join();
    if (reason) std::rethrow_exception(reason);
    if (failure) std::rethrow_exception(failure);
    Tally sum;
    for (const Tally& each : tallies) {
        for (std::size_t i = 0; i < moves; ++i) {
            sum.proposed[i] += each.proposed[i];
            sum.taken[i] += each.taken[i];
        }
        sum.swaps_proposed += each.swaps_proposed;
        sum.swaps_taken += each.swaps_taken;
    }
    return sum;
}

}  // namespace

Tally sample(const Patterns& patterns, const Tree& tree, const Model& model, const Sampling& sampling,
             const std::function<void(const Sample&)>& take, const std::function<void(double)>& watch) {
    if (sampling.chains < 1 || sampling.every < 1 || sampling.swap_every < 1)
        throw UsageError("likelihood: there must be a chain, and a generation from a sample or exchange to the next");
    if (sampling.ranks < 1 || static_cast<std::size_t>(sampling.ranks) > sampling.chains)
        throw UsageError("likelihood: " + std::to_string(sampling.ranks) + " ranks cannot share " +
                         std::to_string(sampling.chains) + " chains; ask for at most one rank a chain");
    if (sampling.ranks == 1)
        return sampling.single_precision ? sample_alone<float>(patterns, tree, model, sampling, take, watch)
                                         : sample_alone<double>(patterns, tree, model, sampling, take, watch);
    return sampling.single_precision ? sample_by_ranks<float>(patterns, tree, model, sampling, take, watch)
                                     : sample_by_ranks<double>(patterns, tree, model, sampling, take, watch);
}

}  // namespace penstock::apps::likelihood
