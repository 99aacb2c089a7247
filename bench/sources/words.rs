use std::collections::{BTreeMap, HashMap};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Word {
    Number(i64),
    Text(String),
}

fn parse(text: &str) -> Word {
    text.parse().map(Word::Number).unwrap_or_else(|_| Word::Text(text.to_owned()))
}

struct Windows<'a, T> {
    rest: &'a [T],
    size: usize,
}

impl<'a, T> Iterator for Windows<'a, T> {
    type Item = &'a [T];
    fn next(&mut self) -> Option<Self::Item> {
        let found = self.rest.get(..self.size)?;
        self.rest = &self.rest[1..];
        Some(found)
    }
}

fn main() {
    let text: String = (0..4000u64).map(|i| format!("{} w{} ", i * 7919 % 613, i % 17)).collect();
    let words: Vec<Word> = text.split_whitespace().map(parse).collect();
    let mut counts: HashMap<&[Word], usize> = HashMap::new();
    for pair in (Windows { rest: &words, size: 2 }) {
        *counts.entry(pair).or_default() += 1;
    }
    let mut sorted: BTreeMap<usize, Vec<&[Word]>> = BTreeMap::new();
    for (pair, count) in &counts {
        sorted.entry(*count).or_default().push(pair);
    }
    let mut most: Vec<_> = sorted.into_iter().next_back().map(|(_, pairs)| pairs).unwrap_or_default();
    most.sort();
    let handle = std::thread::spawn(move || text.chars().filter(char::is_ascii_digit).count());
    println!("{:?} {}", most.first(), handle.join().unwrap());
}
