// The order in which pictures are encoded, and what belongs to one while it is.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "apps/h264/coder.hpp"

namespace penstock::apps::h264 {

/// A picture in the order in which pictures are encoded.
struct Planned {
    std::size_t shown = 0;  ///< its number in the order in which they are shown
    Place place;
};

/// Gives each picture its place: B pictures come after the later picture that they refer to.
class Planner {
  public:
    explicit Planner(const EncoderSettings& settings) : settings_{settings} {}
    /// One more picture; gives those that can be encoded now.
    std::vector<Planned> add();
    /// There are no more.
    std::vector<Planned> finish();

  private:
    Planned next(std::size_t shown, Type type);
    std::vector<Planned> group();
    EncoderSettings settings_;
    std::size_t added_ = 0, planned_ = 0, first_ = 0;  ///< first_: the last idr picture
    std::uint32_t number_ = 0, idr_count_ = 0;
    bool number_used_ = false;
};

/// One picture, encoded: its units, with the parameter sets before an idr picture.
struct Encoded {
    std::size_t shown = 0;
    Place place;
    std::vector<Unit> units;
    std::size_t bytes() const noexcept;
};

/// What is encoded, and how.
struct Job {
    Size size;
    Rate rate;
    EncoderSettings settings;
    std::function<bool(std::vector<std::uint8_t>&)> pull;              ///< the next picture; false at the end
    std::function<void(const Encoded&, const Picture& decoded)> push;  ///< in the order of encoding
};

/// Throws UsageError for sizes below 16 (or odd ones) or above what a level allows, settings out of range.
void check(const Job& job);

/// What all pictures of a job have in common.
struct Common {
    explicit Common(const Job& job);
    Size size;
    Rate rate;
    EncoderSettings settings;
    Kernels kernels;
    std::array<Quantisers, 3> quantisers;  ///< by type
    const Quantisers& of(Type type) const noexcept { return quantisers[static_cast<std::size_t>(type)]; }
};

/// A picture while it is encoded, with what it refers to.
struct Work {
    Work(const Common& common, const Planned& of_plan, std::shared_ptr<Picture> before, std::shared_ptr<Picture> behind,
         std::shared_ptr<Picture> picture, Source& source);
    Planned planned;
    std::shared_ptr<Picture> earlier_picture, later_picture, picture;
    Coder coder;
};

/// The units of a picture whose rows have been written. Each row may be in several pieces side by side.
Encoded encoded_of(const Common& common, const Planned& planned, std::span<const RowBits> rows);

/// Hands out the reference pictures of the pictures of a job, which are asked for in the order of encoding.
class References {
  public:
    explicit References(const Common& common) : common_{common} {}
    /// Only these: of two pictures under way `most_pictures` are enough.
    References(const Common& common, std::vector<std::shared_ptr<Picture>> pictures)
        : common_{common}, all_{std::move(pictures)}, fixed_{true} {}
    static constexpr std::size_t most_pictures = 6;
    Work begin(const Planned& planned, Source& source);

  private:
    std::shared_ptr<Picture> unused();
    const Common& common_;
    std::vector<std::shared_ptr<Picture>> all_;
    bool fixed_ = false;
    std::shared_ptr<Picture> earlier_, later_;  ///< the last but one, the last reference picture
};

/// Pictures in files' form, from when they come to when they are encoded.
class Waiting {
  public:
    explicit Waiting(const Job& job) : job_{job}, planner_{job.settings} {}
    /// The next picture to encode; nothing at the end. `file_picture` stays until the next call of forget().
    std::optional<Planned> next();
    std::span<const std::uint8_t> file_picture(std::size_t shown) const;
    void forget(std::size_t shown);

  private:
    struct Kept {
        std::size_t shown = 0;
        bool used = false;
        std::vector<std::uint8_t> bytes;
    };
    const Job& job_;
    Planner planner_;
    std::vector<Planned> planned_;
    std::size_t taken_ = 0, came_ = 0;
    bool over_ = false;
    std::vector<std::unique_ptr<Kept>> kept_;
};

/// One thread, picture after picture, as they come.
class Encoder {
  public:
    /// `pull` of the job is not used. Throws as check(Job).
    explicit Encoder(Job job);
    void add(std::vector<std::uint8_t> file_picture);
    void finish();

  private:
    void encode(const std::vector<Planned>& planned);
    Job job_;
    Common common_;
    Planner planner_;
    References references_;
    Source source_;
    Levels levels_;
    std::vector<RowBits> rows_;
    std::map<std::size_t, std::vector<std::uint8_t>> waiting_;  ///< by number
    std::size_t added_ = 0;
};

/// The same, for all pictures of a job.
void serial(const Job& job);

}  // namespace penstock::apps::h264
