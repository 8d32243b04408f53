#include "apps/addition/streams.hpp"

#include <algorithm>
#include <vector>

#include "apps/addition/filters.hpp"
#include "apps/graphs.hpp"
#include "penstock/components.hpp"
#include "penstock/graph.hpp"
#include "penstock/machine.hpp"
#include "penstock/run.hpp"

namespace penstock::apps::addition {
namespace {

Operands operands(Source a, Source b, view<float, 2> sum, std::size_t rows) {
    if (rows == 0)
        throw UsageError("the sum of two matrices in buffers of no rows would never end: ask for one or more");
    return {a, b, sum, rows};
}

constexpr const char* add_in_words = "The sum of two buffers, element by element.";

}  // namespace

void read_rows(Source matrix, std::size_t first, view<float, 2> buffer) {
    for (std::size_t i = 0; i < buffer.extent(0); ++i)
        std::copy_n(matrix.row(first + i).data(), buffer.extent(1), buffer.row(i).data());
}

void place_rows(Source buffer, std::size_t first, view<float, 2> sum) {
    for (std::size_t i = 0; i < buffer.extent(0); ++i)
        std::copy_n(buffer.row(i).data(), buffer.extent(1), sum.row(first + i).data());
}

void streamed(Source a, Source b, view<float, 2> sum, std::size_t rows, int copies, Machine& machine,
              std::size_t passes) {
    Graph graph;
    auto& first = graph.add<ReadRows>("read-a", {}, a);
    auto& second = graph.add<ReadRows>("read-b", {}, b);
    for (auto* const each : {&first, &second}) {
        each->at_once = static_cast<int>(rows);
        each->times.passes = static_cast<std::int64_t>(passes);
    }
    auto& add = graph.add<Add>("add", {.copies = copies});
    auto& place = graph.add<PlaceRows>("place", {}, sum);
    // In turn, so that the same copy gets the buffers of both matrices with the same rows.
    graph.connect(first.rows, add.a, {.policy = Policy::round_robin});
    graph.connect(second.rows, add.b, {.policy = Policy::round_robin});
    graph.connect(add.sum, place.rows);
    run_noted(graph, machine);
}

void streamed_by_copies(Source a, Source b, view<float, 2> sum, std::size_t rows, int copies, Machine& machine,
                        std::size_t passes) {
    const auto of = operands(a, b, sum, rows);
    Graph graph;
    auto& numbers = graph.add<Numbers>("numbers", {}, sum.extent(0), rows, passes);
    auto& read = graph.add<ReadBoth>("read", {.copies = copies}, of);
    auto& add = graph.add<AddHalves>("add", {.copies = copies});
    auto& place = graph.add<PlaceHalf>("place", {.copies = copies}, sum);
    graph.connect(numbers.first, read.first);
    graph.connect(read.rows, add.rows);
    graph.connect(add.sum, place.sum);
    run_noted(graph, machine);
}

void streamed_in_place(Source a, Source b, view<float, 2> sum, std::size_t rows, int copies, Machine& machine,
                       std::size_t passes) {
    Graph graph;
    auto& numbers = graph.add<Numbers>("numbers", {}, sum.extent(0), rows, passes);
    auto& add = graph.add<AddInPlace>("add", {.copies = copies}, operands(a, b, sum, rows));
    graph.connect(numbers.first, add.first);
    run_noted(graph, machine);
}

void copied(Source a, Source b, view<float, 2> sum, std::size_t rows) {
    // kept, as streams keep their buffers' memory: fresh pages cost more than the copying
    thread_local std::vector<float> first, second;
    first.resize(rows * sum.extent(1));
    second.resize(first.size());
    for (std::size_t i = 0; i < sum.extent(0); i += rows) {
        const std::array<std::size_t, 2> shape{std::min(rows, sum.extent(0) - i), sum.extent(1)};
        const view<float, 2> to{first.data(), shape}, other{second.data(), shape};
        read_rows(a, i, to);
        read_rows(b, i, other);
        kernels::add(to, other, to);
        place_rows(to, i, sum);
    }
}

void add_components(Components& components) {
    for (const auto* const each : {"addition:read-a", "addition:read-b"})
        components.add<ReadRows>(
            each, "Reads a matrix (a .npy file, or random numbers) in buffers of whole rows, `passes` times.");
    components.add<Add>("addition:add", add_in_words);
    components.add<PlaceRows>(
        "addition:place",
        "Puts buffers of rows together to a matrix, and writes it to a file (.npy), if one is named.");
}

void add_components(Components& components, Source a, Source b, view<float, 2> sum) {
    components.add<ReadRows>("addition:read-a", "The first matrix of the program.", a);
    components.add<ReadRows>("addition:read-b", "The second one.", b);
    components.add<Add>("addition:add", add_in_words);
    components.add<PlaceRows>("addition:place", "The program's result.", sum);
}

}  // namespace penstock::apps::addition
