#include "apps/h264/streams.hpp"

#include <cstring>
#include <utility>

#include "apps/graphs.hpp"
#include "penstock/components.hpp"
#include "penstock/machine.hpp"

namespace penstock::apps::h264 {
namespace {

using Token = penstock::Buffer<std::uint8_t>;

/// A buffer that says no more than which picture and which row.
void tell(Output<std::uint8_t>& output, Flight& flight, int row = 0) {
    auto token = output.make(1);
    token.edit_tags().user = {reinterpret_cast<std::uintptr_t>(&flight), static_cast<std::uint64_t>(row)};
    output.write(std::move(token));
}
Flight& flight_of(const Token& token) noexcept { return *reinterpret_cast<Flight*>(token.tags().user[0]); }
int row_of(const Token& token) noexcept { return static_cast<int>(token.tags().user[1]); }

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
    const auto planes = picture.read();
    if (const auto end = ended.read(); end.tags().user[0] != 0) {
        Flight& flight = flight_of(end);
        flight.earlier = flight.later = nullptr;
        under_way_.erase(&flight);
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
    waiting_[came_++].assign(planes.span().begin(), planes.span().end());
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
                                                     both ? later_ : nullptr);
        waiting_.erase(one.shown);
        flight->number = number_++;
        if (!both) earlier_ = std::exchange(later_, flight);
        under_way_[flight.get()] = flight;
        tell(planned, *flight);
    }
}

void Find::operator()() {
    while (const auto token = planned.read_if_any()) flights_.push_back(&flight_of(*token));
    while (complete.read_if_any()) {
    }
    while (!flights_.empty()) {
        Flight& flight = *flights_.front();
        const Coder& coder = flight.work.coder;
        for (const auto& reference : {flight.earlier, flight.later})
            if (reference != nullptr && reference->complete.load(std::memory_order_acquire) < coder.rows_needed(next_))
                return;
        coder.prepare(next_, flight.file);
        for (int x = 0; x < coder.size().across(); ++x) coder.decide(x, next_);
        tell(row, flight, next_);
        if (++next_ < coder.size().down()) continue;
        next_ = 0;
        flights_.pop_front();
    }
}

void Transform::operator()() {
    const auto token = row.read();
    Flight& flight = flight_of(token);
    const Coder& coder = flight.work.coder;
    const int y = row_of(token), across = coder.size().across();
    auto made = levels.make(static_cast<std::size_t>(across) * sizeof(Levels));
    auto* const to = reinterpret_cast<Levels*>(made.edit().data());
    for (int x = 0; x < across; ++x) coder.reconstruct(x, y, to[x]);
    made.edit_tags().user = token.tags().user;
    levels.write(std::move(made));
    tell(pixels, flight, y);
}

void Entropy::operator()() {
    const auto read = levels.read();
    Flight& flight = flight_of(read);
    const Coder& coder = flight.work.coder;
    const int y = row_of(read);
    const auto* const from = reinterpret_cast<const Levels*>(read.span().data());
    RowBits& bits = flight.rows[static_cast<std::size_t>(y)];
    for (int x = 0; x < coder.size().across(); ++x) coder.write(x, y, from[x], bits);
    if (y + 1 == coder.size().down()) tell(written, flight);
}

void Smooth::operator()() {
    const auto token = pixels.read();
    Flight& flight = flight_of(token);
    const Coder& coder = flight.work.coder;
    const int y = row_of(token);
    coder.filter(y);
    if (coder.place().reference) {
        coder.complete(y);
        flight.complete.store(y + 1, std::memory_order_release);
        tell(complete, flight, y);
    }
    if (y + 1 == coder.size().down()) tell(smooth, flight);
}

void Gather::start() {
    for (int i = 0; i < under_way; ++i) ended.write(ended.make(1));
}

void Gather::operator()() {
    const auto take = [&](Input<std::uint8_t>& input) {
        while (const auto token = input.read_if_any())
            if (++flight_of(*token).parts_ended == 2) ready_[flight_of(*token).number] = &flight_of(*token);
    };
    take(written);
    take(smooth);
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
    tell(ended, flight);
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
    auto& search = graph.add<Find>("search", {.copies = copies});
    auto& transform = graph.add<Transform>("transform");
    auto& entropy = graph.add<Entropy>("entropy");
    auto& smooth = graph.add<Smooth>("smooth");
    auto& gather = graph.add<Gather>("gather", {}, &job);
    graph.connect(read.picture, plan.picture, {.capacity = 1});
    graph.connect(plan.planned, search.planned, {.policy = Policy::round_robin});
    graph.connect(search.row, transform.row);
    graph.connect(transform.levels, entropy.levels, {.capacity = 4});
    graph.connect(transform.pixels, smooth.pixels);
    graph.connect(smooth.complete, search.complete,
                  {.policy = Policy::broadcast, .capacity = complete_rows, .feedback = true});
    graph.connect(entropy.written, gather.written);
    graph.connect(smooth.smooth, gather.smooth);
    graph.connect(gather.ended, plan.ended, {.capacity = 64, .feedback = true});
    run_noted(graph, machine);
}

void add_components(Components& components) {
    components.add<Read>(
        "h264:read",
        "The pictures of a film: .y4m, or raw planes with `rows` and `columns`; without a file, of a made film.");
    components.add<ToPlanes>("h264:planes", "Makes planes, as h264:plan wants them, of pictures (RGB or grey).");
    components.add<Plan>("h264:plan", "Gives pictures their order, and what they refer to.");
    components.add<Find>("h264:search", "Finds the motion of the macroblocks of a picture, row by row.");
    components.add<Transform>("h264:transform", "Makes levels and pixels of a row of macroblocks.");
    components.add<Entropy>("h264:entropy", "Writes the levels of a row of macroblocks as bits.");
    components.add<Smooth>("h264:smooth",
                           "Filters the edges of a row of macroblocks, and completes it for later pictures.");
    components.add<Gather>("h264:gather",
                           "Puts pictures together and writes them to a file (.mp4, .264), if one is named.");
    components.add<Encode>("h264-encode", "Encodes pictures (RGB, grey, or planes) as H.264 into a file (.mp4, .264).");
}

}  // namespace penstock::apps::h264
