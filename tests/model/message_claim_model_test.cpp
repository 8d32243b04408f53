// The shipped claims on memory of the other rank's user, in a model of the C++ memory order.
#include "message/claim.hpp"
#include "model.hpp"

namespace {

using model::Search;

using Cell = model::Plain<int>;

/// A sender offers a message and takes the offer back at any moment; its memory is its own again then.
template <class Weakening = model::AsShipped>
struct FetchModel : rl::test_suite<FetchModel<Weakening>, 2> {
    penstock::FetchClaim<model::Atomics<Weakening>> claim;
    model::Atomic<std::uint64_t, model::AsShipped> offered{0}, completed{0};
    Cell memory;

    void thread(unsigned index) {
        if (index == 0) {
            memory.write(1);
            offered.store(1, std::memory_order_release);
            const auto begun = claim.take_back();
            while (completed.load(std::memory_order_acquire) < begun) model::idle();
            memory.write(2);
        } else {
            if (offered.load(std::memory_order_acquire) != 1 || !claim.begin(0, 1)) return;
            model::require(memory.read() == 1, "what is fetched is what was offered");
            completed.store(1, std::memory_order_release);
        }
    }
};

/// A receiver offers a place and takes it back at any moment; its memory is its own again then.
template <class Weakening = model::AsShipped>
struct PlaceModel : rl::test_suite<PlaceModel<Weakening>, 2> {
    penstock::PlaceClaim<model::Atomics<Weakening>, model::Plain<std::uint64_t>> claim;
    model::Atomic<std::uint64_t, model::AsShipped> pushed{0};
    Cell memory;

    void thread(unsigned index) {
        if (index == 0) {
            memory.write(1);
            claim.address.write(7);
            claim.bytes.write(8);
            claim.offer(1);
            if (claim.take_back(1)) {
                while (pushed.load(std::memory_order_acquire) != 1) model::idle();
                model::require(memory.read() == 2, "a store that had begun is waited for");
            }
            memory.write(3);
        } else {
            if (!claim.offered(1)) return;
            model::require(claim.address.read() == 7 && claim.bytes.read() == 8, "the place is the one that was meant");
            if (!claim.begin(1)) return;
            memory.write(2);
            pushed.store(1, std::memory_order_release);
        }
    }
};

/// Receiver and sender copy a half each of two messages that were sent together, one after the other; the receiver
/// copies both halves where the sender has not begun in time. A sender that has begun goes as soon as the place was
/// taken back.
template <class Weakening = model::AsShipped, bool reads_first = false>
struct HalvesModel : rl::test_suite<HalvesModel<Weakening, reads_first>, 2> {
    static constexpr std::uint64_t messages = 2;
    penstock::FetchClaim<model::Atomics<Weakening>> fetch;
    penstock::PlaceClaim<model::Atomics<Weakening>, model::Plain<std::uint64_t>> claim;
    model::Atomic<std::uint64_t, model::AsShipped> offered{0}, pushed{0}, completed{0};
    Cell from[messages][2], into[2];

    void send(std::uint64_t n) {
        bool begun = false;
        if (claim.offered(n)) {
            if (reads_first) claim.address.read();
            begun = claim.begin(n);
        }
        if (begun) {
            model::require(claim.address.read() == n, "the place is the one that was meant");
            into[0].write(from[n - 1][0].read());
            pushed.store(n, std::memory_order_release);
        }
        while (completed.load(std::memory_order_acquire) < n)
            if (n == messages && begun && claim.is_taken_back()) break;
            else model::idle();
        for (Cell& half : from[n - 1]) half.write(-1);
    }
    void receive(std::uint64_t n) {
        while (offered.load(std::memory_order_acquire) < n) model::idle();
        model::require(fetch.begin(n - 1, n), "nobody takes the offer back");
        claim.address.write(n);
        claim.offer(n);
        into[1].write(from[n - 1][1].read());
        if (pushed.load(std::memory_order_acquire) < n) {
            if (claim.take_back(n))
                while (pushed.load(std::memory_order_acquire) < n) model::idle();
            else into[0].write(from[n - 1][0].read());
        }
        for (Cell& half : into)
            model::require(half.read() == static_cast<int>(n), "both halves are there, each copied once");
        completed.store(n, std::memory_order_release);
    }
    void thread(unsigned index) {
        if (index == 0) {
            for (std::uint64_t n = 1; n <= messages; ++n)
                for (Cell& half : from[n - 1]) half.write(static_cast<int>(n));
            offered.store(messages, std::memory_order_release);
        }
        for (std::uint64_t n = 1; n <= messages; ++n) index == 0 ? send(n) : receive(n);
    }
};

/// The other side's read-modify-write, as somebody might write it who thinks that a look is enough.
template <class Claim>
struct CarelessClaim : Claim {
    bool begin(std::uint64_t before, std::uint64_t number) {
        if (this->fetching.load(std::memory_order_acquire) != before) return false;
        this->fetching.store(number, std::memory_order_release);
        return true;
    }
};
struct CarelessFetch : rl::test_suite<CarelessFetch, 2> {
    CarelessClaim<penstock::FetchClaim<model::Atomics<>>> claim;
    model::Atomic<std::uint64_t, model::AsShipped> offered{0};
    Cell memory;

    void thread(unsigned index) {
        if (index == 0) {
            memory.write(1);
            offered.store(1, std::memory_order_release);
            if (claim.take_back() == 0) memory.write(2);
        } else if (offered.load(std::memory_order_acquire) == 1 && claim.begin(0, 1)) {
            model::require(memory.read() == 1, "what is fetched is what was offered");
        }
    }
};

TEST(ClaimModel, memory_is_not_fetched_once_it_was_taken_back) {
    model::expect_holds<FetchModel<>>(Search::every_schedule);
}
TEST(ClaimModel, a_place_is_not_stored_to_once_it_was_taken_back) {
    model::expect_holds<PlaceModel<>>(Search::every_schedule);
}
TEST(ClaimModel, halves_are_copied_once_each_by_whoever_comes_first) {
    model::expect_holds<HalvesModel<>>(Search::few_switches, 4);
}
TEST(ClaimModel, a_place_that_is_read_before_it_is_claimed_is_found) {
    model::expect_finds<HalvesModel<model::AsShipped, true>>(rl::test_result_data_race);
}

TEST(ClaimModel, a_claim_by_looking_and_storing_is_found) {
    model::expect_finds<CarelessFetch>(rl::test_result_data_race);
}
TEST(ClaimModel, offering_a_place_without_release_is_found) {
    model::expect_finds<PlaceModel<model::Relaxing<"::offer(">>>(rl::test_result_data_race);
}
TEST(ClaimModel, looking_for_a_place_without_acquire_is_found) {
    model::expect_finds<PlaceModel<model::Relaxing<"::offered(">>>(rl::test_result_data_race);
}

}  // namespace
