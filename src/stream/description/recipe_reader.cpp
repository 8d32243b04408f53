// Filters that come from another machine, by the languages that this process speaks.
#include <map>

#include "penstock/filter.hpp"
#include "process/fork.hpp"

namespace penstock::streaming {
namespace {

struct Readers {
    ProcessMutex lock;
    std::map<std::string, FilterKind::RecipeReader> all;
};

Readers& readers() {
    static Readers every;
    return every;
}

}  // namespace

void FilterKind::read_recipes(const std::string& form, RecipeReader reader) {
    const std::lock_guard guard(readers().lock);
    readers().all[form] = reader;
}

std::shared_ptr<const FilterKind> FilterKind::of_recipe(const Recipe& recipe) {
    RecipeReader reader = nullptr;
    {
        const std::lock_guard guard(readers().lock);
        if (const auto found = readers().all.find(recipe.form); found != readers().all.end()) reader = found->second;
    }
    if (reader == nullptr)
        throw UsageError("this process makes no filters of the form '" + recipe.form +
                         "': start the agent where that language is (penstock agent)");
    return reader(recipe);
}

}  // namespace penstock::streaming
