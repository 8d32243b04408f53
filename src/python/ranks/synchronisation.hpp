// Flags and counters as Python has them: with the session that says whether they may be used.
#pragma once

#include <memory>

#include "penstock/flag.hpp"
#include "python/ranks/rank_session.hpp"

namespace penstock::python {

template <class Word>
struct PythonWord {
    std::shared_ptr<RankSession> session;
    Word word;

    Word& use() {
        session->check();
        return word;
    }
    const Word& use() const {
        session->check();
        return word;
    }
};

using PythonFlag = PythonWord<Flag>;
using PythonRemoteFlag = PythonWord<RemoteFlag>;
using PythonCounter = PythonWord<Counter>;
using PythonRemoteCounter = PythonWord<RemoteCounter>;

}  // namespace penstock::python
