// Just enough JSON to write a report.
#pragma once

#include <string>
#include <string_view>

namespace bench {

/// Writes objects and arrays, with the commas and indents in the right places.
class JsonWriter {
  public:
    void open(char bracket);  ///< '{' or '[' as a value of the array, or as the whole text
    void open(std::string_view key, char bracket);
    void close();
    void value(std::string_view key, std::string_view text);
    void value(std::string_view key, const char* text) { value(key, std::string_view(text)); }
    void value(std::string_view key, double number);  ///< null when it is not finite
    void value(std::string_view key, bool truth);
    const std::string& text() const { return text_; }

  private:
    void next();
    void key(std::string_view name);
    void quote(std::string_view text);

    std::string text_;
    std::string closing_;  // the brackets still to be closed, innermost last
    bool first_ = true;
};

}  // namespace bench
