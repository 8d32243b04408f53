"""What Doxygen reads of a header: the header, with what its conventions say in Doxygen's words.

- What stands behind a line `// ---- for ...`, up to the end of its part of the class, is not for users.
- A function without a comment has that of the overload before it.
- What every range has, constructors of errors, moves and comparisons of all members are what they always are. So is a name, and a member that is
  called as its type is.
- Members that are declared together share the comment behind them.
- In C, comments are plain: above a line, or behind it. A pointer and its count are an array.
"""

import re
import sys
from pathlib import Path

FUNCTION = re.compile(r"^\s*(?!return|static_assert|else|if|for|while|throw)[\w:<>,&*\s\[\]]*?\b(operator\S+?|\w+)\(")
HEAD = re.compile(r"^\s*(template <.*|requires .*)$")  # of a declaration that goes on
COMMENT = re.compile(r"^\s*///(?!<)\s?(.*)")
ERROR = re.compile(r"^class (\w+) : public \w*(?:Error|Failed|Lost|Cancelled)\b")
MOVE = re.compile(r"^\s*(?:(\w+)\(\1&&|\w+(?:<\w+>)?& operator=\(\w+(?:<\w+>)?&&)")
RANGE = {
    "begin": "The first element.", "end": "Behind the last element.", "data": "The first element's address.", "size": "How many elements there are.",
    "empty": "Are there none?", "operator[]": "An element; the index is not checked.",
}  # fmt: skip
TYPES = re.compile(r"^\s*using (?:value_type|element_type) =")
COMPARISON = re.compile(r"^\s*(?:friend )?bool operator==\(.*= default;")
NAME = re.compile(r"^\s*(?:std::string|const char\*) name(?:\{\})?;$")
CALLED_AS_TYPE = re.compile(r"^\s*(?:\w+::)*([A-Z]\w+) (\w+)(?: = [\w:]+|\{\})?;$")
TOGETHER = re.compile(r"^(\s*)([\w:]+) (\w+(?:, \w+)+);(\s*(?:///<|/\*\*<|/\*).*)$")
OF_THE_LIBRARY = re.compile(r"^\s*static constexpr (?:bool belongs_to_the_program|std::uint64_t kind) =")


def what_it_always_is(line: str) -> str:
    """Of a member without a comment; empty where that is not known."""
    if NAME.match(line):
        return "Its name."
    if (found := CALLED_AS_TYPE.match(line)) and re.sub(r"(?<!^)([A-Z])", r"_\1", found[1]).lower() == found[2]:
        return f"See {found[1]}."
    return ""


def apart(lines: list[str]) -> list[str]:
    """Members that are declared together, one a line, each with the comment behind them."""
    made: list[str] = []
    for line in lines:
        if found := TOGETHER.match(line):
            made += [f"{found[1]}{found[2]} {name};{found[4]}" for name in found[3].split(", ")]
        else:
            made.append(line)
    return made


def cpp(lines: list[str]) -> list[str]:
    made: list[str] = []
    hidden = ""  # the indentation of what is hidden
    error = name = shared = ""
    comment: list[str] = []
    for line in lines:
        if hidden and line.strip() and not line.startswith(hidden):
            made.append("/// @endcond")
            hidden = ""
        if found := re.match(r"^(\s*)// ---- for ", line):
            hidden = found[1]
            made.append("/// @cond")
        if found := COMMENT.match(line):
            comment.append(found[1])
        elif not HEAD.match(line):
            if found := ERROR.match(line):
                error = found[1]
            function = found[1] if (found := FUNCTION.match(line)) else ""
            if OF_THE_LIBRARY.match(line):
                line = f"/// @cond\n{line}\n/// @endcond"
            elif not comment and "///<" not in line:
                if always := what_it_always_is(line):
                    made.append(f"/// {always}")
                elif MOVE.match(line):
                    made.append("/// Moves it.")
                elif COMPARISON.match(line):
                    made.append("/// Equal when all members are.")
                elif TYPES.match(line):
                    made.append("/// Of an element.")
                elif "()" in line and function in RANGE or function == "operator[]":
                    made.append(f"/// {RANGE[function]}")
                elif error and function == error:
                    made.append("/// Made where it is thrown.")
                elif function and function == name and shared:
                    made.insert(len(made) - heads(made), f"/// {shared}")
            elif function:
                name, shared = function, " ".join(comment)
            comment = []
        made.append(line)
    return made


def heads(made: list[str]) -> int:
    """How many lines at the end begin the declaration that goes on."""
    count = 0
    while count < len(made) and HEAD.match(made[-1 - count]):
        count += 1
    return count


def c(lines: list[str]) -> list[str]:
    lines = [f"/** Its name. */ {line}" if NAME.match(line) else line for line in lines]
    text = re.sub(r"(?m)^(\s*)/\* ", r"\1/** ", "\n".join(lines))
    text = re.sub(r"(?m)^(\s*const \w+\* (\w+?)e?s;)\n(\s*size_t \2_count;)$", r"\1 /* the first of them */\n\3 /* how many */", text)
    return re.sub(r"(?m)^([^/\n]*\S[^/\n]*)/\* ", r"\1/**< ", text).split("\n")


if __name__ == "__main__":
    path = Path(sys.argv[1])
    lines = path.read_text().split("\n")
    sys.stdout.write("\n".join(c(apart(lines)) if path.suffix == ".h" else cpp(apart(lines))))
