//! A warehouse: items of several kinds on shelves, orders that are packed, an index by name, and what is short.
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use stepped::{rows, table, tree};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Unit {
    Piece,
    Gram,
    Litre,
}

#[derive(Clone, Debug)]
enum Kind {
    Loose { unit: Unit, amount: u32 },
    Boxed(u16, u16),
    Perishable { until: u32, cooled: bool, lots: Vec<Lot> },
    Ordered,
}

#[derive(Clone, Copy, Debug, Default)]
struct Lot {
    number: u32,
    count: u16,
    checked: bool,
}

#[derive(Clone, Debug)]
struct Item {
    id: u32,
    price: f64,
    kind: Kind,
    name: String,
    supplier: Option<u16>,
    dimensions: [f32; 3],
}

struct Shelf {
    items: Vec<Item>,
    load: f32,
    row: u8,
    level: u8,
}

#[derive(Debug, Clone, Copy)]
struct Line {
    item: u32,
    count: u32,
}

enum State {
    Open,
    Waiting(BTreeSet<u32>),
    Packed { weight: f32, boxes: u8 },
}

struct Order {
    number: u64,
    lines: Vec<Line>,
    state: State,
    next: Option<Box<Order>>,
}

#[derive(Debug)]
enum Refused {
    Unknown(u32),
    Short { item: u32, missing: u32 },
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Unknown(id) => write!(f, "no item {id}"),
            Refused::Short { item, missing } => write!(f, "{missing} of {item} are missing"),
        }
    }
}

#[derive(Default, Clone, Copy)]
struct Moved {
    taken: u32,
    given: u32,
    turnover: f64,
}

struct Warehouse {
    shelves: Vec<Shelf>,
    places: BTreeMap<u32, (u16, u16)>,
    by_name: HashMap<String, u32>,
    moved: BTreeMap<(Unit, u32), Moved>,
    orders: Option<Box<Order>>,
    capacity: [[u16; 4]; 3],
}

static LIMITS: [(Unit, u32); 3] = [(Unit::Piece, 40), (Unit::Gram, 900), (Unit::Litre, 12)];
static PREFIXES: [&str; 5] = ["bolt", "rice", "milk", "lamp", "a rather long name for an item"];

struct Random(u64);

impl Random {
    fn below(&mut self, n: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as u32 % n
    }
}

impl Item {
    fn available(&self) -> u32 {
        match &self.kind {
            Kind::Loose { amount, .. } => *amount,
            Kind::Boxed(boxes, per_box) => u32::from(*boxes) * u32::from(*per_box),
            Kind::Perishable { lots, .. } => lots.iter().filter(|lot| lot.checked).map(|lot| u32::from(lot.count)).sum(),
            Kind::Ordered => 0,
        }
    }

    fn unit(&self) -> Unit {
        match self.kind {
            Kind::Loose { unit, .. } => unit,
            Kind::Perishable { cooled: true, .. } => Unit::Litre,
            _ => Unit::Piece,
        }
    }

    fn take(&mut self, mut count: u32) -> Result<f64, Refused> {
        let there = self.available();
        if there < count {
            return Err(Refused::Short { item: self.id, missing: count - there });
        }
        let price = self.price * f64::from(count);
        match &mut self.kind {
            Kind::Loose { amount, .. } => *amount -= count,
            Kind::Boxed(boxes, per_box) => {
                let whole = (count / u32::from(*per_box)) as u16;
                *boxes -= whole.min(*boxes);
            }
            Kind::Perishable { lots, until, .. } => {
                for lot in lots.iter_mut().filter(|lot| lot.checked) {
                    let n = count.min(u32::from(lot.count));
                    lot.count -= n as u16;
                    count -= n;
                    *until += 1;
                }
                lots.retain(|lot| lot.count > 0);
            }
            Kind::Ordered => {}
        }
        Ok(price)
    }

    fn volume(&self) -> f32 {
        self.dimensions.iter().product()
    }
}

impl Warehouse {
    fn new() -> Self {
        Warehouse {
            shelves: Vec::new(),
            places: BTreeMap::new(),
            by_name: HashMap::new(),
            moved: BTreeMap::new(),
            orders: None,
            capacity: [[6, 5, 4, 3]; 3],
        }
    }

    fn build(&mut self) {
        for row in 0..3u8 {
            for level in 0..4u8 {
                let shelf = Shelf { items: Vec::new(), load: 0.0, row, level };
                rows::<Shelf, _>(|| self.shelves.push(shelf));
            }
        }
    }

    fn put(&mut self, item: Item) -> bool {
        let capacity = &self.capacity;
        let found = self
            .shelves
            .iter_mut()
            .enumerate()
            .filter(|(_, shelf)| shelf.items.len() < usize::from(capacity[shelf.row as usize][shelf.level as usize]))
            .min_by(|(_, a), (_, b)| a.load.total_cmp(&b.load));
        let Some((at, shelf)) = found else { return false };
        shelf.load += item.volume();
        let place = (at as u16, shelf.items.len() as u16);
        let (id, name) = (item.id, rows::<u8, _>(|| item.name.clone()));
        tree::<u32, (u16, u16), _>(|| self.places.insert(id, place));
        table::<String, u32, _>(|| self.by_name.insert(name, id));
        rows::<Item, _>(|| shelf.items.push(item));
        true
    }

    fn item(&mut self, id: u32) -> Option<&mut Item> {
        let &(shelf, at) = self.places.get(&id)?;
        self.shelves.get_mut(usize::from(shelf))?.items.get_mut(usize::from(at))
    }

