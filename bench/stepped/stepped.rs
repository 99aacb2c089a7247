//! What a Rust program tells bench/stepped_truth.py about the memory it takes: whatever is allocated while one of these
//! functions runs what it is given is said to be rows of T (of a Vec, Box, VecDeque ...), what is behind an Rc, the nodes of a
//! BTreeMap, or the table of a HashMap. One within another holds for what it runs. For programs of one thread.
use std::alloc::{GlobalAlloc, Layout, System};
use std::any::type_name;
use std::cell::{Cell, UnsafeCell};

extern "C" {
    fn stepped_here(kind: *const u8, at: *const u8, size_of_one: usize, count: usize);
}

type Parts = [&'static str; 10];

#[derive(Clone, Copy)]
struct Expected {
    parts: Parts,
    table_of: usize,
}

struct Told {
    now: Cell<Option<Expected>>,
    text: UnsafeCell<[u8; 2048]>,
}

unsafe impl Sync for Told {}

#[global_allocator]
static TOLD: Told = Told { now: Cell::new(None), text: UnsafeCell::new([0; 2048]) };

unsafe impl GlobalAlloc for Told {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let at = System.alloc(layout);
        if let Some(expected) = self.now.get() {
            self.tell(&expected, at, layout.size());
        }
        at
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        System.dealloc(at, layout)
    }
}

impl Told {
    unsafe fn tell(&self, expected: &Expected, at: *const u8, size: usize) {
        let text = &mut *self.text.get();
        let mut n = 0;
        for part in expected.parts {
            let end = (n + part.len()).min(text.len() - 1);
            text[n..end].copy_from_slice(&part.as_bytes()[..end - n]);
            n = end;
        }
        text[n] = 0;
        let one = expected.table_of;
        if one == 0 {
            stepped_here(text.as_ptr(), at, 0, size);
            return;
        }
        // Behind a table's elements, which begin at a multiple of 16 before it, there is a byte for each and 16 more.
        let mut count = 1;
        while (count * one + 15) / 16 * 16 + count + 16 < size {
            count *= 2;
        }
        let elements = at.add((count * one + 15) / 16 * 16 - count * one);
        stepped_here(text.as_ptr(), elements, one, count);
    }
}

fn told<R>(parts: Parts, table_of: usize, run: impl FnOnce() -> R) -> R {
    let before = TOLD.now.replace(Some(Expected { parts, table_of }));
    let done = run();
    TOLD.now.set(before);
    done
}

/// Rows of T.
pub fn rows<T, R>(run: impl FnOnce() -> R) -> R {
    told([type_name::<T>(), "", "", "", "", "", "", "", "", ""], 0, run)
}

/// What an Rc<T> leads to.
pub fn counted<T, R>(run: impl FnOnce() -> R) -> R {
    told(["alloc::rc::RcInner<", type_name::<T>(), ">", "", "", "", "", "", "", ""], 0, run)
}

/// Nodes of a BTreeMap<K, V>, those of a BTreeSet<K> with () as V.
pub fn tree<K, V, R>(run: impl FnOnce() -> R) -> R {
    let (leaf, inner) = ("alloc::collections::btree::node::LeafNode<", "alloc::collections::btree::node::InternalNode<");
    let nothing = size_of::<V>() == 0;
    let (key, value) = (type_name::<K>(), if nothing { "alloc::collections::btree::set_val::SetValZST" } else { type_name::<V>() });
    told([leaf, key, ", ", value, ">|", inner, key, ", ", value, ">"], 0, run)
}

/// The table of a HashMap<K, V>.
pub fn table<K, V, R>(run: impl FnOnce() -> R) -> R {
    told(["(", type_name::<K>(), ", ", type_name::<V>(), ")", "", "", "", "", ""], size_of::<(K, V)>(), run)
}
