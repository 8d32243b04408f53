// Words of C++.
#include <cstdio>

#include "language/passes/transforming.hpp"

namespace penstock::language {
namespace {

constexpr std::string_view taken =
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl concept const "
    "consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default delete do "
    "double dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable "
    "namespace new noexcept not not_eq nullptr operator or or_eq private protected public register "
    "reinterpret_cast requires return short signed sizeof static static_assert static_cast struct switch template "
    "this thread_local throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t "
    "while xor xor_eq main app parameters penstock std joined count arguments";

/// Does C++ calculate with the numbers of an expression, where two of them meet, as the language does? Not with large
/// integers, nor `%` of fractions.
bool means_the_same(std::string_view text) {
    std::size_t digits = 0;
    for (const char letter : text) {
        digits = letter >= '0' && letter <= '9' ? digits + 1 : 0;
        if (digits > 4 || letter == '%') return false;
    }
    return true;
}

/// What stands in `${...}`; where needed, numbers are made values, which calculate as the language does.
std::string calculation(std::string_view text) {
    const bool plain = means_the_same(text);
    std::string out;
    for_each_piece(text, first_of_expression, [&](const Piece& piece) {
        if (piece.kind == Piece::Kind::name) out += identifier(piece.text);
        if (piece.kind == Piece::Kind::other) out += piece.text;
        if (piece.kind != Piece::Kind::number) return;
        const auto integer = integer_of(piece.text);
        const auto number = integer ? text_of(*integer) : literal_of(std::string(piece.text), 0.0);
        out += plain ? number : "ParameterValue(" + number + ")";
    });
    return out;
}

}  // namespace

std::string cpp_text(std::string_view text) {
    std::string out = "\"";
    bool after_code = false;
    for (const char letter : text) {
        const auto code = static_cast<unsigned char>(letter);
        if (letter == '"' || letter == '\\') out += '\\', out += letter;
        else if (letter == '\n') out += "\\n";
        else if (code < 0x20) {
            char octal[8];
            // three digits end by themselves
            std::snprintf(octal, sizeof octal, "\\%03o", static_cast<unsigned>(code));
            out += octal;
        } else if (letter == '?' && after_code) out += "\\?";  // no trigraphs
        else out += letter;
        after_code = letter == '?';
    }
    return out + "\"";
}

std::string identifier(std::string_view name) {
    std::string out(name);
    std::replace(out.begin(), out.end(), '-', '_');
    if (stands_in_list(taken, out)) out += '_';
    return out;
}

std::string literal_of(const std::string& text, const SettingValue& like) {
    if (like.index() == 3) return cpp_text(text);
    if (like.index() == 2 && text.find_first_of(".e") == text.npos) return text + ".0";
    if (like.index() == 1 && text == "-9223372036854775808") return "std::numeric_limits<std::int64_t>::min()";
    return text;
}

std::string expression_of(std::string_view text) {
    std::vector<std::string> parts;
    std::string plain;
    const auto end_plain = [&] {
        if (!plain.empty()) parts.push_back(cpp_text(plain));
        plain.clear();
    };
    for_each_piece(text, first_of_text, [&](const Piece& piece) {
        if (piece.kind != Piece::Kind::expression) return void(plain += piece.text == "$$" ? "$" : piece.text);
        end_plain();
        parts.push_back(calculation(piece.inside()));
    });
    end_plain();
    return parts.size() == 1 ? parts.front() : "joined(" + list_of(parts, ", ") + ")";
}

std::string listed(const std::vector<std::string>& parts) {
    return parts.empty() ? "" : ", {" + list_of(parts, ", ") + "}";
}

std::string commented(std::string_view comment, const std::string& indent) {
    std::string out;
    for (std::size_t begin = 0; begin <= comment.size();) {
        const auto end = std::min(comment.find('\n', begin), comment.size());
        auto line = comment.substr(begin, end - begin);
        const auto first = line.find_first_not_of(" \t\r"), last = line.find_last_not_of(" \t\r\\");
        if (first != line.npos && last != line.npos)
            out += indent + "// " + std::string(line.substr(first, last - first + 1)) + "\n";
        begin = end + 1;
    }
    return out;
}

}  // namespace penstock::language
