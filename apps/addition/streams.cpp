#include "apps/addition/streams.hpp"

#include <algorithm>
#include <vector>

#include "apps/graphs.hpp"
#include "kernels/add.hpp"
#include "penstock/graph.hpp"
#include "penstock/machine.hpp"

namespace penstock::apps::addition {
namespace {

struct ReadRows {
    Output<float> rows{"rows"};
    Source matrix;
    std::size_t at_once, passes, next = 0;

    ReadRows(Source of, std::size_t rows_a_buffer, std::size_t times) : matrix{of}, at_once{rows_a_buffer}, passes{times} {}
    bool operator()() {
        if (next == matrix.extent(0) && --passes > 0) next = 0;
        if (next == matrix.extent(0)) return false;
        auto buffer = rows.make(std::min(at_once, matrix.extent(0) - next), matrix.extent(1));
        read_rows(matrix, next, buffer.edit_image());
        next += buffer.extent(0);
        rows.write(std::move(buffer));
        return true;
    }
};

/// Reuses the buffer of its first operand for the sum.
struct Add {
    static constexpr bool may_be_copied = true;
    Input<float> a{"a"}, b{"b"};
    Output<float> sum{"sum"};

    void operator()() {
        auto first = a.read();
        const auto second = b.read();
        const auto to = first.edit_image();
        kernels::add(to, second.image(), to);
        sum.write(std::move(first));
    }
};

struct PlaceRows {
    Input<float> rows{"rows"};
    view<float, 2> sum;
    std::size_t at_once;

    PlaceRows(view<float, 2> to, std::size_t rows_a_buffer) : sum{to}, at_once{rows_a_buffer} {}
    void operator()() {
        const auto buffer = rows.read();
        place_rows(buffer.image(), buffer.tags().sequence % parts(sum.extent(0), at_once) * at_once, sum);
    }
};

}  // namespace

void read_rows(Source matrix, std::size_t first, view<float, 2> buffer) {
    for (std::size_t i = 0; i < buffer.extent(0); ++i) std::copy_n(matrix.row(first + i).data(), buffer.extent(1), buffer.row(i).data());
}

void place_rows(Source buffer, std::size_t first, view<float, 2> sum) {
    for (std::size_t i = 0; i < buffer.extent(0); ++i) std::copy_n(buffer.row(i).data(), buffer.extent(1), sum.row(first + i).data());
}

void streamed(Source a, Source b, view<float, 2> sum, std::size_t rows, int copies, Machine& machine, std::size_t passes) {
    Graph graph;
    auto& first = graph.add<ReadRows>("read a", {}, a, rows, passes);
    auto& second = graph.add<ReadRows>("read b", {}, b, rows, passes);
    auto& add = graph.add<Add>("add", {.copies = copies});
    auto& place = graph.add<PlaceRows>("place", {}, sum, rows);
    // In turn, so that the same copy gets the buffers of both matrices with the same rows.
    graph.connect(first.rows, add.a, {.policy = Policy::round_robin});
    graph.connect(second.rows, add.b, {.policy = Policy::round_robin});
    graph.connect(add.sum, place.rows);
    auto run = graph.start(machine);
    run.finish();
    note_graph(run);
}

void copied(Source a, Source b, view<float, 2> sum, std::size_t rows) {
    std::vector<float> first(rows * sum.extent(1)), second(first.size());
    for (std::size_t i = 0; i < sum.extent(0); i += rows) {
        const std::array<std::size_t, 2> shape{std::min(rows, sum.extent(0) - i), sum.extent(1)};
        const view<float, 2> to{first.data(), shape}, other{second.data(), shape};
        read_rows(a, i, to);
        read_rows(b, i, other);
        kernels::add(to, other, to);
        place_rows(to, i, sum);
    }
}

}  // namespace penstock::apps::addition
