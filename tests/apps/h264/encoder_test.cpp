#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "apps/h264/h264.hpp"
#include "apps/h264/streams.hpp"
#include "apps/picture.hpp"
#include "kernels/instruction_set.hpp"
#include "penstock/machine.hpp"

namespace {

using namespace penstock::apps::h264;
namespace kernels = penstock::kernels;

Clip clip(int columns, int rows, std::size_t count) {
    const auto made =
        penstock::apps::spots(static_cast<std::size_t>(rows) + 64, static_cast<std::size_t>(columns) + 64, 3);
    return made_clip(made.all(), {columns, rows}, count, 2);
}

Stream encoded(const Clip& clip, const EncoderSettings& settings,
               const std::function<void(const Job&)>& form = serial) {
    Stream stream;
    form(job_of(clip, settings, stream, true));
    return stream;
}

EncoderSettings settings(const std::map<std::string, std::string>& given) { return settings_of(given); }

TEST(H264, plans_b_pictures_behind_the_later_picture_that_they_refer_to) {
    EncoderSettings two;
    two.b_pictures = 2;
    two.period = 5;
    Planner planner{two};
    std::string order;
    const auto take = [&](const std::vector<Planned>& planned) {
        for (const Planned& one : planned)
            order += " " + std::string(1, "PBI"[static_cast<int>(one.place.type)]) + std::to_string(one.shown) + "/" +
                     std::to_string(one.place.number);
    };
    for (int i = 0; i < 8; ++i) take(planner.add());
    take(planner.finish());
    // The fifth picture is the last before one that needs no other: so it is a P picture.
    EXPECT_EQ(order, " I0/0 P3/1 B1/2 B2/2 P4/2 I5/0 P7/1 B6/2");
}

TEST(H264, finer_quantisers_give_more_bytes_and_pictures_that_are_nearer) {
    const Clip film = clip(96, 64, 3);
    std::size_t bytes = 0;
    double psnr = 0;
    for (const char* quantiser : {"51", "40", "30", "20", "10", "0"}) {
        const Stream stream = encoded(film, settings({{"quantiser", quantiser}}));
        EXPECT_GT(stream.bytes.size(), bytes);
        EXPECT_GT(luma_psnr(film, stream.decoded), psnr);
        bytes = stream.bytes.size();
        psnr = luma_psnr(film, stream.decoded);
    }
    EXPECT_GT(psnr, 55.0);
}

TEST(H264, gives_the_same_bytes_with_every_instruction_set) {
    const Clip film = clip(80, 48, 4);
    for (const char* effort : {"fast", "thorough"}) {
        kernels::limit_instruction_set(kernels::InstructionSet::plain);
        const Stream plain = encoded(film, settings({{"effort", effort}}));
        for (const auto set : {kernels::InstructionSet::vectors16, kernels::InstructionSet::vectors32}) {
            kernels::limit_instruction_set(set);
            EXPECT_EQ(encoded(film, settings({{"effort", effort}})).bytes, plain.bytes) << effort;
        }
    }
}

TEST(H264, refuses_what_it_cannot_encode) {
    for (const auto& [name, value] : std::map<std::string, std::string>{{"quantiser", "52"},
                                                                        {"quantiser", "x"},
                                                                        {"b_pictures", "4"},
                                                                        {"smallest", "12"},
                                                                        {"range", "3"},
                                                                        {"fraction", "3"},
                                                                        {"search", "wide"},
                                                                        {"effort", "none"},
                                                                        {"loop_filter", "2"}})
        EXPECT_THROW(settings({{name, value}}), penstock::UsageError) << name;
    const Clip film = clip(32, 32, 1);
    Stream stream;
    Job job = job_of(film, {}, stream, false);
    for (const Size size : {Size{0, 32}, Size{31, 32}, Size{32, 8194}}) {
        job.size = size;
        EXPECT_THROW(serial(job), penstock::UsageError);
    }
}

class Forms : public testing::TestWithParam<int> {};

// Sizes of one macroblock and of many, settings of every kind.
TEST_P(Forms, of_tasks_and_filters_give_the_bytes_of_the_sequential_one) {
    penstock::Machine machine{{.targets = GetParam()}};
    const std::map<std::string, std::string> kinds[] = {
        {{"effort", "fast"}},
        {{"range", "16"}, {"b_pictures", "2"}, {"period", "4"}},
        {{"effort", "thorough"}, {"loop_filter", "0"}, {"quantiser", "8"}}};
    for (const auto& [columns, rows, count] :
         {std::array{16, 16, 3}, std::array{34, 100, 5}, std::array{150, 70, 7}, std::array{16, 1100, 2}}) {
        const Clip film = clip(columns, rows, static_cast<std::size_t>(count));
        for (const auto& kind : kinds) {
            const Stream wanted = encoded(film, settings(kind));
            const auto same = [&](const char* form, const std::function<void(const Job&)>& encode) {
                const Stream found = encoded(film, settings(kind), encode);
                EXPECT_EQ(found.bytes, wanted.bytes) << form << " " << columns << " x " << rows;
                EXPECT_EQ(found.decoded, wanted.decoded) << form << " " << columns << " x " << rows;
            };
            same("wavefront", [&](const Job& job) { wavefront(job, machine); });
            for (const int copies : {1, 2}) same("streams", [&](const Job& job) { streamed(job, machine, copies); });
            for (const int macroblocks : {0, 1, 3})
                same("dependent", [&](const Job& job) { dependent(job, machine, macroblocks); });
        }
    }
}

INSTANTIATE_TEST_SUITE_P(targets, Forms, testing::Values(0, 1, 3));

}  // namespace
