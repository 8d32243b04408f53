// Applications that are written down give the bits of their serial and of their C++ forms, in memory and by way of
// files.
#include "apps/written.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "apps/addition/streams.hpp"
#include "apps/colour/colour.hpp"
#include "apps/edge/streams.hpp"
#include "apps/files.hpp"
#include "apps/random.hpp"
#include "apps/synthetic/synthetic.hpp"
#include "penstock/machine.hpp"

using namespace penstock;
namespace apps = penstock::apps;

namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;

/// How many targets, and how many copies of what may have several.
using Size = std::pair<int, int>;

class Written : public testing::TestWithParam<Size> {
  protected:
    /// Runs it over the program's memory.
    void run(const std::string& name, const Components& classes, Settings settings) {
        settings.emplace_back("copies", std::to_string(GetParam().second));
        apps::application(name, {.settings = std::move(settings), .components = &classes}).start(machine).finish();
    }
    Machine machine{{.targets = GetParam().first}};
    Components components = apps::silent_components();
};

std::vector<float> random_values(std::size_t count, std::uint32_t seed, float low) {
    std::vector<float> values(count);
    apps::Random random{seed};
    apps::fill(values, nullptr, random, low, 1.0f);
    return values;
}

/// A folder that is gone with the test.
struct Folder {
    std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("penstock-written-" + std::to_string(getpid()));
    Folder() { std::filesystem::create_directories(path); }
    ~Folder() { std::filesystem::remove_all(path); }
    std::string operator/(const char* name) const { return path / name; }
};

