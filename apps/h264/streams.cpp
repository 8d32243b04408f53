#include "apps/h264/streams.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "apps/graphs.hpp"
#include "penstock/components.hpp"
#include "penstock/machine.hpp"

namespace penstock::apps::h264 {
namespace {

void tell(Output<Step>& output, Flight& flight, int row) {
    auto step = output.make(1);
    step.edit()[0] = {&flight, row, getpid()};
    step.edit_tags().user[0] = flight.number;
    output.write(std::move(step));
}

const Step& here(const Step& step) {
    if (step.process != getpid())
        throw UsageError("h264: the filters of the encoder share a picture, so they cannot run in worker processes");
    return step;
}
Step read(Input<Step>& input) { return here(input.read()[0]); }

}  // namespace

void Read::start() {
    if (job_ != nullptr) return;
    if (!input.get().empty()) {
        const auto reader = std::make_shared<FilmReader>(input.get(), Size{columns, rows});
        own_ = {reader->size(), reader->rate(), {}, [reader](auto& bytes) { return reader->read(bytes); }, {}};
    } else {
        const auto clip = std::make_shared<const Clip>(
            made_clip({columns == 0 ? 352 : columns, rows == 0 ? 288 : rows}, static_cast<std::size_t>(pictures), 1));
        own_ = {clip->size, clip->rate, {}, pictures_of(clip), {}};
    }
    job_ = &own_;
}

bool Read::operator()() {
    if (!job_->pull(bytes_)) return false;
    const auto [size, rate] = std::pair{job_->size, job_->rate};
    auto planes = picture.make(static_cast<std::size_t>(size.rows) / 2 * 3, static_cast<std::size_t>(size.columns));
    std::memcpy(planes.edit().data(), bytes_.data(), bytes_.size());
    planes.edit_tags().user = {rate.pictures, rate.seconds};
    picture.write(std::move(planes));
    return true;
}

void Plan::operator()() {
    auto planes = picture.read();
    if (Flight* const flight = read(ended).flight; flight != nullptr) {
        flight->earlier = flight->later = nullptr;
        under_way_.erase(flight);
    }
    if (common_ == nullptr) {
        Job job;
        job.size = size_of_planes(planes);
        job.rate = {static_cast<std::uint32_t>(planes.tags().user[0]),
                    static_cast<std::uint32_t>(planes.tags().user[1])};
        job.settings = job_ != nullptr ? job_->settings : parameters.settings();
        check(job);
        common_ = std::make_unique<const Common>(job);
        planner_.emplace(job.settings);
        references_.emplace(*common_);
    }
    if (planes.size() != common_->size.bytes()) throw UsageError("h264: all pictures of a film must have one size");
    waiting_[came_++] = std::move(planes);
    begin(planner_->add());
}

void Plan::finish() {
    if (planner_) begin(planner_->finish());
}

void Plan::begin(const std::vector<Planned>& all) {
    for (const Planned& one : all) {
        const bool both = one.place.type == Type::b;
        const auto flight = std::make_shared<Flight>(*common_, *references_, one, std::move(waiting_.at(one.shown)),
                                                     both            ? earlier_
                                                     : one.place.idr ? nullptr
                                                                     : later_,
                                                     both ? later_ : nullptr, number_++);
        waiting_.erase(one.shown);
        if (!both) earlier_ = std::exchange(later_, flight);
        under_way_[flight.get()] = flight;
        tell(planned, *flight, 0);
    }
}

void Order::operator()() {
    while (const auto step = planned.read_if_any()) flights_.push_back(here((*step)[0]).flight);
    while (const auto step = searched.read_if_any()) here((*step)[0]).flight->searched = (*step)[0].row + 1;
    while (const auto step = smooth.read_if_any()) {
        Flight& flight = *here((*step)[0]).flight;
        ++flight.complete;
        if (flight.complete == flight.common.size.down()) tell(complete, flight, 0);
    }
    const auto may_begin = [](const Flight& flight) {
        if (flight.searching != flight.searched) return false;
        for (const auto& reference : {flight.earlier, flight.later})
            if (reference != nullptr && reference->complete < flight.work.coder.rows_needed(flight.searching))
                return false;
        return true;
    };
    for (Flight* const flight : flights_)
        if (may_begin(*flight)) tell(row, *flight, flight->searching++);
    std::erase_if(flights_, [](const Flight* flight) { return flight->searching == flight->common.size.down(); });
}

void Find::operator()() {
    const auto [flight, y, process] = read(row);
    const Coder& coder = flight->work.coder;
    coder.prepare(y, flight->file.span());
    for (int x = 0; x < coder.size().across(); ++x) coder.decide(x, y);
    // Nobody asks for a row behind the last, and the picture may end before anybody hears of that one.
    if (y + 1 < coder.size().down()) tell(searched, *flight, y);
    tell(found, *flight, y);
}

void Transform::operator()() {
    const auto [flight, found, process] = read(row);
    const Coder& coder = flight->work.coder;
    const auto across = static_cast<std::size_t>(coder.size().across());
    // Rows are found in their order, but what tells of them may overtake.
    int y = flight->transformed;
    for (flight->transformed = std::max(y, found + 1); y <= found; ++y) {
        auto made = levels.make(across);
        Levels* const to = made.edit().data();
        for (std::size_t x = 0; x < across; ++x) coder.reconstruct(static_cast<int>(x), y, to[x]);
        made.edit_tags().user = {reinterpret_cast<std::uintptr_t>(flight), static_cast<std::uint64_t>(y)};
        levels.write(std::move(made));
        tell(pixels, *flight, y);
    }
}

void Entropy::operator()() {
    const auto from = levels.read();
    Flight& flight = *reinterpret_cast<Flight*>(from.tags().user[0]);
    const auto y = static_cast<int>(from.tags().user[1]);
    const Coder& coder = flight.work.coder;
    RowBits& bits = flight.rows[static_cast<std::size_t>(y)];
    for (std::size_t x = 0; x < from.size(); ++x) coder.write(static_cast<int>(x), y, from[x], bits);
    if (y + 1 == coder.size().down()) tell(written, flight, 0);
}

void Smooth::operator()() {
    const auto [flight, y, process] = read(pixels);
    const Coder& coder = flight->work.coder;
    coder.filter(y);
    if (coder.place().reference) coder.complete(y);
    tell(smooth, *flight, y);
}

void Gather::start() {
    for (int i = 0; i < under_way; ++i) {
        auto nobody = ended.make(1);
        nobody.edit()[0] = {nullptr, 0, getpid()};
        ended.write(std::move(nobody));
    }
}

void Gather::operator()() {
    for (Input<Step>* const input : {&written, &complete})
        while (const auto step = input->read_if_any())
            if (Flight& flight = *here((*step)[0]).flight; ++flight.parts_ended == 2) ready_[flight.number] = &flight;
    for (; !ready_.empty() && ready_.begin()->first == next_; ++next_) {
        hand_over(*ready_.begin()->second);
        ready_.erase(ready_.begin());
    }
}

void Gather::hand_over(Flight& flight) {
    const Encoded encoded = encoded_of(flight.common, flight.work.planned, flight.rows);
    bytes_ += encoded.bytes();
    if (job_ != nullptr) {
        job_->push(encoded, *flight.work.picture);
    } else if (!output.get().empty()) {
        if (!writer_) writer_.emplace(output.get(), flight.common.size, flight.common.rate, flight.common.settings);
        writer_->write(encoded);
    }
    tell(ended, flight, 0);
}

void Gather::finish() {
    if (writer_) writer_->finish();
    auto found = bytes.make(1);
    found.edit()[0] = static_cast<double>(bytes_);
    bytes.write(std::move(found));
}

void streamed(const Job& job, Machine& machine, int copies) {
    check(job);
    Graph graph;
    auto& read = graph.add<Read>("read", {}, &job);
    auto& plan = graph.add<Plan>("plan", {}, &job);
    auto& order = graph.add<Order>("order");
    auto& search = graph.add<Find>("search", {.copies = copies});
    auto& transform = graph.add<Transform>("transform", {.copies = copies});
    auto& entropy = graph.add<Entropy>("entropy");
    auto& smooth = graph.add<Smooth>("smooth");
    auto& gather = graph.add<Gather>("gather", {}, &job);
    graph.connect(read.picture, plan.picture, {.capacity = 1});
    graph.connect(plan.planned, order.planned);
    graph.connect(order.row, search.row);
    graph.connect(search.searched, order.searched, {.capacity = most_rows, .feedback = true});
    graph.connect(search.found, transform.row, {.policy = Policy::by_key});
    graph.connect(transform.levels, entropy.levels);
    graph.connect(transform.pixels, smooth.pixels);
    graph.connect(smooth.smooth, order.smooth, {.capacity = most_rows, .feedback = true});
    graph.connect(entropy.written, gather.written);
    graph.connect(order.complete, gather.complete);
    graph.connect(gather.ended, plan.ended, {.capacity = 64, .feedback = true});
    run_noted(graph, machine);
}

void add_components(Components& components) {
    components.add<Read>(
        "h264:read",
        "The pictures of a film: .y4m, or raw planes with `rows` and `columns`; without a file, of a made film.");
    components.add<ToPlanes>("h264:planes", "Makes planes, as h264:plan wants them, of pictures (RGB or grey).");
    components.add<Plan>("h264:plan", "Gives pictures their order, and what they refer to.");
    components.add<Order>("h264:order", "Says which rows of macroblocks may be searched.");
    components.add<Find>("h264:search", "Finds the motion of the macroblocks of a row.");
    components.add<Transform>("h264:transform", "Makes levels and pixels of a row of macroblocks.");
    components.add<Entropy>("h264:entropy", "Writes the levels of a row of macroblocks as bits.");
    components.add<Smooth>("h264:smooth",
                           "Filters the edges of a row of macroblocks, and completes it for later pictures.");
    components.add<Gather>("h264:gather",
                           "Puts pictures together and writes them to a file (.mp4, .264), if one is named.");
    components.add<Encode>("h264-encode", "Encodes pictures (RGB, grey, or planes) as H.264 into a file (.mp4, .264).");
}

}  // namespace penstock::apps::h264
