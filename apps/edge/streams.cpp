#include "apps/edge/streams.hpp"

#include <algorithm>
#include <utility>

#include "apps/graphs.hpp"
#include "apps/measure.hpp"
#include "kernels/maximum.hpp"
#include "penstock/machine.hpp"

namespace penstock::apps::edge {
namespace {

std::size_t angle_of(const penstock::Buffer<float>& buffer) { return static_cast<std::size_t>(buffer.tags().user[angle_tag]); }

view<float, 2> scratch(std::vector<float>& memory, const view<const float, 2>& like) {
    memory.resize(like.size());
    return {memory.data(), like.extents()};
}

FilterOptions options_of(const Placement& placement) { return {.copies = placement.copies, .targets = placement.targets}; }

}  // namespace

bool Pictures::operator()() {
    if (next_ == pictures_.extent(0) * angles_) return false;
    const std::size_t number = next_ / angles_, angle = next_ % angles_;
    ++next_;
    const auto from = picture_of(pictures_, number);
    auto buffer = picture.make(from.extent(0), from.extent(1));
    const auto to = buffer.edit_image();
    for (std::size_t i = 0; i < from.extent(0); ++i) std::ranges::copy(from.row(i), to.row(i).begin());
    buffer.edit_tags().user = {number, angle};
    picture.write(std::move(buffer));
    return true;
}

void Filter::operator()() {
    const auto read = picture.read();
    const auto image = read.image();
    auto strongest = response.make(image.extent(0), image.extent(1));
    detect_(image, angle_of(read), strongest.edit_image());
    response.write(std::move(strongest));
}

void TurnThere::operator()() {
    const auto read = picture.read();
    const auto image = read.image();
    const Turn turn{{angle_of(read), angles_}, image.extent(0), image.extent(1)};
    auto turned = canvas.make(turn.rows, turn.columns);
    kernels::affine<float>(image, turned.edit_image(), turn.there, kernels::Interpolation::bilinear, border);
    canvas.write(std::move(turned));
}

void Respond::operator()() {
    const auto read = canvas.read();
    const auto image = read.image();
    auto strongest = response.make(image.extent(0), image.extent(1));
    separable_(image, scratch(smooth_, image), scratch(memory_, image), strongest.edit_image());
    response.write(std::move(strongest));
}

void TurnBack::operator()() {
    const auto read = canvas.read();
    const Turn turn{{angle_of(read), angles_}, rows_, columns_};
    auto turned = response.make(rows_, columns_);
    kernels::affine<float>(read.image(), turned.edit_image(), turn.back, kernels::Interpolation::bilinear, border);
    response.write(std::move(turned));
}

void Strongest::operator()() {
    auto read = response.read();
    Best& best = best_[static_cast<std::size_t>(read.tags().user[picture_tag])];
    if (best.angles++ == 0) {
        best.edges = std::move(read);
    } else {
        const auto greatest = best.edges.edit_image();
        kernels::maximum<float>(read.image(), greatest, greatest);
    }
    if (best.angles == angles_) edges.write(std::move(best.edges));
}

ByTurnedKernels::ByTurnedKernels(Filter& filter) : picture{filter.picture}, response{filter.response} {}
ByTurnedKernels::ByTurnedKernels(GraphBuilder& graph, std::size_t angles, const Placement& placement)
    : ByTurnedKernels(graph.add<Filter>("filter", options_of(placement), angles)) {}

ByTurnedPictures::ByTurnedPictures(GraphBuilder& graph, TurnThere& there, Respond& respond, TurnBack& back)
    : picture{there.picture}, response{back.response} {
    graph.connect(there.canvas, respond.canvas);
    graph.connect(respond.response, back.canvas);
}
ByTurnedPictures::ByTurnedPictures(GraphBuilder& graph, std::size_t rows, std::size_t columns, std::size_t angles,
                                   const Placement& placement)
    : ByTurnedPictures{graph, graph.add<TurnThere>("turn there", options_of(placement), angles),
                       graph.add<Respond>("respond", options_of(placement)),
                       graph.add<TurnBack>("turn back", options_of(placement), rows, columns, angles)} {}

double streams(Algorithm algorithm, view<const float, 3> pictures, view<float, 3> result, std::size_t angles, Machine& machine,
               const Placement& placement) {
    const std::size_t count = pictures.extent(0), rows = pictures.extent(1), columns = pictures.extent(2);
    Graph graph;
    auto& source = graph.add<Pictures>("pictures", {}, pictures, angles);
    auto& strongest = graph.add<Strongest>("strongest", {}, count, angles);
    auto& reader = graph.add_reader<float>("edges");
    const auto join = [&](auto& group) {
        graph.connect(source.picture, group.picture, {.capacity = 2});
        graph.connect(group.response, strongest.response);
    };
    if (algorithm == Algorithm::dense) join(graph.add_group<ByTurnedKernels>("by turned kernels", angles, placement));
    else join(graph.add_group<ByTurnedPictures>("by turned pictures", rows, columns, angles, placement));
    graph.connect(strongest.edges, reader.input);
    return seconds_of([&] {
        auto run = graph.start(machine);
        while (const auto edges = reader.read()) {
            const auto to = picture_of(result, static_cast<std::size_t>(edges->tags().user[picture_tag]));
            for (std::size_t i = 0; i < rows; ++i) std::ranges::copy(edges->image().row(i), to.row(i).begin());
        }
        run.finish();
        note_graph(run);
    });
}

}  // namespace penstock::apps::edge
