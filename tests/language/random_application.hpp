// Random applications: chains of everything that the language has, whose results do not depend on who is faster.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "language/support.hpp"

namespace written {

class RandomApplication {
  public:
    explicit RandomApplication(unsigned seed) : random_(seed) {}

    std::string text() {
        std::string groups;
        for (int i = 0; i < 2; ++i) groups += group("g" + std::to_string(i), i);
        std::string body = "<parameter name=\"n\" type=\"integer\" default=\"" + std::to_string(1 + below(4)) +
                           "\"/>\n<parameter name=\"f\" type=\"number\" default=\"" + std::to_string(1 + below(3)) +
                           "\"/>\n<event name=\"e\"/>\n" + groups +
                           "<component name=\"source\" class=\"numbers\"><set name=\"count\" value=\"" +
                           std::to_string(4 + below(12)) + "\"/></component>\n";
        const auto last = chain(body, "source.out", 1 + static_cast<int>(below(4)), 2, {"n"}, {"f"});
        body += "<component name=\"keep\" class=\"keep\"/>\n<stream from=\"" + last + "\" to=\"keep.in\"/>\n";
        return application(body);
    }

  private:
    using Names = std::vector<std::string>;

    unsigned below(unsigned n) { return static_cast<unsigned>(random_() % n); }
    std::string fresh(const std::string& kind) { return kind + std::to_string(++names_); }

    std::string number(const Names& integers, const Names& numbers) {
        std::string text = std::to_string(1 + below(3));
        if (!integers.empty() && below(2))
            text = "${" + integers[below(static_cast<unsigned>(integers.size()))] + " * 2 - 1}";
        else if (!numbers.empty() && below(2))
            text = "${" + numbers[below(static_cast<unsigned>(numbers.size()))] + (below(2) ? "" : " / 2 + 1") + "}";
        return text;
    }
    std::string filter(const std::string& name, const Names& integers, const Names& numbers) {
        constexpr const char* kinds[][2] = {{"scale", "factor"}, {"shift", "offset"}};
        const auto& kind = kinds[below(2)];
        return "<component name=\"" + name + "\" class=\"" + kind[0] + "\"><set name=\"" + kind[1] + "\" value=\"" +
               number(integers, numbers) + "\"/></component>\n";
    }
    static std::string stream(const std::string& from, const std::string& to) {
        return "<stream from=\"" + from + "\" to=\"" + to + "\"/>\n";
    }

    std::string group(const std::string& name, int others) {
        std::string body, ports;
        const auto first = fresh("c");
        body += filter(first, {"n"}, {"f"});
        groups_ = others;
        const auto last = chain(body, first + ".out", static_cast<int>(below(3)), 1, {"n"}, {"f"});
        groups_ = others + 1;
        return "<group name=\"" + name +
               "\"><parameter name=\"n\" type=\"integer\"/><parameter name=\"f\" type=\"number\" default=\"${n + "
               "1}\"/>\n<input name=\"in\" to=\"" +
               first + ".in\"/><output name=\"out\" from=\"" + last + "\"/>\n" + body + "</group>\n";
    }
    std::string use(const std::string& name, const Names& integers, const Names& numbers) {
        auto text = "<use name=\"" + name + "\" group=\"g" + std::to_string(below(static_cast<unsigned>(groups_))) +
                    "\"><set name=\"n\" value=\"";
        text += integers.empty() || below(3) == 0
                    ? std::to_string(1 + below(3))
                    : "${" + integers[below(static_cast<unsigned>(integers.size()))] + (below(2) ? "}" : " + 1}");
        text += "\"/>";
        if (!numbers.empty() && below(2)) text += "<set name=\"f\" value=\"${" + numbers.front() + "}\"/>";
        return text + "</use>\n";
    }

    /// Adds parts behind `from`, and returns where they end.
    std::string chain(std::string& body, std::string from, int length, int depth, Names integers,
                      const Names& numbers) {
        for (int i = 0; i < length; ++i) {
            const auto kind = depth == 0 ? 0 : below(7);
            if (kind == 1 && groups_ > 0) {
                const auto name = fresh("u");
                body += use(name, integers, numbers) + stream(from, name + ".in");
                from = name + ".out";
            } else if (kind == 2) {  // a repetition of stages
                const auto name = fresh("r"), index = fresh("i");
                auto inner = integers;
                inner.push_back(index);
                const auto to =
                    integers.empty() || below(2) ? std::to_string(1 + below(4)) : "${" + integers.front() + "}";
                body += "<component name=\"" + name + "s0\" class=\"pass\"/>\n" + stream(from, name + "s0." + "in");
                std::string stage = groups_ > 0 && below(2) ? use(name + "s${" + index + "}", inner, numbers)
                                                            : filter(name + "s${" + index + "}", inner, numbers);
                // With uses the first one has other ports' names than pass: both are called in and out.
                body += "<repeat index=\"" + index + "\" from=\"1\" to=\"" + to + "\">" + stage +
                        stream(name + "s${" + index + " - 1}.out", name + "s${" + index + "}.in") + "</repeat>\n";
                from = name + "s" + to + ".out";
            } else if (kind == 3 || kind == 4) {  // slices, or tasks
                const auto name = fresh("p"), part = fresh("c");
                std::string inner;
                const bool slices = kind == 3;
                inner += filter(part, integers, numbers);
                if (slices && below(2)) {
                    const auto end = chain(inner, part + ".out", 1, depth - 1, integers, numbers);
                    inner = "<input name=\"in\" to=\"" + part + ".in\"/><output name=\"out\" from=\"" + end + "\"/>\n" +
                            inner;
                } else if (!slices) {
                    inner += groups_ > 0 && below(2) ? use(fresh("u"), integers, numbers)
                                                     : filter(fresh("c"), integers, numbers);
                }
                body += "<parallel name=\"" + name + "\" shape=\"" +
                        (slices ? "slice\" slices=\"" + std::to_string(1 + below(3)) : std::string("task")) + "\">\n" +
                        inner + "</parallel>\n" + stream(from, name + ".in");
                from = name + ".out";
            } else if (kind == 5) {  // an option that stays as it is, or could be switched
                const auto name = fresh("o"), on = fresh("c"), off = fresh("c"), end = fresh("c");
                const bool switched = below(2) == 0;
                body += "<component name=\"" + end + "\" class=\"pass\"/>\n";
                const auto option = "<option name=\"" + name + "\" initially=\"" + (below(2) ? "on" : "off") + "\">" +
                                    filter(on, integers, numbers) + stream(from, on + ".in") +
                                    stream(on + ".out", end + ".in") + "<otherwise>" + filter(off, integers, numbers) +
                                    stream(from, off + ".in") + stream(off + ".out", end + ".in") +
                                    "</otherwise></option>\n";
                body +=
                    switched ? "<manager><on event=\"e\" toggle=\"" + name + "\"/>" + option + "</manager>\n" : option;
                from = end + ".out";
            } else {
                const auto name = fresh("c");
                body += filter(name, integers, numbers) + stream(from, name + ".in");
                from = name + ".out";
            }
        }
        return from;
    }

    std::mt19937 random_;
    int names_ = 0, groups_ = 0;
};

}  // namespace written
