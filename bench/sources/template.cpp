// Much of the standard library inlined into a few functions, in several namespaces.
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <regex>
#include <sstream>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

namespace shapes {
struct Shape { virtual ~Shape() = default; virtual double area() const = 0; };
template <int Sides> struct Polygon : Shape {
  std::vector<double> sides;
  explicit Polygon(double x) : sides(Sides, x) {}
  double area() const override { return std::accumulate(sides.begin(), sides.end(), 0.0) / Sides; }
};
}  // namespace shapes

namespace {
struct Visitor {
  std::string operator()(int x) const { return std::to_string(x); }
  std::string operator()(double x) const { std::ostringstream out; out << x; return out.str(); }
  std::string operator()(const std::string &x) const { return "\"" + x + "\""; }
};
using Value = std::variant<int, double, std::string>;

std::optional<Value> parse(const std::string &text) {
  static const std::regex number("-?[0-9]+"), real("-?[0-9]+\\.[0-9]*");
  if (std::regex_match(text, number)) return std::stoi(text);
  if (std::regex_match(text, real)) return std::stod(text);
  if (text.empty()) return std::nullopt;
  return text;
}

template <typename Range, typename Function> auto mapped(const Range &range, Function f) {
  std::vector<decltype(f(*range.begin()))> out;
  std::transform(range.begin(), range.end(), std::back_inserter(out), f);
  return out;
}
}  // namespace

#ifndef PART
int main(int argc, char **argv) {
  std::vector<std::string> words(argv, argv + argc);
  for (int i = 0; i < 50; i++) words.push_back(std::to_string(i * 7919 % 101) + (i % 3 ? ".5" : ""));
  std::unordered_map<std::string, std::vector<size_t>> index;
  for (size_t i = 0; i < words.size(); i++) index[words[i]].push_back(i);
  std::map<size_t, std::string, std::greater<>> by_count;
  for (const auto &[word, places] : index) by_count.emplace(places.size() * 1000 + word.size(), word);
  std::sort(words.begin(), words.end(), [](const auto &a, const auto &b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
  std::vector<std::unique_ptr<shapes::Shape>> all;
  all.push_back(std::make_unique<shapes::Polygon<3>>(argc));
  all.push_back(std::make_unique<shapes::Polygon<4>>(2.5));
  auto values = mapped(words, [](const std::string &word) { return parse(word).value_or(Value(0)); });
  std::stringstream out;
  for (const auto &value : values) out << std::visit(Visitor{}, value) << ' ';
  std::function<double()> sum = [&] {
    return std::accumulate(all.begin(), all.end(), 0.0, [](double x, auto &one) { return x + one->area(); });
  };
  std::cout << out.str() << sum() << ' ' << by_count.begin()->second << '\n';
}
#endif
