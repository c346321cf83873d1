// What the fake device saw the driver do wrong. Recorded instead of thrown, so that one run shows
// all of it.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fit::fake {

struct Violation {
    std::string
        id; // row of doc/conformance.md ("SPL_04"), or "MEMORY" for an address outside all regions
    std::string text;
};

// Not thread-safe: one thread plays the device, and the list is read after it has ended.
class Violations {
  public:
    void add(std::string id, std::string text)
    {
        list_.push_back({std::move(id), std::move(text)});
    }
    void clear() { list_.clear(); }

    [[nodiscard]] bool empty() const { return list_.empty(); }
    [[nodiscard]] size_t size() const { return list_.size(); }
    [[nodiscard]] size_t count(std::string_view id) const
    {
        return static_cast<size_t>(std::count_if(list_.begin(), list_.end(),
                                                 [&](const Violation& v) { return v.id == id; }));
    }
    // One line per violation; the empty string when there is none, so that a failed
    // EXPECT_EQ(report(), "") says all.
    [[nodiscard]] std::string report() const
    {
        std::string lines;
        for (const Violation& v : list_)
            lines += v.id + ": " + v.text + "\n";
        return lines;
    }

  private:
    std::vector<Violation> list_;
};

} // namespace fit::fake