    fn pack(&mut self, order: &mut Order) -> Result<f64, Refused> {
        let mut sum = 0.0;
        let mut weight = 0.0f32;
        let mut short = BTreeSet::new();
        for line in &order.lines {
            let item = self.item(line.item).ok_or(Refused::Unknown(line.item))?;
            let unit = item.unit();
            match item.take(line.count) {
                Ok(price) => {
                    sum += price;
                    weight += item.volume() * line.count as f32;
                    let moved = tree::<(Unit, u32), Moved, _>(|| self.moved.entry((unit, line.item)).or_default());
                    moved.taken += line.count;
                    moved.turnover += price;
                }
                Err(Refused::Short { item, missing }) if missing < 5 => {
                    tree::<u32, (), _>(|| short.insert(item));
                }
                Err(other) => return Err(other),
            }
        }
        order.state = if short.is_empty() {
            State::Packed { weight, boxes: (weight / 8.0) as u8 + 1 }
        } else {
            State::Waiting(short)
        };
        Ok(sum)
    }

    fn accept(&mut self, number: u64, lines: Vec<Line>) {
        let next = self.orders.take();
        self.orders = Some(rows::<Order, _>(|| Box::new(Order { number, lines, state: State::Open, next })));
    }

    fn restock(&mut self, rnd: &mut Random) -> u32 {
        let mut given = 0;
        for shelf in &mut self.shelves {
            for item in shelf.items.iter_mut() {
                let limit = LIMITS.iter().find(|(unit, _)| *unit == item.unit()).map_or(10, |&(_, n)| n);
                if item.available() >= limit {
                    continue;
                }
                let more = 1 + rnd.below(limit);
                match &mut item.kind {
                    Kind::Loose { amount, .. } => *amount += more,
                    Kind::Boxed(boxes, _) => *boxes += 1,
                    Kind::Perishable { lots, .. } => {
                        let lot = Lot { number: more * 3, count: more as u16, checked: more % 3 != 0 };
                        rows::<Lot, _>(|| lots.push(lot));
                    }
                    kind @ Kind::Ordered => *kind = Kind::Loose { unit: Unit::Piece, amount: more },
                }
                given += more;
                if let Some(moved) = self.moved.get_mut(&(item.unit(), item.id)) {
                    moved.given += more;
                }
            }
        }
        given
    }
}

fn make(id: u32, rnd: &mut Random) -> Item {
    let kind = match rnd.below(4) {
        0 => Kind::Loose { unit: LIMITS[rnd.below(3) as usize].0, amount: rnd.below(60) },
        1 => Kind::Boxed(1 + rnd.below(5) as u16, 4),
        2 => Kind::Perishable { until: 30 + id, cooled: id % 2 == 0, lots: Vec::new() },
        _ => Kind::Ordered,
    };
    let prefix = PREFIXES[id as usize % PREFIXES.len()];
    Item {
        id,
        price: f64::from(rnd.below(400)) / 8.0,
        kind,
        name: rows::<u8, _>(|| format!("{prefix}-{id}")),
        supplier: (id % 3 != 0).then(|| id as u16 * 7),
        dimensions: [1.0, 0.5 + rnd.below(4) as f32, 0.25],
    }
}

fn main() {
    let mut rnd = Random(99);
    let mut house = Warehouse::new();
    house.build();
    let kept = (0..40).filter(|id| house.put(make(id * 3 + 1, &mut rnd))).count();
    let mut given = house.restock(&mut rnd);
    for number in 0..30u64 {
        let mut lines = Vec::new();
        for _ in 0..1 + rnd.below(4) {
            let line = Line { item: rnd.below(40) * 3 + 1, count: 1 + rnd.below(9) };
            rows::<Line, _>(|| lines.push(line));
        }
        house.accept(number * 11, lines);
    }
    let (mut sum, mut refused) = (0.0, 0);
    let mut open = house.orders.take();
    let mut done: Vec<Box<Order>> = Vec::new();
    while let Some(mut order) = open {
        open = order.next.take();
        match house.pack(&mut order) {
            Ok(price) => sum += price,
            Err(why) => refused += rows::<u8, _>(|| why.to_string()).len(),
        }
        if order.number % 4 == 0 {
            given += house.restock(&mut rnd);
        }
        rows::<Box<Order>, _>(|| done.push(order));
    }
    done.sort_by_key(|order| (order.lines.len(), order.number));
    let (mut weight, mut waiting, mut boxes) = (0.0, 0, 0u32);
    for order in &done {
        match &order.state {
            State::Packed { weight: w, boxes: b } => {
                weight += w;
                boxes += u32::from(*b);
            }
            State::Waiting(items) => waiting += items.iter().sum::<u32>(),
            State::Open => {}
        }
    }
    let best = house.moved.iter().max_by(|a, b| a.1.turnover.total_cmp(&b.1.turnover));
    let suppliers: u32 = house.shelves.iter().flat_map(|s| &s.items).filter_map(|i| i.supplier).map(u32::from).sum();
    let known = PREFIXES.iter().filter_map(|name| house.by_name.get(&format!("{name}-{}", 4))).count();
    println!(
        "kept {kept} given {given} sum {sum:.2} refused {refused} weight {weight:.1} boxes {boxes} waiting {waiting} suppliers {suppliers} known {known} {:?}",
        best.map(|(key, moved)| (key.1, moved.taken + moved.given))
    );
}
