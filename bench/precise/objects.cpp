// Virtual calls, small methods, closures, containers, and exceptions that pass through frames with destructors.
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#define NOINLINE __attribute__((noinline))

static volatile unsigned sink;

struct Shape {
    virtual ~Shape() = default;
    NOINLINE virtual unsigned area() const = 0;
    NOINLINE virtual unsigned scaled(unsigned by) const { return area() * by; }
};
struct Square : Shape {
    unsigned side;
    explicit Square(unsigned side) : side(side) {}
    NOINLINE unsigned area() const override { return side * side; }
};
struct Box : Shape {
    unsigned width, height;
    Box(unsigned width, unsigned height) : width(width), height(height) {}
    NOINLINE unsigned area() const override { return width * height; }
    NOINLINE unsigned scaled(unsigned by) const override { return Shape::scaled(by) + width; }
};
struct Group : Shape {
    std::vector<std::unique_ptr<Shape>> parts;
    NOINLINE unsigned area() const override {
        unsigned total = 0;
        for (const auto &part : parts)
            total += part->area();
        return total;
    }
};

struct Guard {
    unsigned &count;
    explicit Guard(unsigned &count) : count(count) {}
    NOINLINE ~Guard() { count++; }
};

NOINLINE static unsigned checked(unsigned value, unsigned &count) {
    Guard guard(count);
    if (value % 5 == 0)
        throw std::runtime_error("five");
    return value * 3;
}
NOINLINE static unsigned through(unsigned value, unsigned depth, unsigned &count) {
    Guard guard(count);
    return depth ? through(value, depth - 1, count) + 1 : checked(value, count);
}

template <class T> struct Point {
    T x, y;
    NOINLINE T get_x() const { return x; }
    NOINLINE T get_y() const { return y; }
    NOINLINE Point operator+(const Point &other) const { return {get_x() + other.get_x(), get_y() + other.get_y()}; }
};

NOINLINE static unsigned visit(const std::function<unsigned(unsigned)> &call, unsigned value) { return call(value); }

int main(int count, char **arguments) {
    unsigned rounds = count > 1 ? unsigned(std::atoi(arguments[1])) : 1000000;
    Group group;
    group.parts.emplace_back(new Square(3));
    group.parts.emplace_back(new Box(2, 5));
    std::map<unsigned, std::string> names;
    for (unsigned i = 0; i < rounds; i++) {
        unsigned guards = 0, total = group.scaled(i & 3);
        for (const auto &part : group.parts)
            total += part->scaled(i);
        Point<long> sum = Point<long>{long(i), 2} + Point<long>{3, long(i)};
        total += unsigned(sum.get_x() + sum.get_y());
        total += visit([&](unsigned value) { return value + total; }, i);
        if (i % 4 == 0) {
            try {
                total += through(i / 4, i / 4 & 3, guards);
            } catch (const std::exception &error) {
                total += unsigned(error.what()[0]);
            }
        }
        std::vector<unsigned> some;
        for (unsigned k = 0; k < 6; k++)
            some.push_back(i * 2654435761u >> k);
        std::sort(some.begin(), some.end(), [](unsigned a, unsigned b) { return (a & 255) < (b & 255); });
        names[i % 16] = std::to_string(total);
        sink = sink + total + guards + unsigned(names[i % 7].size());
    }
    return 0;
}
