"""Programs with debugging information of all kinds, made once for all tests here."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

C_SOURCE = r"""
#include <stdio.h>
#include <string.h>
static inline int square(int x) { return x * x + 1; }
static inline int cube(int x) { int r = square(x) * x; for (int i = 0; i < x; i++) r += square(i); return r; }
__attribute__((noinline)) int work(int n) {
  int s = 0;
  for (int i = 0; i < n; i++) { s += cube(i); if (s > 1000) s -= square(n); }
  return s;
}
__attribute__((noinline, cold)) void fail(const char *what) { fprintf(stderr, "%s\n", what); }
int main(int argc, char **argv) {
  if (argc > 9) fail(argv[1]);
  printf("%d\n", work(argc) + cube(argc));
  return strlen(argv[0]) > 1000;
}
"""

CPP_SOURCE = r"""
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>
struct Base { virtual ~Base() {} virtual int f(int x) const { return x; } };
template <int N> struct Derived : Base {
  int f(int x) const override {
    std::vector<int> v(N + x % 7);
    std::iota(v.begin(), v.end(), x);
    std::sort(v.begin(), v.end(), [](int a, int b) { return a * N % 17 < b * N % 17; });
    return v[v.size() / 2];
  }
};
namespace { struct Local { int n; int twice() const { return 2 * n; } }; }
int main(int argc, char **) {
  std::map<std::string, int> m;
  for (int i = 0; i < 100; i++) m[std::to_string(i * 7919 % 100)]++;
  std::vector<std::unique_ptr<Base>> all;
  all.emplace_back(new Derived<3>());
  all.emplace_back(new Derived<5>());
  std::function<int(int)> g = [&](int x) { return x < 2 ? int(m.size()) : x + Local{x}.twice(); };
  int s = 0;
  for (auto &p : all) s += p->f(argc) + g(argc);
  return s > 1000000;
}
"""

RUST_SOURCE = r"""
use std::collections::HashMap;
fn fib(n: u64) -> u64 { if n < 2 { n } else { fib(n - 1) + fib(n - 2) } }
fn main() {
    let mut h: HashMap<String, Vec<u64>> = HashMap::new();
    for i in 0..2000u64 { h.entry(format!("{}", i % 37)).or_default().push(i); }
    let mut v: Vec<_> = h.iter().map(|(k, v)| (v.iter().sum::<u64>(), k.clone())).collect();
    v.sort();
    println!("{:?} {}", v.first(), fib(20));
}
"""

PROGRAMS = {
    "gcc": ("gcc -O2 -g", "a.c"),
    "gcc-dwarf2": ("gcc -O2 -gdwarf-2", "a.c"),
    "gcc-dwarf4": ("gcc -O2 -gdwarf-4", "a.c"),
    "gcc-dwarf64": ("gcc -O2 -g -gdwarf64", "a.c"),
    "gcc-zlib": ("gcc -O2 -g -gz=zlib", "a.c"),
    "clang": ("clang -O2 -g", "a.c"),
    "clang-dwarf4": ("clang -O2 -gdwarf-4", "a.c"),
    "g++": ("g++ -O2 -g", "b.cpp"),
    "g++-O0": ("g++ -O0 -g", "b.cpp"),
    "g++-types": ("g++ -O2 -g -fdebug-types-section", "b.cpp"),
    "g++-lto": ("g++ -O2 -g -flto=1", "b.cpp"),
    "clang++": ("clang++ -O2 -g", "b.cpp"),
    "rust": ("rustc -O -g", "r.rs"),
}


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    folder = tmp_path_factory.mktemp("dwarf")
    (folder / "a.c").write_text(C_SOURCE)
    (folder / "b.cpp").write_text(CPP_SOURCE)
    (folder / "r.rs").write_text(RUST_SOURCE)

    def make(name: str) -> Path:
        line, source = PROGRAMS[name]
        program = folder / name
        if not program.exists():
            command = line.split()
            if shutil.which(command[0]) is None:
                pytest.skip(f"{command[0]} is not installed")
            done = subprocess.run([*command, "-o", program, folder / source], capture_output=True, text=True)
            if done.returncode:
                pytest.skip(f"{line}: {done.stderr[:300]}")
        return program

    return make
