// A second unit that shares much with the first.
#define PART
#include "template.cpp"

int other(const std::vector<std::string> &words) {
  auto sizes = mapped(words, [](const std::string &word) { return word.size(); });
  std::sort(sizes.rbegin(), sizes.rend());
  shapes::Polygon<5> shape(sizes.empty() ? 1.0 : double(sizes[0]));
  return int(shape.area()) + int(parse(words.at(0)).has_value());
}
