//! Point reads of keys that are there and of keys that are not, with and without a Bloom filter.

use std::time::Instant;

use lodestone::{Options, Store};

const KEYS: u32 = 200_000;

fn main() {
    for bloom_bits in [0, 10] {
        let directory = tempfile::tempdir().unwrap();
        let options = Options { bloom_bits, ..Options::default() };
        let store = Store::open(directory.path(), options).unwrap();
        for key in 0..KEYS {
            store.put(&(2 * key).to_be_bytes(), &[0; 100]).unwrap();
        }
        for (what, offset) in [("present", 0), ("absent", 1)] {
            let began = Instant::now();
            let mut found = 0;
            for key in 0..KEYS {
                let key = 2 * (key.wrapping_mul(2_654_435_761) % KEYS) + offset;
                found += u32::from(store.get(&key.to_be_bytes()).unwrap().is_some());
            }
            let each = began.elapsed() / KEYS;
            println!("{bloom_bits} bits a key, {what}: {each:?} a read, {found} found");
        }
        println!("cache: {:.2}", store.stats().cache_hit_rate);
    }
}
