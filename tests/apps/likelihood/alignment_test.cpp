#include "apps/likelihood/alignment.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "apps/likelihood/patterns.hpp"

namespace {

using namespace penstock::apps::likelihood;

std::string row(const Alignment& alignment, std::size_t i) {
    std::string text;
    for (const Bases bases : alignment.sequences[i]) text += letter_of(bases);
    return text;
}

/// What the refusal says; empty where there is none.
template <class Parse>
std::string refusal(Parse parse) {
    try {
        parse();
    } catch (const MalformedFile& error) {
        return error.what();
    }
    return "";
}

std::string phylip_refusal(const std::string& text) {
    return refusal([&] { parse_phylip(text, "a.phy"); });
}
std::string fasta_refusal(const std::string& text) {
    return refusal([&] { parse_fasta(text, "a.fa"); });
}

TEST(Phylip, is_read_whole_interleaved_and_with_names_of_ten_characters) {
    const char* const texts[] = {
        "3 8\none ACGTACGT\ntwo ACGTACGA\nthree NNRY-?xu\n",
        "3 8\r\none   ACGT\r\ntwo   ACGT\r\nthree NNRY\r\n\r\nACGT\r\nACGA\r\n-?xu\r\n",
        "  3   8\none\nACGT ACGT\ntwo AC\nGTACGA\nthree NNRY-?xu",
        "3 8\none       ACGT ACGT\ntwo       ACGTACGA\nthree     NNRY-?xu",
    };
    for (const char* const text : texts) {
        const Alignment alignment = parse_phylip(text, "a.phy");
        EXPECT_EQ(alignment.names, (std::vector<std::string>{"one", "two", "three"})) << text;
        EXPECT_EQ(row(alignment, 0), "ACGTACGT") << text;
        EXPECT_EQ(row(alignment, 1), "ACGTACGA") << text;
        EXPECT_EQ(row(alignment, 2), "--RY---T") << text;
    }
    const Alignment glued = parse_phylip("3 4\nHomo sapieACGT\nPan trogloACGA\nGorilla   ACGC\n", "a.phy");
    EXPECT_EQ(glued.names[0], "Homo sapie");
    EXPECT_EQ(row(glued, 1).substr(0, 3), "ACG");
}

TEST(Phylip, is_refused_with_its_name_the_line_and_what_is_wrong) {
    EXPECT_EQ(phylip_refusal(""), "a.phy: it is empty");
    EXPECT_EQ(phylip_refusal("three 8\n"),
              "a.phy:1: a PHYLIP file begins with the numbers of sequences and sites, and this one with 'three 8'");
    EXPECT_EQ(phylip_refusal("3 8 I\n"), "a.phy:1: ' I' stands behind the numbers of sequences and sites");
    EXPECT_EQ(phylip_refusal("4 4\na ACGT\nb ACGT\nc ACGT\n"), "a.phy:4: 4 sequences are announced, and there are 3");
    EXPECT_NE(phylip_refusal("3 4\na ACGT\nb ACG\nc ACGT\n").find("sites where 4 are announced"), std::string::npos);
    EXPECT_EQ(phylip_refusal("3 4\na ACGT\nb ACGT\nc ACJT\n"), "a.phy:4: 'J' is no base");
    EXPECT_EQ(phylip_refusal("3 4\na ACGT\na ACGT\nc ACGT\n"), "a.phy:3: the name a occurs a second time");
    EXPECT_EQ(phylip_refusal("2 4\na ACGT\nb ACGT\n"), "a.phy: a tree needs at least 3 sequences; there are 2");
    EXPECT_EQ(phylip_refusal("3 4\na ACGT\nb ..GT\nc ACGT\n"),
              "a.phy:3: '.' is no base: write the base itself, or - for a gap");
    EXPECT_NE(phylip_refusal("18446744073709551615 18446744073709551615\na A\n"), "");
    EXPECT_NE(phylip_refusal(std::string("3 4\na AC\0T\nb ACGT\nc ACGT\n", 25)).find("\\x00"), std::string::npos);
}

TEST(Fasta, is_read) {
    const Alignment alignment =
        parse_fasta(">one more words\nACGT\nacgu\n\n> two\r\nACGTACGA\r\n>three\nNNRY\n-?xu", "a.fa");
    EXPECT_EQ(alignment.names, (std::vector<std::string>{"one", "two", "three"}));
    EXPECT_EQ(row(alignment, 0), "ACGTACGT");
    EXPECT_EQ(row(alignment, 2), "--RY---T");
}

TEST(Fasta, is_refused_with_its_name_the_line_and_what_is_wrong) {
    EXPECT_EQ(fasta_refusal(""), "a.fa: it is empty");
    EXPECT_EQ(fasta_refusal("ACGT\n"), "a.fa:1: a FASTA file begins with '>' and a name");
    EXPECT_EQ(fasta_refusal(">a\nACGT\n>b\nACG\n>c\nACGT\n"),
              "a.fa:3: the sequence b has 3 sites, and a has 4: sequences must be aligned");
    EXPECT_EQ(fasta_refusal(">a\n>b\n>c\n"), "a.fa:1: the sequence a is empty");
    EXPECT_EQ(fasta_refusal(">a\nACGT\n>\nACGT\n"), "a.fa:3: a sequence without a name");
    EXPECT_EQ(fasta_refusal(">a\nACGT\n>a\nACGT\n>c\nACGT\n"), "a.fa:3: the name a occurs a second time");
    EXPECT_EQ(fasta_refusal(">a\nAC*T\n"), "a.fa:2: '*' is no base");
}

TEST(Alignments, survive_a_round_trip) {
    const Alignment alignment = parse_fasta(">a\nACGTRYSWKMBDHVN\n>b\nAAAAAAAAAAAAAAA\n>c\nCCCCCCCCCCCCCCC\n", "a");
    const Alignment again = parse_phylip(to_phylip(alignment), "b");
    EXPECT_EQ(again.names, alignment.names);
    EXPECT_EQ(again.sequences, alignment.sequences);
}

TEST(Alignments, of_any_bytes_are_read_or_refused) {
    const std::string good[] = {"3 8\none   ACGT\ntwo   ACGT\nthree NNRY\n\nACGT\nACGA\n-?xu\n",
                                ">one\nACGT\n>two\nACGA\n>three\nNN-?\n"};
    std::mt19937 random(1);
    std::size_t read = 0;
    for (int i = 0; i < 20'000; ++i) {
        std::string text = good[i % 2];
        for (std::size_t change = random() % 4 + 1; change > 0; --change) {
            const std::size_t at = random() % (text.size() + 1);
            switch (random() % 4) {
                case 0:
                    text.insert(at, 1, static_cast<char>(random()));
                    break;
                case 1:
                    text.erase(at, random() % 5);
                    break;
                case 2:
                    text.insert(at, text.substr(random() % text.size(), random() % 9));
                    break;
                default:
                    if (at < text.size()) text[at] = "ACGT>\n 0123456789"[random() % 17];
            }
            if (text.empty()) text = "x";
        }
        for (const auto parse : {&parse_phylip, &parse_fasta}) {
            try {
                const Alignment alignment = parse(text, "a");
                ++read;
                ASSERT_EQ(alignment.sequences.size(), alignment.names.size());
                for (const auto& sequence : alignment.sequences) ASSERT_EQ(sequence.size(), alignment.sites());
            } catch (const MalformedFile& error) {
                ASSERT_EQ(error.file(), "a");
            }
        }
    }
    EXPECT_GT(read, 100u);
}

TEST(Patterns, count_columns_that_are_alike_once) {
    const Alignment alignment = parse_fasta(">a\nAACAN\n>b\nAACA-\n>c\nGGTTR\n", "a");
    const Patterns patterns(alignment);
    EXPECT_EQ(patterns.count(), 4u);  // AAG twice, CCT, AAT, NNR
    EXPECT_EQ(patterns.blocks(), 1u);
    EXPECT_EQ(patterns.weights()[0], 2.0);
    EXPECT_EQ(patterns.bases()[patterns.codes(2)[0]], 4);
    EXPECT_EQ(patterns.bases()[patterns.codes(0)[15]], any_base);
    EXPECT_EQ(patterns.weights()[15], 0.0);
}

TEST(BaseShares, split_what_may_be_several_bases_by_their_shares) {
    const auto shares = base_shares(parse_fasta(">a\nAAAR\n>b\nAAGN\n>c\nCCT-\n", "a"));
    // A 5, C 2, G 1, T 1, and one R, of which 5 parts in 6 are A in the end.
    EXPECT_NEAR(shares[0], (5 + 5.0 / 6) / 10, 1e-12);
    EXPECT_NEAR(shares[2], (1 + 1.0 / 6) / 10, 1e-12);
    EXPECT_NEAR(shares[1], 0.2, 1e-12);
}

}  // namespace
