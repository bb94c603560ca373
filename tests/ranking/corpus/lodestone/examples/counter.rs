//! Counts words of a text with a store instead of a map.

use std::io::{self, BufRead};

use lodestone::{Batch, Options, Result, Store};

fn main() -> Result<()> {
    let store = Store::open("words", Options::default())?;
    for line in io::stdin().lock().lines() {
        let mut batch = Batch::default();
        for word in line?.split_whitespace() {
            let before = store.get(word.as_bytes())?.map_or(0, count);
            batch.put(word.as_bytes(), &(before + 1).to_le_bytes());
        }
        store.write(batch)?;
    }
    let stats = store.stats();
    eprintln!("{} tables, {:.0} % of blocks cached", stats.tables, 100.0 * stats.cache_hit_rate);
    Ok(())
}

fn count(bytes: Vec<u8>) -> u64 {
    u64::from_le_bytes(bytes.try_into().unwrap_or_default())
}
