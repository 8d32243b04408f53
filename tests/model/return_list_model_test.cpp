// The shipped ReturnList: readers that give blocks back while the owner closes the pool. Whoever is the last ends it,
// once.
#include "model.hpp"
#include "stream/buffers/return_list.hpp"

namespace {

using model::Search;

constexpr std::int64_t shipped_guard = std::int64_t{1} << 62;

struct Item {
    Item* next = nullptr;
    model::Plain<int> values;
};

/// Two readers have a block each, and a third lies at home. `bounded`: readers use the pool behind giving back, too.
/// `takes`: the owner uses blocks again before it closes.
template <bool bounded, bool takes, std::int64_t guard = shipped_guard, class Weakening = model::AsShipped>
struct ReturnModel : rl::test_suite<ReturnModel<bounded, takes, guard, Weakening>, 3> {
    penstock::streaming::ReturnList<Item, model::Atomics<Weakening>, guard> list;
    model::Plain<int> pool;  ///< what everybody reads who uses the pool, and the end writes
    Item items[2];
    int home = 0;
    bool at_home[2] = {};
    bool gone = false;  ///< not shared in the model's sense

    void before() {
        pool.write(1);
        for (Item& item : items) item.values.write(0);
    }
    void use() {
        model::require(!gone, "nobody uses the pool when it has gone");
        (void)pool.read();
    }
    void end() {
        use();
        gone = true;
        pool.write(0);
    }
    void thread(unsigned index) {
        if (index == 2) return own();
        Item& item = items[index];
        item.values.write(7);
        use();
        if (bounded) list.stay();
        const bool open = list.give_back(&item);
        if (!open) {
            use();
            if (list.leave()) return end();
        }
        if (!bounded) return;
        use();
        if (list.leave()) end();
    }
    void own() {
        if (takes) count(list.take_all());
        count(list.close());
        use();
        if (list.expect(2 - home)) end();
    }
    void count(Item* item) {
        for (; item != nullptr; item = item->next) {
            model::require(item->values.read() == 7, "the owner sees what the reader did with the block");
            model::require(!std::exchange(at_home[item - items], true), "a block comes back once");
            ++home;
        }
    }
    void after() { model::require(gone, "the pool ends"); }
};

TEST(ReturnListModel, the_last_ends_the_pool_once_and_nobody_uses_it_later) {
    model::expect_holds<ReturnModel<false, false>>(Search::few_switches, 3);
    model::expect_holds<ReturnModel<true, false>>(Search::few_switches, 2);
    model::expect_holds<ReturnModel<false, true>>(Search::few_switches, 2);
    model::expect_holds<ReturnModel<true, true>>(Search::random_schedules, 40'000);
}
TEST(ReturnListModel, a_count_without_its_guard_is_found) {
    model::expect_finds<ReturnModel<false, false, 1>>(rl::test_result_data_race);  // use after the end
    model::expect_finds<ReturnModel<true, false, 1>>(rl::test_result_data_race);
}

template <model::Name function>
using Weakened = ReturnModel<true, false, shipped_guard, model::Relaxing<function>>;

TEST(ReturnListModel, giving_back_without_release_is_found) {
    model::expect_finds<Weakened<"::push(">>(rl::test_result_data_race);
}
TEST(ReturnListModel, closing_without_acquire_is_found) {
    model::expect_finds<Weakened<"::take_all(">>(rl::test_result_data_race);
}
TEST(ReturnListModel, leaving_without_order_is_found) {
    model::expect_finds<Weakened<"::leave(">>(rl::test_result_data_race);
}
TEST(ReturnListModel, expecting_without_acquire_is_found) {
    model::expect_finds<Weakened<"::expect(">>(rl::test_result_data_race);
}

}  // namespace
