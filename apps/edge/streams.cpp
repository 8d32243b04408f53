#include "apps/edge/streams.hpp"

#include <algorithm>
#include <utility>

#include "apps/graphs.hpp"
#include "apps/measure.hpp"
#include "apps/random.hpp"
#include "components/picture.hpp"
#include "kernels/maximum.hpp"
#include "penstock/components.hpp"
#include "penstock/error.hpp"
#include "penstock/machine.hpp"

namespace penstock::apps::edge {
namespace {

std::size_t angle_of(const penstock::Buffer<float>& buffer) {
    return static_cast<std::size_t>(buffer.tags().user[angle_tag]);
}

template <class F>
F& for_angles(F& filter, std::size_t angles) {
    filter.of.angles = static_cast<int>(angles);
    return filter;
}

TurnBack& of_size(TurnBack& filter, std::size_t rows, std::size_t columns) {
    filter.rows = static_cast<int>(rows);
    filter.columns = static_cast<int>(columns);
    return filter;
}

FilterOptions options_of(const Placement& placement) {
    return {.copies = placement.copies, .targets = placement.targets};
}

}  // namespace

void Pictures::start() {
    if (given_) return;
    std::array<std::size_t, 3> shape{static_cast<std::size_t>(count.get()), static_cast<std::size_t>(rows.get()),
                                     static_cast<std::size_t>(columns.get())};
    if (file.get().empty()) {
        own_ = std::make_shared<std::vector<float>>(shape[0] * shape[1] * shape[2]);
        Random random{static_cast<std::uint32_t>(seed.get())};
        fill(*own_, nullptr, random, 0.0f, 1.0f);
    } else {
        auto array = read_array<float>(file);
        if (array.shape.size() != 3 || array.values.empty())
            throw UsageError("the file '" + file.get() + "' holds no pictures: pictures x rows x columns");
        std::ranges::copy(array.shape, shape.begin());
        own_ = std::make_shared<std::vector<float>>(std::move(array.values));
    }
    pictures_ = view<const float, 3>{own_->data(), shape};
}

bool Pictures::operator()() {
    const std::size_t angles = of.count();
    if (next_ == times.count() * pictures_.extent(0) * angles) return false;
    const std::size_t times_seen = next_ / angles, number = times_seen % pictures_.extent(0), angle = next_ % angles;
    ++next_;
    auto buffer = picture.wrap(picture_of(pictures_, number), own_);
    buffer.edit_tags().user = {times_seen, angle};  // those of two passes must not be taken for one another
    buffer.edit_tags().time = number;
    picture.write(std::move(buffer));
    return true;
}

void Filter::operator()() {
    const auto& read = tasks.keep(picture.read());
    const auto image = read.image();
    auto strongest = response.make(image.extent(0), image.extent(1));
    if (!jobs_) jobs_.emplace(of.count());
    jobs_->issue(tasks, angle_of(read), image, strongest.edit_image());
    response.write(std::move(strongest));
}

void TurnThere::operator()() {
    const auto read = picture.read();
    const auto image = read.image();
    const Turn turn{{angle_of(read), of.count()}, image.extent(0), image.extent(1)};
    auto turned = canvas.make(turn.rows, turn.columns);
    kernels::affine<float>(image, turned.edit_image(), turn.there, kernels::Interpolation::bilinear, border);
    canvas.write(std::move(turned));
}

void Respond::operator()() {
    const auto& read = tasks.keep(canvas.read());
    const auto image = components::rows_of(read);
    auto strongest = response.make(image.extent(0), image.extent(1));
    jobs_.issue(tasks, image, strongest.edit_image());
    response.write(std::move(strongest));
}

void TurnBack::operator()() {
    const auto read = canvas.read();
    const std::size_t down = static_cast<std::size_t>(rows.get()), across = static_cast<std::size_t>(columns.get());
    const Turn turn{{angle_of(read), of.count()}, down, across};
    auto turned = response.make(down, across);
    kernels::affine<float>(read.image(), turned.edit_image(), turn.back, kernels::Interpolation::bilinear, border);
    response.write(std::move(turned));
}

void Strongest::operator()() {
    auto read = response.read();
    const auto number = read.tags().user[picture_tag];
    Best& best = best_[number];
    if (best.angles++ == 0) {
        best.edges = std::move(read);
    } else {
        const auto greatest = best.edges.edit_image();
        kernels::maximum<float>(read.image(), greatest, greatest);
    }
    if (best.angles < of.count()) return;
    edges.write(std::move(best.edges));
    best_.erase(number);
}

void Store::operator()() {
    const auto read = edges.read();
    const auto image = components::rows_of(read);
    const auto number = static_cast<std::size_t>(read.tags().time);
    ++count_;
    view<float, 2> to;
    if (result_.data() != nullptr) {
        to = picture_of(result_, number);
    } else {
        if (number >= own_.size()) own_.resize(number + 1);
        rows_ = image.extent(0), columns_ = image.extent(1);
        own_[number].resize(image.size());
        to = {own_[number].data(), {rows_, columns_}};
    }
    for (std::size_t i = 0; i < image.extent(0); ++i)
        std::copy_n(image.row(i).data(), image.extent(1), to.row(i).data());
}

void Store::finish() {
    if (!file.get().empty() && result_.data() == nullptr) {
        std::vector<float> all;
        for (const auto& each : own_) all.insert(all.end(), each.begin(), each.end());
        const std::size_t shape[] = {own_.size(), rows_, columns_};
        write_array<float>(file, shape, all);
    }
    auto found = stored.make(1);
    found.edit()[0] = static_cast<double>(count_);
    stored.write(std::move(found));
}

ByTurnedKernels::ByTurnedKernels(Filter& filter) : picture{filter.picture}, response{filter.response} {}
ByTurnedKernels::ByTurnedKernels(GraphBuilder& graph, std::size_t angles, const Placement& placement)
    : ByTurnedKernels(for_angles(graph.add<Filter>("filter", options_of(placement)), angles)) {}

ByTurnedPictures::ByTurnedPictures(GraphBuilder& graph, TurnThere& there, Respond& respond, TurnBack& back)
    : picture{there.picture}, response{back.response} {
    graph.connect(there.canvas, respond.canvas);
    graph.connect(respond.response, back.canvas);
}
ByTurnedPictures::ByTurnedPictures(GraphBuilder& graph, std::size_t rows, std::size_t columns, std::size_t angles,
                                   const Placement& placement)
    : ByTurnedPictures{
          graph, for_angles(graph.add<TurnThere>("turn-there", options_of(placement)), angles),
          graph.add<Respond>("respond", options_of(placement)),
          of_size(for_angles(graph.add<TurnBack>("turn-back", options_of(placement)), angles), rows, columns)} {}

double streams(Algorithm algorithm, view<const float, 3> pictures, view<float, 3> result, std::size_t angles,
               Machine& machine, const Placement& placement) {
    const std::size_t rows = pictures.extent(1), columns = pictures.extent(2);
    Graph graph;
    auto& source = for_angles(graph.add<Pictures>("pictures", {}, pictures), angles);
    auto& strongest = for_angles(graph.add<Strongest>("strongest"), angles);
    auto& store = graph.add<Store>("store", {}, result);
    const auto join = [&](auto& group) {
        graph.connect(source.picture, group.picture, {.capacity = 2});
        graph.connect(group.response, strongest.response);
    };
    if (algorithm == Algorithm::dense) join(graph.add_group<ByTurnedKernels>("by-turned-kernels", angles, placement));
    else join(graph.add_group<ByTurnedPictures>("by-turned-pictures", rows, columns, angles, placement));
    graph.connect(strongest.edges, store.edges);
    return seconds_of([&] { run_noted(graph, machine); });
}

static void add_stages(Components& components) {
    components.add<Filter>("edge:filter",
                           "The strongest of 16 responses of a picture at its angle, by kernels turned to it.");
    components.add<Respond>("edge:respond", "The strongest of 16 responses of a picture that is turned already.");
}

void add_components(Components& components) {
    add_stages(components);
    components.add<Pictures>("edge:pictures",
                             "Each picture (of a .npy file, or random ones) once for each angle, `passes` times.");
    components.add<Store>("edge:store",
                          "Keeps the edges of each picture, and writes them to a file (.npy), if one is named.");
}

void add_components(Components& components, view<const float, 3> pictures, view<float, 3> result) {
    add_stages(components);
    components.add<Pictures>("edge:pictures", "The program's pictures.", pictures);
    components.add<Store>("edge:store", "The program's result.", result);
}

}  // namespace penstock::apps::edge
