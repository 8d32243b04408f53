// NumPy's arrays (.npy): one buffer for each item along the first dimension.
#include <tuple>

#include "components/classes.hpp"
#include "components/files/beside.hpp"
#include "components/files/npy.hpp"
#include "penstock/components.hpp"

namespace penstock::components {
namespace {

template <class T>
struct ReadArray {
    Output<T> items{"items"};
    Setting<std::string> path{"path", "", {.doc = "A .npy file, rows first, of 1 to 4 dimensions."}};
    Setting<std::int64_t> passes{"passes", 1, {.least = 1, .doc = "How often it is read."}};
    std::uint64_t next = 0;
    auto state() { return std::tie(next); }

    void start() {
        if (path.get().empty()) throw UsageError("it is not said which array is read: set `path`");
        file_ = std::make_shared<const MappedFile>(path);
        header_ = npy_header(file_->bytes(), npy_type<T>(), sizeof(T), path);
        if (header_.shape.empty() || header_.shape.size() > 4)
            throw UsageError("the file '" + path.get() + "' has " + std::to_string(header_.shape.size()) +
                             " dimensions, and should have 1 to 4");
        if (reinterpret_cast<std::uintptr_t>(file_->bytes().data() + header_.begin) % alignof(T) != 0)
            throw UsageError("the file '" + path.get() +
                             "' has elements that are not aligned: save it again with NumPy");
    }
    bool operator()() {
        const auto& shape = header_.shape;
        if (next >= shape[0] * static_cast<std::uint64_t>(passes.get())) return false;
        const std::size_t number = next % shape[0], size = header_.elements / shape[0];
        const auto* const at = reinterpret_cast<const T*>(file_->bytes().data() + header_.begin) + number * size;
        auto buffer = shape.size() == 3   ? items.wrap(view<const T, 2>{at, {shape[1], shape[2]}}, file_)
                      : shape.size() == 4 ? items.wrap(view<const T, 3>{at, {shape[1], shape[2], shape[3]}}, file_)
                                          : items.wrap(std::span(at, size), file_);
        buffer.edit_tags() = {.sequence = next++, .time = number, .user = {number, 0}};
        items.write(std::move(buffer));
        return true;
    }

  private:
    std::shared_ptr<const MappedFile> file_;
    NpyHeader header_;
};

/// Each item goes to its place in the file at once: nothing is kept.
template <class T>
struct WriteArray {
    Input<T> items{"items"};
    Setting<std::string> path{"path", "", {.doc = "A .npy file."}};

    void start() {
        if (path.get().empty()) throw UsageError("it is not said which array is written: set `path`");
        file_ = std::make_unique<FileBeside>(path);
    }
    void operator()() {
        const auto read = items.read();
        std::vector<std::size_t> shape;
        for (std::size_t d = 0; d < read.rank(); ++d) shape.push_back(read.extent(d));
        if (count_ == 0) shape_ = shape;
        if (shape != shape_)
            throw UsageError("the items of '" + path.get() + "' have different shapes: an array holds those of one");
        const auto number = read.tags().user[0];
        if (const auto item = std::max<std::size_t>(1, read.size() * sizeof(T)); number >= most_bytes / item)
            throw UsageError("an item of '" + path.get() + "' has the number " + std::to_string(number) +
                             " (user[0]), which no file is long enough for");
        count_ = std::max(count_, number + 1);
        file_->write_at(head + number * read.size() * sizeof(T), std::as_bytes(read.span()));
    }
    void finish() {
        shape_.insert(shape_.begin(), count_);
        const auto text = npy_head(npy_type<T>(), shape_, head);
        file_->write_at(0, std::as_bytes(std::span(text)));
        file_->put_in_place();
    }

  private:
    static constexpr std::uint64_t most_bytes = std::uint64_t{1} << 62;
    static constexpr std::size_t head = 192;  ///< room for every shape of four dimensions
    std::unique_ptr<FileBeside> file_;
    std::vector<std::size_t> shape_;
    std::uint64_t count_ = 0;
};

template <class T>
void add_type(Components& components, const std::string& type) {
    components.add<ReadArray<T>>(
        "read-array:" + type,
        "Each item of a .npy file of " + type + ", along its first dimension; user[0] and the time are its number.");
    components.add<WriteArray<T>>("write-array:" + type, "Buffers of one shape as a .npy file of " + type +
                                                             ", each at the place that its number (user[0]) says.");
}

}  // namespace

void add_arrays(Components& components) {
    add_type<std::uint8_t>(components, "uint8");
    add_type<std::uint32_t>(components, "uint32");
    add_type<float>(components, "float32");
    add_type<double>(components, "float64");
    add_type<std::complex<float>>(components, "complex64");
}

}  // namespace penstock::components
