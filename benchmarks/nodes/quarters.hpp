// Nodes of a quarter of a processor each.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "nodes/bare.hpp"

namespace bench {

/// A group of control for each node that gives it a quarter of a processor; null where there is none to be had.
class Quarters {
  public:
    static std::unique_ptr<Quarters> make(int count, std::string& why) {
        std::unique_ptr<Quarters> made(new Quarters);
        for (int i = 0; i < count; ++i) {
            const auto first = "/sys/fs/cgroup/cpu/penstock-bench-" + std::to_string(i);
            const auto second = "/sys/fs/cgroup/penstock-bench-" + std::to_string(i);
            const auto third = "echo 25000 > " + first + "/cpu.cfs_quota_us";
            if (succeeds("mkdir -p " + first) && succeeds("sh -c '" + third + "'")) made->paths_.push_back(first);
            else if (succeeds("mkdir -p " + second) &&
                     succeeds("sh -c 'echo \"25000 100000\" > " + second + "/cpu.max'"))
                made->paths_.push_back(second);
            else return why = "no group of control with a limit on its processor time can be made", nullptr;
        }
        return made;
    }
    ~Quarters() {
        for (const auto& path : paths_) succeeds("rmdir " + path);
    }
    void put(int process, std::size_t which) const {
        succeeds("sh -c 'echo " + std::to_string(process) + " > " + paths_[which] + "/cgroup.procs'");
    }

  private:
    std::vector<std::string> paths_;
};

}  // namespace bench
