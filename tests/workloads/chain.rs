// main -> Station::depart -> ride -> burn, through a trait object, a closure and (second argument) threads.
use std::hint::black_box;
use std::time::{Duration, Instant};

trait Vehicle {
    fn ride(&self, distance: u64) -> u64;
}

struct Tram {
    factor: u64,
}

impl Vehicle for Tram {
    #[inline(never)]
    fn ride(&self, distance: u64) -> u64 {
        let result = burn(distance * self.factor);
        black_box(result) ^ 1
    }
}

struct Station<'a> {
    vehicles: Vec<Box<dyn Vehicle + 'a>>,
}

impl Station<'_> {
    #[inline(never)]
    fn depart(&self, distance: u64) -> u64 {
        let sum = self.vehicles.iter().fold(0, |sum: u64, vehicle| sum ^ vehicle.ride(distance));
        black_box(sum)
    }
}

#[inline(never)]
fn burn(seed: u64) -> u64 {
    let mut value = seed;
    for _ in 0..5000 {
        value = value.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        value ^= value >> 29;
    }
    black_box(value)
}

#[inline(never)]
fn work(end: Instant) -> u64 {
    let station = Station { vehicles: vec![Box::new(Tram { factor: 3 }), Box::new(Tram { factor: 5 })] };
    let mut sum = 0u64;
    while Instant::now() < end {
        sum = sum.wrapping_add(station.depart(sum & 15));
    }
    black_box(sum)
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let time = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(500);
    let threads: usize = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(0);
    let end = Instant::now() + Duration::from_millis(time);
    let handles: Vec<_> = (0..threads).map(|_| std::thread::spawn(move || work(end))).collect();
    let mut sum = work(end);
    for handle in handles {
        sum = sum.wrapping_add(handle.join().unwrap());
    }
    black_box(sum);
}
