// Both algorithms as graphs of filters. They share the filters at their ends, and differ in the group between them:
//
//     Pictures -> [ by turned kernels:  Filter                         ] -> Strongest -> Store
//     Pictures -> [ by turned pictures: TurnThere -> Respond -> TurnBack ] -> Strongest -> Store
//
// What travels is one picture for one angle; tags.user says which. The filters of the groups run in copies that
// overtake one another: the greatest of all angles is the same in any order, so the bits are too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "apps/edge/edge.hpp"
#include "apps/edge/jobs.hpp"
#include "apps/settings.hpp"
#include "penstock/graph.hpp"
#include "penstock/run.hpp"

namespace penstock {
class Components;
}

namespace penstock::apps::edge {

/// Number of the picture in tags.user[0] (it goes on when the pictures are looked at again; tags.time begins anew), of
/// the angle in tags.user[1].
enum Tag : std::size_t { picture_tag = 0, angle_tag = 1 };

/// Of how many angles one is.
struct AngleSetting {
    Setting<int> angles{"angles", 36, {.least = 1, .most = 3600}};
    std::size_t count() const noexcept { return static_cast<std::size_t>(angles.get()); }
};

/// The source: each picture once for each angle. The program's pictures, or those of a file (.npy), or random ones.
struct Pictures {
    Output<float> picture{"picture"};
    AngleSetting of;
    PassSetting times;
    Setting<std::string> file{"file", ""};
    Setting<int> count{"count", 2, {.unit = "pictures", .least = 1, .most = 1 << 16}};
    Setting<int> rows{"rows", 256, {.unit = "pixels", .least = 1, .most = 1 << 14}},
        columns{"columns", 256, {.unit = "pixels", .least = 1, .most = 1 << 14}};
    Setting<std::int64_t> seed{"seed", 1, {.least = 0, .most = 4294967295.0}};
    Pictures() = default;
    explicit Pictures(view<const float, 3> pictures) : pictures_{pictures}, given_{true} {}
    void start();
    bool operator()();

  private:
    view<const float, 3> pictures_{};
    bool given_ = false;
    std::shared_ptr<std::vector<float>> own_;
    std::size_t next_ = 0;
};

/// Edge-2D at the angle that comes with the picture: 16 convolutions and the greatest of them, as jobs (jobs.hpp).
struct Filter {
    static constexpr bool may_be_copied = true;
    Input<float> picture{"picture"};
    Output<float> response{"response"};
    AngleSetting of;
    Spread tasks;
    void operator()();

  private:
    std::optional<DenseJobs> jobs_;
};

/// The picture turned by its angle, on a canvas that holds it.
struct TurnThere {
    static constexpr bool may_be_copied = true;
    Input<float> picture{"picture"};
    Output<float> canvas{"canvas"};
    AngleSetting of;
    void operator()();
};

/// The strongest of the 16 responses of a canvas, as jobs.
struct Respond {
    static constexpr bool may_be_copied = true;
    Input<float> canvas{"canvas"};
    Output<float> response{"response"};
    Spread tasks;
    void operator()();

  private:
    SeparableJobs jobs_;
};

/// The response turned back, as large as the picture was.
struct TurnBack {
    static constexpr bool may_be_copied = true;
    Input<float> canvas{"canvas"};
    Output<float> response{"response"};
    AngleSetting of;
    Setting<int> rows{"rows", 256, {.unit = "pixels", .least = 1, .most = 1 << 14}},
        columns{"columns", 256, {.unit = "pixels", .least = 1, .most = 1 << 14}};
    void operator()();
};

/// The strongest of all angles, as soon as the last one of a picture has come.
struct Strongest {
    Input<float> response{"response"};
    Output<float> edges{"edges"};
    AngleSetting of;
    void operator()();

  private:
    struct Best {
        penstock::Buffer<float> edges;  // not apps::Buffer
        std::size_t angles = 0;
    };
    std::map<std::uint64_t, Best> best_;  ///< of each picture of which not all angles have come
};

/// Puts the edges of each picture into the program's result, or into a file (.npy). At the end: how many pictures.
struct Store {
    Input<float> edges{"edges"};
    Output<double> stored{"stored"};
    Setting<std::string> file{"file", ""};
    Store() = default;
    explicit Store(view<float, 3> result) : result_{result} {}
    void operator()();
    void finish();

  private:
    view<float, 3> result_{};
    std::vector<std::vector<float>> own_;
    std::size_t rows_ = 0, columns_ = 0, count_ = 0;
};

/// How many copies of each filter between the ends, and on which targets (none: whichever is free).
struct Placement {
    int copies = 1;
    std::vector<int> targets{};
};

/// The groups. Both have the same ports.
struct ByTurnedKernels {
    ByTurnedKernels(GraphBuilder& graph, std::size_t angles, const Placement& placement);
    Input<float>& picture;
    Output<float>& response;

  private:
    explicit ByTurnedKernels(Filter& filter);
};
struct ByTurnedPictures {
    ByTurnedPictures(GraphBuilder& graph, std::size_t rows, std::size_t columns, std::size_t angles,
                     const Placement& placement);
    Input<float>& picture;
    Output<float>& response;

  private:
    ByTurnedPictures(GraphBuilder& graph, TurnThere& there, Respond& respond, TurnBack& back);
};

/// The result of serial(), bit for bit, by a graph on the machine's targets and the caller. Returns when all is done:
/// the seconds without those in which the graph was described.
double streams(Algorithm algorithm, view<const float, 3> pictures, view<float, 3> result, std::size_t angles,
               Machine& machine, const Placement& placement);

/// The filters by name, for the graphs written down (edge-2d.xml, edge-rot.xml): with files at their ends, or with the
/// program's memory.
void add_components(Components& components);
void add_components(Components& components, view<const float, 3> pictures, view<float, 3> result);

}  // namespace penstock::apps::edge
