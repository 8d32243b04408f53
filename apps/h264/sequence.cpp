#include "apps/h264/sequence.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "penstock/error.hpp"

namespace penstock::apps::h264 {

Planned Planner::next(std::size_t shown, Type type) {
    Planned planned{shown, {}};
    Place& place = planned.place;
    place.type = type;
    place.idr = type == Type::i;
    place.reference = type != Type::b;
    if (place.idr) {
        first_ = shown;
        number_ = 0;
        place.idr_count = idr_count_++;
    } else if (number_used_) {
        ++number_;
    }
    number_used_ = place.reference;
    place.number = number_;
    place.shown = static_cast<std::uint32_t>(shown - first_);
    const int change = type == Type::i ? -3 : type == Type::b ? 2 : 0;
    place.quantiser = std::clamp(settings_.quantiser + change, 0, 51);
    return planned;
}

// All that has come and is not planned yet: the last one first, which the others refer to.
std::vector<Planned> Planner::group() {
    std::vector<Planned> group;
    if (planned_ == added_) return group;
    const std::size_t last = added_ - 1;
    const bool idr = last == 0 || (settings_.period > 0 && last - first_ >= static_cast<std::size_t>(settings_.period));
    group.push_back(next(last, idr ? Type::i : Type::p));
    for (; planned_ < last; ++planned_) group.push_back(next(planned_, Type::b));
    planned_ = added_;
    return group;
}

std::vector<Planned> Planner::add() {
    ++added_;
    const std::size_t last = added_ - 1;
    const auto period = static_cast<std::size_t>(settings_.period);
    const bool idr = last == 0 || (period > 0 && last - first_ >= period);
    const bool before_idr = period > 0 && last + 1 - first_ >= period;
    if (idr || before_idr || added_ - planned_ > static_cast<std::size_t>(settings_.b_pictures)) return group();
    return {};
}

std::vector<Planned> Planner::finish() { return group(); }

std::size_t Encoded::bytes() const noexcept {
    std::size_t bytes = 0;
    for (const Unit& unit : units) bytes += unit.size();
    return bytes;
}

void check(const Job& job) {
    check(job.settings);
    const auto need = [](const char* name, int value) {
        if (value < 2 || value > Size::most || value % 2 != 0)
            throw UsageError(std::string("h264: pictures have ") + std::to_string(value) + " " + name +
                             "; it must be an even number from 2 to " + std::to_string(Size::most));
    };
    need("columns", job.size.columns);
    need("rows", job.size.rows);
    if (job.rate.pictures == 0 || job.rate.seconds == 0 || job.rate.pictures > 1u << 30)
        throw UsageError("h264: " + std::to_string(job.rate.pictures) + " pictures in " +
                         std::to_string(job.rate.seconds) + " seconds are no rate");
}

Common::Common(const Job& job)
    : size{job.size}, rate{job.rate}, settings{job.settings},
      quantisers{Quantisers{job.settings.quantiser}, Quantisers{std::min(51, job.settings.quantiser + 2)},
                 Quantisers{std::max(0, job.settings.quantiser - 3)}} {}

Work::Work(const Common& common, const Planned& of_plan, std::shared_ptr<Picture> before,
           std::shared_ptr<Picture> behind, std::shared_ptr<Picture> of, Source& source)
    : planned{of_plan}, earlier_picture{std::move(before)}, later_picture{std::move(behind)}, picture{std::move(of)},
      coder{common.kernels, common.settings,
            planned.place,  common.of(planned.place.type),
            source,         {earlier_picture.get(), later_picture.get()},
            *picture} {}

Encoded encoded_of(const Common& common, const Planned& planned, std::span<const RowBits> rows) {
    const Place& place = planned.place;
    Encoded encoded{planned.shown, place, {}};
    if (place.idr) {
        encoded.units.push_back(sequence_parameters(common.size, common.rate, common.settings));
        encoded.units.push_back(picture_parameters());
    }
    Bits bits;
    put_slice_header(bits, place, common.settings);
    put_rows(bits, rows, place.type);
    encoded.units.push_back(slice_unit(bits, place));
    return encoded;
}

std::shared_ptr<Picture> References::unused() {
    for (const auto& one : all_)
        if (one.use_count() == 1) return one;
    if (fixed_) throw std::logic_error("h264: more pictures are under way than there is memory for");
    all_.push_back(std::make_shared<Picture>(common_.size));
    return all_.back();
}

Work References::begin(const Planned& planned, Source& source) {
    auto picture = unused();
    if (planned.place.type == Type::b) return {common_, planned, earlier_, later_, std::move(picture), source};
    auto before = planned.place.idr ? nullptr : later_;
    earlier_ = std::move(later_);
    later_ = picture;
    return {common_, planned, std::move(before), nullptr, std::move(picture), source};
}

std::optional<Planned> Waiting::next() {
    while (taken_ == planned_.size() && !over_) {
        auto place = std::ranges::find(kept_, false, [](const auto& kept) { return kept->used; });
        if (place == kept_.end()) place = kept_.insert(kept_.end(), std::make_unique<Kept>());
        taken_ = 0;
        over_ = !job_.pull((*place)->bytes);
        if (!over_) {
            (*place)->used = true;
            (*place)->shown = came_++;
        }
        planned_ = over_ ? planner_.finish() : planner_.add();
    }
    if (taken_ == planned_.size()) return std::nullopt;
    return planned_[taken_++];
}

std::span<const std::uint8_t> Waiting::file_picture(std::size_t shown) const {
    for (const auto& kept : kept_)
        if (kept->used && kept->shown == shown) return kept->bytes;
    return {};
}

void Waiting::forget(std::size_t shown) {
    for (const auto& kept : kept_)
        if (kept->shown == shown) kept->used = false;
}

Encoder::Encoder(Job job)
    : job_{(check(job), std::move(job))}, common_{job_}, planner_{job_.settings}, references_{common_},
      source_{job_.size}, rows_(static_cast<std::size_t>(job_.size.down())) {}

void Encoder::add(std::vector<std::uint8_t> file_picture) {
    waiting_[added_++] = std::move(file_picture);
    encode(planner_.add());
}

void Encoder::finish() { encode(planner_.finish()); }

void Encoder::encode(const std::vector<Planned>& all) {
    for (const Planned& planned : all) {
        const Work work = references_.begin(planned, source_);
        const auto& from = waiting_.at(planned.shown);
        for (int y = 0; y < job_.size.down(); ++y) {
            RowBits& bits = rows_[static_cast<std::size_t>(y)];
            bits.clear();
            work.coder.prepare(y, from);
            for (int x = 0; x < job_.size.across(); ++x) {
                work.coder.decide(x, y);
                work.coder.reconstruct(x, y, levels_);
                work.coder.write(x, y, levels_, bits);
            }
            work.coder.filter(y);
            if (planned.place.reference) work.coder.complete(y);
        }
        waiting_.erase(planned.shown);
        job_.push(encoded_of(common_, planned, rows_), *work.picture);
    }
}

void serial(const Job& job) {
    Encoder encoder{job};
    for (std::vector<std::uint8_t> picture; job.pull(picture);) encoder.add(std::move(picture));
    encoder.finish();
}

}  // namespace penstock::apps::h264
