// main -> sort_all -> std::sort -> by_tail, main -> match_all -> std::regex, main -> call_all -> std::function.
#include "workload.h"
#include <algorithm>
#include <functional>
#include <map>
#include <regex>
#include <string>
#include <vector>

namespace shop {
template <typename T> struct Basket {
    std::vector<T> items;
    FRAME void sort_all() {
        std::sort(items.begin(), items.end(), [](const T &a, const T &b) { return a.substr(1) < b.substr(1); });
        STAY;
    }
    FRAME long match_all() const {
        static const std::regex pattern("([a-z]+)([0-9]+)");
        long found = 0;
        for (const T &item : items)
            found += std::regex_match(item, pattern);
        STAY;
        return found;
    }
    FRAME long call_all(const std::function<long(const T &)> &function) const {
        long sum = 0;
        for (const T &item : items)
            sum += function(item);
        STAY;
        return sum;
    }
};
} // namespace shop

int main(int argc, char **argv) {
    workload_begin(argc, argv);
    long sum = 0;
    while (workload_runs()) {
        shop::Basket<std::string> basket;
        std::map<std::string, int> counts;
        for (unsigned long i = 0; i < 2000; i++)
            basket.items.push_back("item" + std::to_string(workload_mix(i, 3) % 10000));
        basket.sort_all();
        sum += basket.match_all();
        sum += basket.call_all([&](const std::string &item) { return (long)counts[item]++; });
    }
    return sum == 1;
}
