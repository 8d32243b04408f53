#include "language/throughput.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "apps/addition/streams.hpp"
#include "apps/colour/colour.hpp"
#include "apps/edge/streams.hpp"
#include "apps/random.hpp"
#include "apps/synthetic/synthetic.hpp"
#include "apps/written.hpp"
#include "harness/measure.hpp"
#include "harness/processors.hpp"
#include "language/programs.hpp"
#include "penstock/graph.hpp"
#include "penstock/machine.hpp"
#include "penstock/run.hpp"
#include "src/language/elaboration/elaboration.hpp"
#if defined(PENSTOCK_APPS_JPEG)
#include "apps/jpip/insets.hpp"
#include "apps/tissue/tissue.hpp"
#endif

namespace bench {
namespace {

using namespace penstock;
namespace gallery = penstock::apps;
using Given = std::vector<std::pair<std::string, std::string>>;

/// Filters over memory of this program's, known by name while it lives: compiled applications look there.
class Known {
  public:
    explicit Known(const Components& components) : before_(std::exchange(Components::known(), components)) {}
    ~Known() { Components::known() = std::move(before_); }
    Known(const Known&) = delete;
    Known& operator=(const Known&) = delete;

  private:
    Components before_;
};

Application compiled(const std::string& name, const Components& components, const Given& settings) {
    const Known known(components);
    const auto& program = program_of(name);
    return program.build(penstock::language::values_of(program, settings));
}

/// One application. Whatever holds its memory is kept by the functions.
struct Case {
    std::string name;
    std::function<void(Machine&, int copies)> by_graph;  ///< described, started and ended
    Components components;                               ///< of the XML, over the same memory
    Given settings;
    std::function<bool()> right;  ///< is the result that of one thread? Forgets it
};

template <class T>
std::function<bool()> compared(std::vector<T>& found, std::vector<T>& wanted) {
    return [&] {
        const bool same = found == wanted;
        std::ranges::fill(found, T{});
        return same;
    };
}

Case addition_case() {
    constexpr std::size_t side = 512, rows_a_buffer = 32, passes = 24;
    struct Memory {
        std::vector<float> a = std::vector<float>(side * side), b = a, sum = a, wanted = a;
        static view<const float, 2> in(const std::vector<float>& values) { return {values.data(), {side, side}}; }
        static view<float, 2> out(std::vector<float>& values) { return {values.data(), {side, side}}; }
    };
    auto memory = std::make_shared<Memory>();
    gallery::Random random{1};
    for (auto* const each : {&memory->a, &memory->b}) gallery::fill(*each, nullptr, random, -1, 1);
    gallery::addition::serial(Memory::in(memory->a), Memory::in(memory->b), Memory::out(memory->wanted));
    Case made{.name = "addition",
              .by_graph =
                  [memory](Machine& machine, int copies) {
                      gallery::addition::streamed(Memory::in(memory->a), Memory::in(memory->b),
                                                  Memory::out(memory->sum), rows_a_buffer, copies, machine, passes);
                  },
              .components = gallery::silent_components(),
              .settings = {{"rows_a_buffer", std::to_string(rows_a_buffer)}, {"passes", std::to_string(passes)}},
              .right = compared(memory->sum, memory->wanted)};
    gallery::addition::add_components(made.components, Memory::in(memory->a), Memory::in(memory->b),
                                      Memory::out(memory->sum));
    return made;
}

Case colour_case() {
    struct Memory {
        gallery::Picture picture = gallery::spots(256, 512, 1);
        std::vector<float> lab = std::vector<float>(picture.rgb.size()), wanted = lab;
        gallery::colour::ChannelStatistics statistics;
        gallery::colour::Work work(std::vector<float>& into) {
            return {picture, {256, 512, 128, 128}, {into.data(), {256, 3 * 512}}};
        }
        gallery::colour::Work all = work(lab);
    };
    auto memory = std::make_shared<Memory>();
    (void)gallery::colour::serial(memory->work(memory->wanted));
    Case made{.name = "colour",
              .by_graph =
                  [memory](Machine& machine, int copies) {
                      memory->statistics = gallery::colour::streamed(memory->all, machine, copies, 4);
                  },
              .components = gallery::silent_components(),
              .settings = {{"passes", "4"}},
              .right = compared(memory->lab, memory->wanted)};
    gallery::colour::add_components(made.components, memory->all, memory->statistics);
    return made;
}

Case edge_case(const std::string& name, gallery::edge::Algorithm algorithm, std::size_t side) {
    constexpr std::size_t count = 2, angles = 12;
    struct Memory {
        std::vector<float> pixels, found, wanted;
        view<const float, 3> pictures;
        explicit Memory(std::size_t of)
            : pixels(count * of * of), found(pixels.size()), wanted(pixels.size()),
              pictures{pixels.data(), {count, of, of}} {}
        view<float, 3> out(std::vector<float>& values) const { return {values.data(), pictures.extents()}; }
    };
    auto memory = std::make_shared<Memory>(side);
    gallery::Random random{1};
    gallery::fill(memory->pixels, nullptr, random, 0, 1);
    gallery::edge::serial(algorithm, memory->pictures, memory->out(memory->wanted), angles);
    Case made{.name = name,
              .by_graph =
                  [memory, algorithm](Machine& machine, int copies) {
                      (void)gallery::edge::streams(algorithm, memory->pictures, memory->out(memory->found), angles,
                                                   machine, {copies});
                  },
              .components = gallery::silent_components(),
              .settings = {{"angles", std::to_string(angles)},
                           {"rows", std::to_string(side)},
                           {"columns", std::to_string(side)}},
              .right = compared(memory->found, memory->wanted)};
    gallery::edge::add_components(made.components, memory->pictures, memory->out(memory->found));
    return made;
}

Case synthetic_case() {
    constexpr std::size_t words = 4096, count = 64, jobs = 4;
    struct Memory {
        std::vector<std::uint32_t> table = std::vector<std::uint32_t>(words / 5),
                                   blocks = std::vector<std::uint32_t>(count * words), found = blocks, wanted = blocks;
        gallery::synthetic::Work work{words, jobs, 1, table};
    };
    auto memory = std::make_shared<Memory>();
    gallery::Random random{1};
    for (auto* const each : {&memory->table, &memory->blocks})
        for (auto& word : *each) word = static_cast<std::uint32_t>(random.integer());
    gallery::synthetic::serial(memory->work, memory->blocks, memory->wanted);
    Case made{.name = "synthetic",
              .by_graph =
                  [memory](Machine& machine, int copies) {
                      gallery::synthetic::streamed(memory->work, memory->blocks, memory->found, machine, copies);
                  },
              .components = gallery::silent_components(),
              .settings = {{"words", std::to_string(words)}},
              .right = compared(memory->found, memory->wanted)};
    gallery::synthetic::add_components(made.components, memory->work, memory->blocks, memory->found);
    return made;
}

#if defined(PENSTOCK_APPS_JPEG)
Case tissue_case() {
    struct Memory {
        gallery::Tiling tiling{512, 512, 64, 64};
        gallery::tissue::Slide slide{gallery::spots(512, 512, 1), tiling};
        gallery::tissue::Analysis found{tiling}, wanted{tiling};
    };
    auto memory = std::make_shared<Memory>();
    gallery::tissue::serial(memory->slide, memory->wanted);
    Case made{
        .name = "tissue",
        .by_graph = [memory](Machine& machine,
                             int copies) { gallery::tissue::streamed(memory->slide, memory->found, machine, copies); },
        .components = gallery::silent_components(),
        .settings = {},
        .right =
            [memory] {
                auto& found = memory->found;
                const bool same = found.features == memory->wanted.features &&
                                  found.classes == memory->wanted.classes &&
                                  std::ranges::equal(found.overview.rgb.span(), memory->wanted.overview.rgb.span());
                std::ranges::fill(found.classes, 9u);
                return same;
            }};
    gallery::tissue::add_components(made.components, memory->slide, memory->found);
    return made;
}

/// Sixteen films of a few frames.
struct FilmMemory {
    static constexpr std::size_t rows = 180, columns = 320, frames = 2;
    gallery::jpip::Films films;
    std::vector<std::uint8_t> found, wanted;
    view<std::uint8_t, 3> out(std::vector<std::uint8_t>& values, const gallery::PictureSize& size) const {
        return {values.data(), {frames, size.rows, size.columns * gallery::jpip::channels}};
    }
    explicit FilmMemory(const gallery::PictureSize& size) {
        const auto photograph = gallery::jpip::generated_photograph(2 * rows, 2 * columns, 1);
        films = gallery::jpip::make_films(gallery::jpip::tiles, {rows, columns, frames, 1},
                                          {photograph.data(), {2 * rows, 2 * columns * gallery::jpip::channels}});
        found.resize(frames * size.rows * size.columns * gallery::jpip::channels);
        wanted.resize(found.size());
    }
};

Case jpip_case() {
    const auto size = gallery::jpip::mosaic_of({FilmMemory::rows, FilmMemory::columns});
    auto memory = std::make_shared<FilmMemory>(size);
    gallery::jpip::serial(memory->films, 1, memory->out(memory->wanted, size));
    Case made{.name = "jpip",
              .by_graph =
                  [memory, size](Machine& machine, int copies) {
                      (void)gallery::jpip::streams(memory->films, 1, memory->out(memory->found, size), machine, copies);
                  },
              .components = gallery::silent_components(),
              .settings = {},
              .right = compared(memory->found, memory->wanted)};
    gallery::jpip::add_components(made.components, memory->films, memory->out(memory->found, size));
    return made;
}

/// Which frames meet is not the same in every run, so that only the frames below the picture could be compared; the
/// tests do.
Case inset_case() {
    constexpr gallery::PictureSize size{FilmMemory::rows, FilmMemory::columns};
    constexpr std::size_t passes = 8;
    auto memory = std::make_shared<FilmMemory>(size);
    Case made{.name = "picture-in-picture",
              .by_graph =
                  [memory, size](Machine& machine, int copies) {
                      using namespace gallery::jpip;
                      Graph graph;
                      const auto film = [&](const std::string& name, std::size_t number, int divisor,
                                            int of) -> Output<std::uint8_t>& {
                          auto& camera = graph.add<Camera>(name + "-camera", {}, &memory->films, number);
                          camera.times.passes = static_cast<std::int64_t>(passes);
                          auto& decode = graph.add<Decode>(name + "-decode", {.copies = of}, divisor);
                          graph.connect(camera.jpeg, decode.jpeg, {.capacity = 2});
                          return decode.rgb;
                      };
                      auto& insert = graph.add<Insert>("insert");
                      auto& store = graph.add<Store>("store", {}, memory->out(memory->found, size));
                      graph.connect(film("background", 0, 1, copies), insert.background, {.capacity = 2});
                      graph.connect(film("picture", 5, 4, 1), insert.picture, {.capacity = 4});
                      graph.connect(insert.screen, store.frame);
                      graph.start(machine).finish();
                  },
              .components = gallery::silent_components(),
              .settings = {{"passes", std::to_string(passes)}},
              .right = [] { return true; }};
    gallery::jpip::add_components(made.components, memory->films, memory->out(memory->found, size));
    return made;
}
#endif

std::vector<Case> all_cases() {
    std::vector<Case> all;
    all.push_back(addition_case());
    all.push_back(colour_case());
    all.push_back(edge_case("edge-2d", gallery::edge::Algorithm::dense, 64));
    all.push_back(edge_case("edge-rot", gallery::edge::Algorithm::turned, 96));
    all.push_back(synthetic_case());
#if defined(PENSTOCK_APPS_JPEG)
    all.push_back(tissue_case());
    all.push_back(jpip_case());
    all.push_back(inset_case());
#endif
    return all;
}

}  // namespace

namespace {

/// The worst of all applications so far.
struct Worst {
    Ratio all, ratio;
    std::string application;
    void meet(const Ratio& found, const std::string& name) {
        all.add(found);
        if (application.empty() || worse(found, ratio, Direction::at_least, Judged::by_interval))
            ratio = found, application = name;
    }
};

}  // namespace

void measure_throughput(const Options& options, Report& report) {
    const int processors = std::max(2, static_cast<int>(allowed_processors().size()));
    Machine machine{{.targets = processors - 1}};
    Worst xml, program;
    for (const auto& each : all_cases()) {
        auto settings = each.settings;
        const auto fixed = fixed_settings(each.name);
        const auto fixed_copies = std::ranges::find(fixed, "copies", &Given::value_type::first);
        const int copies = fixed_copies == fixed.end() ? processors : std::stoi(fixed_copies->second);
        if (fixed_copies == fixed.end()) settings.emplace_back("copies", std::to_string(copies));
        const auto built = compiled(each.name, each.components, settings);
        settings.insert(settings.end(), fixed.begin(), fixed.end());
        const auto read =
            gallery::application(each.name, {.settings = std::move(settings), .components = &each.components});
        const auto timed = [&each](auto body) {
            return [&each, body] {
                const auto begin = Clock::now();
                body();
                const double time = nanoseconds_since(begin);
                if (!each.right()) throw std::runtime_error(each.name + ": another result than that of one thread");
                return time;
            };
        };
        auto plan = options.plan;
        plan.rounds = options.quick ? 9 : 61;
        plan.attempts = std::min(plan.attempts, 2);
        const auto result = measure({{"graph", timed([&] { each.by_graph(machine, copies); })},
                                     {"xml", timed([&] { read.start(machine).finish(); })},
                                     {"compiled", timed([&] { built.start(machine).finish(); })}},
                                    plan);
        const auto noise = result.noise();
        const auto over = [&](const char* way, Worst& worst) {
            worst.meet(result.ratio("graph", way), each.name);
            const auto ratio = result.ratio("graph", way).usual;
            report.row(each.name + (" from " + std::string(way)), {{"graph_ms", result.median("graph") / 1e6},
                                                                   {"over_graph", ratio.value},
                                                                   {"low", ratio.low},
                                                                   {"high", ratio.high},
                                                                   {"noise", noise.value},
                                                                   {"noise_low", noise.low},
                                                                   {"noise_high", noise.high}});
        };
        over("xml", xml);
        over("compiled", program);
        report.conditions(result);
    }
    report.note(
        "throughput: graphs are described (C++) or built from what was read (XML) or compiled, started and ended in "
        "the time that is measured; " +
        std::to_string(processors) + " copies (edge: 2) on " + std::to_string(processors) +
        " processors; language/throughput is the worst, " + xml.application + ", and so is language/compiled, " +
        program.application);
    report.goal("language/throughput", xml.all, Direction::at_least, 0.97, Judged::by_interval);
    report.goal("language/compiled", program.all, Direction::at_least, 0.97, Judged::by_interval);
}

}  // namespace bench
