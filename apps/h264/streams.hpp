// The encoder as filters: reading, planning, motion search, transform, entropy coding, the loop filter, writing.
// Several pictures are under way at once.
//
//   read -> plan -> search -> transform -+-> entropy -> gather
//            ^        ^                  +-> smooth ----^   |
//            |        +--- complete rows ------+            |
//            +------------ pictures that have ended --------+
//
// What travels between `plan` and `gather` are rows of macroblocks of a picture, which lies in memory that all see. So
// these filters run on threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/h264/clip.hpp"
#include "apps/h264/encode.hpp"
#include "apps/h264/film.hpp"
#include "apps/h264/sequence.hpp"
#include "penstock/filter.hpp"
#include "penstock/graph.hpp"

namespace penstock {
class Components;
class Machine;
}  // namespace penstock

namespace penstock::apps::h264 {

constexpr int most_under_way = 8;
/// Room for all that can be told of complete rows of all pictures under way: `search` does not listen while it goes
/// through a picture, and whoever tells must not wait for that.
constexpr std::size_t complete_rows = most_under_way * 512;

/// A picture on its way through the graph. Filters pass its address on, in tags.user[0], with a row in tags.user[1].
struct Flight {
    Flight(const Common& of_all, References& references, const Planned& planned, std::vector<std::uint8_t> picture,
           std::shared_ptr<Flight> before, std::shared_ptr<Flight> behind)
        : common{of_all}, source{of_all.size}, work{references.begin(planned, source)}, file{std::move(picture)},
          earlier{std::move(before)}, later{std::move(behind)}, rows(static_cast<std::size_t>(of_all.size.down())) {}
    const Common& common;
    Source source;
    Work work;
    std::vector<std::uint8_t> file;
    std::shared_ptr<Flight> earlier, later;  ///< what it refers to
    std::vector<RowBits> rows;
    /// Rows that are complete. `smooth` stores it (release) behind all that it changes there, and then tells `search`;
    /// `search` loads it (acquire) before it looks there.
    std::atomic<int> complete{0};
    int parts_ended = 0;       ///< of `gather`: entropy and smooth
    std::uint64_t number = 0;  ///< in the order of encoding
};

/// A source: the pictures of a job, of a file, or of a made film, as planes: 3/2 rows x columns. Tags: the rate.
struct Read {
    Output<std::uint8_t> picture{"picture"};
    Setting<std::string> input{"input", ""};
    /// Of raw planes, or of a made film.
    Setting<int> columns{"columns", 0, {.unit = "pixels", .least = 0, .most = 8192}};
    Setting<int> rows{"rows", 0, {.unit = "pixels", .least = 0, .most = 8192}};
    Setting<int> pictures{"pictures", 12, {.unit = "pictures", .least = 0, .most = 1000}};  ///< of a made film
    Read() = default;
    explicit Read(const Job* job) : job_{job} {}
    void start();
    bool operator()();

  private:
    Job own_;
    const Job* job_ = nullptr;
    std::vector<std::uint8_t> bytes_;
};

/// Gives pictures their order, and what they refer to. Fires when a picture has come and there is room for one more
/// under way.
struct Plan {
    Input<std::uint8_t> picture{"picture"};
    Input<std::uint8_t> ended{"ended"};
    Output<std::uint8_t> planned{"planned"};
    EncoderParameters parameters;
    Plan() = default;
    explicit Plan(const Job* job) : job_{job} {}
    void operator()();
    void finish();

  private:
    void begin(const std::vector<Planned>& all);
    const Job* job_ = nullptr;
    std::unique_ptr<const Common> common_;
    std::optional<Planner> planner_;
    std::optional<References> references_;
    std::map<std::size_t, std::vector<std::uint8_t>> waiting_;
    std::map<const Flight*, std::shared_ptr<Flight>> under_way_;
    std::shared_ptr<Flight> earlier_, later_;
    std::size_t came_ = 0;
    std::uint64_t number_ = 0;
};

/// Decides how the macroblocks of a row are predicted, as soon as the rows that they may come from are complete. A copy
/// has a picture at a time.
struct Find {
    static constexpr bool may_be_copied = true;
    static constexpr bool on_any_input = true;
    Input<std::uint8_t> planned{"planned"};
    Input<std::uint8_t> complete{"complete"};
    Output<std::uint8_t> row{"row"};
    void operator()();

  private:
    std::deque<Flight*> flights_;
    int next_ = 0;  ///< row of the first
};

/// Predicts a row, and makes levels and pixels of it.
struct Transform {
    Input<std::uint8_t> row{"row"};
    Output<std::uint8_t> levels{"levels"};
    Output<std::uint8_t> pixels{"pixels"};
    void operator()();
};

/// Writes the levels of a row.
struct Entropy {
    Input<std::uint8_t> levels{"levels"};
    Output<std::uint8_t> written{"written"};
    void operator()();
};

/// Filters a row, and makes of it what later pictures need.
struct Smooth {
    Input<std::uint8_t> pixels{"pixels"};
    Output<std::uint8_t> complete{"complete"};
    Output<std::uint8_t> smooth{"smooth"};
    void operator()();
};

/// Puts the rows of a picture together, and pictures in their order into a job or a file.
struct Gather {
    static constexpr bool on_any_input = true;
    Input<std::uint8_t> written{"written"};
    Input<std::uint8_t> smooth{"smooth"};
    Output<std::uint8_t> ended{"ended"};
    Output<double> bytes{"bytes"};
    Setting<std::string> output{"output", ""};
    Setting<int> under_way{"under-way", 6, {.unit = "pictures", .least = 6, .most = most_under_way}};
    Gather() = default;
    explicit Gather(const Job* job) : job_{job} {}
    void start();
    void operator()();
    void finish();

  private:
    void hand_over(Flight& flight);
    const Job* job_ = nullptr;
    std::optional<StreamWriter> writer_;
    std::map<std::uint64_t, Flight*> ready_;
    std::uint64_t next_ = 0;
    std::size_t bytes_ = 0;
};

/// The encoder as this graph, with so many copies of the motion search.
void streamed(const Job& job, Machine& machine, int copies);

/// The filters by name, for h264.xml and others.
void add_components(Components& components);

}  // namespace penstock::apps::h264