Components with_files() {
    auto all = apps::silent_components();
    apps::add_components(all);
    return all;
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(Sizes, Written, testing::Values(Size{0, 1}, Size{1, 3}, Size{2, 2}), [](const auto& size) {
    return std::to_string(size.param.first) + "_targets_" + std::to_string(size.param.second) + "_copies";
});

TEST_P(Written, sums_of_matrices_are_those_of_the_serial_form) {
    constexpr std::size_t rows = 37, columns = 20;
    const auto a = random_values(rows * columns, 1, -1), b = random_values(rows * columns, 2, -1);
    std::vector<float> wanted(a.size()), sum(a.size());
    const auto matrix = [](const auto& values) { return view<const float, 2>{values.data(), {rows, columns}}; };
    apps::addition::serial(matrix(a), matrix(b), view<float, 2>{wanted.data(), {rows, columns}});
    apps::addition::add_components(components, matrix(a), matrix(b), view<float, 2>{sum.data(), {rows, columns}});
    run("addition", components, {{"rows_a_buffer", "5"}, {"passes", "3"}});
    EXPECT_EQ(sum, wanted);
}

TEST_P(Written, colours_and_their_statistics_are_those_of_the_serial_form) {
    const auto picture = apps::spots(70, 90, 3);
    const apps::Tiling tiling{70, 90, 32, 32};
    std::vector<float> wanted(picture.rgb.size()), lab(wanted.size());
    const apps::colour::Work work{picture, tiling, {lab.data(), {70, 270}}};
    const auto serial = apps::colour::serial({picture, tiling, {wanted.data(), {70, 270}}});
    apps::colour::ChannelStatistics statistics;
    apps::colour::add_components(components, work, statistics);
    run("colour", components, {{"passes", "2"}});
    EXPECT_EQ(lab, wanted);
    EXPECT_EQ(statistics.mean, serial.mean);
    EXPECT_EQ(statistics.squares, serial.squares);
}

TEST_P(Written, edges_by_both_algorithms_are_those_of_the_serial_form) {
    constexpr std::size_t count = 2, rows = 24, columns = 31, angles = 5;
    const auto pixels = random_values(count * rows * columns, 4, 0);
    const view<const float, 3> pictures{pixels.data(), {count, rows, columns}};
    for (const auto& [name, algorithm] :
         {std::pair{"edge-2d", apps::edge::Algorithm::dense}, std::pair{"edge-rot", apps::edge::Algorithm::turned}}) {
        std::vector<float> wanted(pixels.size()), found(pixels.size());
        apps::edge::serial(algorithm, pictures, {wanted.data(), pictures.extents()}, angles);
        auto all = apps::silent_components();
        apps::edge::add_components(all, pictures, {found.data(), pictures.extents()});
        run(name, all, {{"angles", "5"}, {"rows", "24"}, {"columns", "31"}, {"passes", "2"}});
        EXPECT_EQ(found, wanted) << name;
    }
}

TEST_P(Written, synthetic_jobs_are_those_of_the_serial_form) {
    std::vector<std::uint32_t> blocks(7 * 50), wanted(blocks.size()), found(blocks.size()), by_filters(blocks.size()),
        table(10);
    apps::Random random{5};
    for (auto* const each : {&table, &blocks})
        for (auto& word : *each) word = static_cast<std::uint32_t>(random.integer());
    const apps::synthetic::Work work{50, 3, 2, table};
    apps::synthetic::serial(work, blocks, wanted);
    apps::synthetic::streamed(work, blocks, by_filters, machine, GetParam().second);
    EXPECT_EQ(by_filters, wanted);
    apps::synthetic::add_components(components, work, blocks, found);
    run("synthetic", components, {{"jobs", "3"}, {"cycles", "2"}, {"words", "50"}});
    EXPECT_EQ(found, wanted);
}

TEST(WrittenFiles, each_application_is_without_findings) {
    const auto components = with_files();
    EXPECT_GE(apps::all_written().size(), 5u);
    for (const auto& each : apps::all_written())
        for (const auto& finding : check_application_text(each.text, each.name, {.components = &components}))
            ADD_FAILURE() << finding.text();
    EXPECT_THROW((void)apps::application("knitting"), UsageError);
    ASSERT_NE(apps::text_instead_of("colour.xml"), nullptr);
    EXPECT_EQ(Application::parse(apps::text_instead_of("colour.xml"), "", {.components = &components}).name(),
              "colour");
    EXPECT_EQ(apps::text_instead_of("knitting.xml"), nullptr);
}

TEST(WrittenFiles, matrices_are_read_from_files_and_their_sum_is_written_to_one) {
    const Folder folder;
    const std::size_t shape[] = {12, 9};
    const auto a = random_values(108, 1, -1), b = random_values(108, 2, -1);
    apps::write_array<float>(folder / "a.npy", shape, a);
    apps::write_array<float>(folder / "b.npy", shape, b);
    const auto components = with_files();
    Machine machine{{.targets = 2}};
    apps::application("addition",
                      {.settings = {{"a", folder / "a.npy"}, {"b", folder / "b.npy"}, {"sum", folder / "sum.npy"}},
                       .components = &components})
        .start(machine)
        .finish();
    const auto sum = apps::read_array<float>(folder / "sum.npy");
    EXPECT_EQ(sum.shape, (std::vector<std::size_t>{12, 9}));
    ASSERT_EQ(sum.values.size(), a.size());
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_EQ(sum.values[i], a[i] + b[i]);
}

TEST(WrittenFiles, what_files_hold_is_told_where_it_is_not_what_is_wanted) {
    const Folder folder;
    const std::size_t shape[] = {2, 3};
    apps::write_array<double>(folder / "a.npy", shape, std::vector<double>(6, 0.5));
    const auto components = with_files();
    Machine machine{{.targets = 1}};
    const auto what = [&](const std::string& file) {
        try {
            apps::application("addition", {.settings = {{"a", file}}, .components = &components})
                .start(machine)
                .finish();
        } catch (const FilterFailed& failure) {
            return std::string(failure.what());
        }
        return std::string();
    };
    EXPECT_NE(what(folder / "a.npy").find("holds elements of type '<f8', and should hold '<f4'"), std::string::npos);
    EXPECT_NE(what(folder / "b.npy").find("cannot read the file"), std::string::npos);
    EXPECT_THROW((void)apps::read_picture(folder / "a.npy"), UsageError);
    EXPECT_THROW((void)apps::read_picture(folder / "a.gif"), UsageError);
}

TEST(WrittenFiles, pictures_come_back_from_both_kinds_of_files) {
    const Folder folder;
    const auto picture = apps::spots(5, 7, 1);
    for (const char* name : {"p.npy", "p.ppm"}) {
        apps::write_picture(folder / name, picture);
        const auto again = apps::read_picture(folder / name);
        EXPECT_EQ(again.rows, 5u);
        EXPECT_EQ(again.columns, 7u);
        EXPECT_TRUE(std::ranges::equal(again.rgb.span(), picture.rgb.span())) << name;
    }
}
