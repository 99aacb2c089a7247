// Traits, closures, generics, recursion, collections, and panics that are caught.
use std::collections::{BTreeMap, HashMap};
use std::hint::black_box;
use std::panic;

trait Node {
    fn value(&self) -> u64;
    fn doubled(&self) -> u64 {
        self.value() * 2
    }
}
struct Leaf(u64);
struct Branch(Vec<Box<dyn Node>>);
impl Node for Leaf {
    #[inline(never)]
    fn value(&self) -> u64 {
        self.0 ^ 5
    }
}
impl Node for Branch {
    #[inline(never)]
    fn value(&self) -> u64 {
        self.0.iter().map(|one| one.value()).fold(0, |a, b| a.wrapping_add(b))
    }
}

#[inline(never)]
fn tree(depth: u64) -> Box<dyn Node> {
    if depth == 0 {
        Box::new(Leaf(depth + 3))
    } else {
        Box::new(Branch(vec![tree(depth - 1), Box::new(Leaf(depth)), tree(depth - 1)]))
    }
}

#[inline(never)]
fn collatz(n: u64) -> u64 {
    if n < 2 {
        0
    } else if n % 2 == 0 {
        1 + collatz(n / 2)
    } else {
        1 + collatz(3 * n + 1)
    }
}

#[inline(never)]
fn apply(call: &dyn Fn(u64) -> u64, value: u64) -> u64 {
    call(value).wrapping_mul(3)
}

#[inline(never)]
fn parsed(text: &str) -> Result<u64, std::num::ParseIntError> {
    let half: u64 = text.trim().parse()?;
    Ok(half * 2)
}

#[inline(never)]
fn picks(items: &[u64], at: usize) -> u64 {
    items[at]
}

fn main() {
    panic::set_hook(Box::new(|_| {}));
    let rounds: u64 = std::env::args().nth(1).map_or(1_000_000, |text| text.parse().unwrap());
    let root = tree(2);
    let mut counts: HashMap<u64, u64> = HashMap::new();
    let mut words: BTreeMap<String, u64> = BTreeMap::new();
    for i in 0..rounds {
        let mut total = black_box(&root).doubled() + collatz(i % 30 + 1);
        total = total.wrapping_add(apply(&|value| value ^ total, i));
        let mut some: Vec<u64> = (0..8).map(|k| (i.wrapping_mul(2654435761) >> k) & 255).collect();
        some.sort_by(|a, b| b.cmp(a));
        total += parsed(&format!(" {} ", i)).unwrap_or(1) + picks(&some, 3);
        if i % 16 == 3 {
            total += panic::catch_unwind(|| picks(&[1, 2, 3], black_box(7))).unwrap_or(9);
        }
        *counts.entry(i % 13).or_insert(0) += total;
        *words.entry(format!("w{}", i % 9)).or_insert(0) += total;
        black_box(total);
    }
}
