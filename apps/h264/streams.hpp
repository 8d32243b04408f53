// The encoder as filters: reading, planning, motion search, transform, entropy coding, the loop filter, writing. A row
// of macroblocks is one step of each; several pictures are under way at once.
//
//   read -> plan -> order -> search -> transform -+-> entropy -> gather
//            ^       ^ ^       |                  +-> smooth       ^ |
//            |       | +-rows--+                        |          | |
//            |       +---complete rows------------------+          | |
//            |       +---complete pictures ------------------------+ |
//            +-------pictures that have ended -----------------------+
//
// `order` knows which row may be searched next: one of a picture at a time, and of those only what lies far enough
// behind the pictures that it refers to. What travels between `plan` and `gather` are steps of a picture that lies in
// memory that all see: so these filters run on threads.
#pragma once

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
/// Room for all that can be told of rows that are complete: whoever tells must not wait until `order` listens.
constexpr std::size_t most_rows = most_under_way * 512;

/// A picture on its way through the graph.
struct Flight {
    Flight(const Common& of_all, References& references, const Planned& planned, Buffer<std::uint8_t> picture,
           std::shared_ptr<Flight> before, std::shared_ptr<Flight> behind, std::uint64_t in_order)
        : common{of_all}, source{of_all.size}, work{references.begin(planned, source)}, file{std::move(picture)},
          earlier{std::move(before)}, later{std::move(behind)}, number{in_order},
          rows(static_cast<std::size_t>(of_all.size.down())) {}
    const Common& common;
    Source source;
    Work work;
    Buffer<std::uint8_t> file;
    std::shared_ptr<Flight> earlier, later;  ///< what it refers to
    std::uint64_t number;                    ///< in the order of encoding
    std::vector<RowBits> rows;
    // Rows, each counted by one filter.
    int searching = 0, searched = 0, complete = 0;  ///< order
    int transformed = 0;                            ///< transform
    int parts_ended = 0;                            ///< gather: entropy and smooth
};

/// What travels: a row of a picture. Only the process that made it can use it.
struct Step {
    Flight* flight;
    std::int32_t row;
    std::int32_t process;
};

/// A source: the pictures of a job, of a file, or of a made film, as planes: 3/2 rows x columns. Tags: the rate.
struct Read {
    Output<std::uint8_t> picture{"picture"};
    Setting<std::string> input{"input", ""};
    /// Of raw planes, or of a made film.
    Setting<int> columns{"columns", 0, {.unit = "pixels", .least = 0, .most = Size::most}};
    Setting<int> rows{"rows", 0, {.unit = "pixels", .least = 0, .most = Size::most}};
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

/// Gives pictures their place, and what they refer to. Fires when a picture has come and there is room for one more
/// under way.
struct Plan {
    Input<std::uint8_t> picture{"picture"};
    Input<Step> ended{"ended"};
    Output<Step> planned{"planned"};
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
    std::map<std::size_t, Buffer<std::uint8_t>> waiting_;
    std::map<const Flight*, std::shared_ptr<Flight>> under_way_;
    std::shared_ptr<Flight> earlier_, later_;
    std::size_t came_ = 0;
    std::uint64_t number_ = 0;
};

/// Says which rows may be searched. All that it hears of a picture comes before it says that the picture is complete.
struct Order {
    static constexpr bool on_any_input = true;
    Input<Step> planned{"planned"};
    Input<Step> searched{"searched"};
    Input<Step> smooth{"smooth"};
    Output<Step> row{"row"};
    Output<Step> complete{"complete"};
    void operator()();

  private:
    std::deque<Flight*> flights_;  ///< whose rows have not all been handed out
};

/// Decides how the macroblocks of a row are predicted.
struct Find {
    static constexpr bool may_be_copied = true;
    Input<Step> row{"row"};
    Output<Step> found{"found"};
    Output<Step> searched{"searched"};
    void operator()();
};

/// Predicts a row, and makes levels and pixels of it. A picture is one copy's.
struct Transform {
    static constexpr bool may_be_copied = true;
    Input<Step> row{"row"};
    Output<Levels> levels{"levels"};
    Output<Step> pixels{"pixels"};
    void operator()();
};

/// Writes the levels of a row.
struct Entropy {
    Input<Levels> levels{"levels"};
    Output<Step> written{"written"};
    void operator()();
};

/// Filters a row, and makes of it what later pictures need.
struct Smooth {
    Input<Step> pixels{"pixels"};
    Output<Step> smooth{"smooth"};
    void operator()();
};

/// Puts the rows of a picture together, and pictures in their order into a job or a file.
struct Gather {
    static constexpr bool on_any_input = true;
    Input<Step> written{"written"};
    Input<Step> complete{"complete"};
    Output<Step> ended{"ended"};
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

/// The encoder as this graph, with so many copies of the motion search and of the transform.
void streamed(const Job& job, Machine& machine, int copies);

/// The filters by name, for h264.xml and others.
void add_components(Components& components);

}  // namespace penstock::apps::h264
