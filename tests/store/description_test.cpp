// What an owner says of its memory reaches those who accept it; a wait can be ended from outside.
#include <chrono>
#include <stdexcept>
#include <string>

#include "penstock/barrier.hpp"
#include "penstock/flag.hpp"
#include "penstock/rank.hpp"
#include "tests/store/support.hpp"

namespace {

using namespace store_tests;
using penstock::Awaited;
using penstock::Barrier;
using penstock::Flag;
using penstock::InvalidGrant;
using penstock::UsageError;

constexpr std::uint64_t family = std::uint64_t{0x4e474552} << 32;
constexpr std::uint64_t family_only = ~std::uint64_t{0} << 32;

template <class Error, class Action>
bool throws(Action&& action) {
    try {
        action();
        return false;
    } catch (const Error&) {
        return true;
    }
}

class DescriptionTest : public TeamTest {};

TEST_P(DescriptionTest, kind_and_description_are_shown_to_whoever_accepts) {
    run(2, [](Rank me) {
        const std::string longest(1000, 'x');
        if (me.index() == 0) {
            auto plain = me.make("plain", 8, family | 4);
            auto described = me.make("described", 8, family | 8, "float64, 2 x 3");
            auto full = me.make("full", 4096, family | 1, longest);
            for (auto* memory : {&plain, &described, &full}) me.grant(*memory, 1);
            require(described.description() == "float64, 2 x 3" && described.kind() == (family | 8),
                    "the owner sees it too");
            Barrier(me, "read").arrive_and_wait();
        } else {
            require(me.accept(0, "plain", family | 4).description().empty(), "nothing was said of it");
            const auto described = me.accept(0, "described", family, {}, family_only);
            require(described.description() == "float64, 2 x 3" && described.kind() == (family | 8),
                    "as the owner said");
            require(me.accept(0, "full", family, {}, family_only).description() == longest, "1,000 bytes have room");
            Barrier(me, "read").arrive_and_wait();
        }
    });
}

TEST_P(DescriptionTest, bits_outside_of_the_mask_are_not_compared_and_those_inside_are) {
    run(2, [](Rank me) {
        if (me.index() == 0) {
            auto memory = me.make("memory", 8, 0x100000004);
            me.grant(memory, 1);
            Barrier(me, "read").arrive_and_wait();
        } else {
            require(throws<InvalidGrant>([&] { me.accept(0, "memory", family, {}, family_only); }), "another family");
            Barrier(me, "read").arrive_and_wait();
        }
    });
}

TEST_P(DescriptionTest, a_description_that_is_too_long_is_refused) {
    run(1, [](Rank me) {
        require(throws<UsageError>([&] { me.make("memory", 8, 0, std::string(1001, 'x')); }),
                "1,001 bytes have no room");
    });
}

/// Ends the wait that it is asked in for the third time.
class Third final : public penstock::team::Interruption {
  public:
    void look() override {
        if (++asked == 3) throw std::out_of_range("enough");
    }
    int asked = 0;
};

TEST_P(DescriptionTest, a_wait_is_ended_by_what_its_interruption_throws) {
    run(2, [](Rank me) {
        Flag never(me, "never");
        if (me.index() == 0) {
            Third third;
            me.set_interruption(&third);
            require(throws<std::out_of_range>([&] { never.wait(Awaited::rank(1)); }), "it came out of the wait");
            require(!never.wait_for(1ms, Awaited::rank(1)) && third.asked > 3, "a wait after that goes on as ever");
            me.set_interruption(nullptr);
        }
        Barrier(me, "done").arrive_and_wait();
    });
}

INSTANTIATE_FOR_BOTH_SUBSTRATES(DescriptionTest);

}  // namespace
