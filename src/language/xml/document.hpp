// A file of the language as a tree of elements that know where they stand. Reading refuses what the language does not
// need and what attacks: document types, entities, processing instructions, text that is not UTF-8, files that are too
// large or too deep.
#pragma once

#include "penstock/application.hpp"

namespace penstock::language {

struct Spot {
    int line = 1, column = 1;
};

struct Attribute {
    std::string name, value;
    Spot at;
};

struct Element {
    std::string name;
    Spot at{};
    const std::string* file = nullptr;  ///< its name; belongs to the document
    std::vector<Attribute> attributes{};
    std::vector<Element> children{};
    std::vector<std::string> comments{};       ///< before it; only where they were asked for, as these:
    std::vector<std::string> last_comments{};  ///< behind its last child

    const Attribute* attribute(std::string_view wanted) const noexcept;
    /// Of an attribute; "" where it is not there.
    const std::string& value(std::string_view wanted) const noexcept;
    SourcePlace place() const { return {*file, at.line, at.column}; }
    SourcePlace place_of(std::string_view attribute_name) const;
    /// Gives an attribute a value; a new one becomes the last.
    void set(std::string_view attribute_name, std::string value);
    void erase(std::string_view attribute_name);
};

struct Document {
    std::string file;
    Element root;
};

enum class Comments { dropped, kept };

/// Null when it cannot be read at all; findings say why.
std::unique_ptr<Document> read_document(std::string text, const std::string& file, const ApplicationLimits& limits,
                                        std::vector<Finding>& findings, Comments comments = Comments::dropped);

/// The document as XML, two spaces a level: the same tree gives the same bytes, and these give the same tree.
std::string text_of(const Document& document);
/// ` name="value"`, as it stands in a file. Throws UsageError for what XML cannot hold.
std::string attribute_text(std::string_view name, std::string_view value);

/// The content of a file. Throws SystemError; UsageError when it is larger than `most` bytes.
std::string read_file(const std::string& path, std::size_t most);

/// What would refuse the text before it is parsed: where, and in words; nothing when it may be parsed.
struct Refusal {
    std::size_t offset = 0;
    std::string message{};
};
Refusal refusal_of(std::string_view text, const ApplicationLimits& limits);

inline constexpr std::string_view namespace_name = "urn:penstock:application:1";
/// Finds what is wrong with names, attributes and nesting, below and at `root`, which should be one of this name. The
/// schema share/penstock/application.rng says the same. False: it has another name.
bool check_grammar(const Element& root, std::string_view name, std::vector<Finding>& findings);

void add_error(std::vector<Finding>& findings, SourcePlace where, std::string message);
bool has_errors(const std::vector<Finding>& findings) noexcept;
/// The warnings. Throws ApplicationError with the errors, if there are any.
std::vector<Finding> warnings_of(std::vector<Finding> findings);

}  // namespace penstock::language
