#include "components/ends/names.hpp"

#include <mutex>

namespace penstock::components {
namespace {

std::mutex lock;
std::vector<std::weak_ptr<const FilesRead>> told;  ///< under it

}  // namespace

std::shared_ptr<const FilesRead> FilesRead::tell(FilesRead read) {
    auto made = std::make_shared<const FilesRead>(std::move(read));
    const std::lock_guard guard(lock);
    std::erase_if(told, [](const auto& each) { return each.expired(); });
    told.push_back(made);
    return made;
}

std::shared_ptr<const FilesRead> FilesRead::find(const std::string& path, const std::string& endings) {
    const std::lock_guard guard(lock);
    for (auto at = told.rbegin(); at != told.rend(); ++at)
        if (const auto read = at->lock(); read != nullptr && read->path == path)
            if (endings.empty() || read->endings == endings) return read;
    return nullptr;
}

}  // namespace penstock::components
