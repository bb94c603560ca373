//! Edges and call sites drawn by lot, as lines for judging by hand.

use languages::symbols::{Place, UseKind};
use navigation::{Reference, ReferenceKind};

use super::tree::{Source, Sources};

/// Draws edges of all kinds, and then call sites, each `count`.
pub(super) fn draw(sources: &Sources, resolved: &[Vec<Reference>], count: usize, seed: u64) -> Vec<String> {
    let mut lines = Vec::new();
    let all = || {
        resolved.iter().zip(&sources.files).flat_map(|(all, source)| all.iter().map(move |one| (source, one)))
    };
    let mut edges: Vec<_> = all().filter(|(_, one)| !one.targets.is_empty()).collect();
    let calls = sources.files.iter().zip(resolved).flat_map(|(source, all)| {
        let calls = source.symbols.body.uses.iter().filter(|used| used.kind == UseKind::Call);
        calls.map(move |used| {
            let is_it =
                |one: &&Reference| one.place == used.place && one.kind == ReferenceKind::Use(UseKind::Call);
            (source, used.place, all.iter().find(is_it))
        })
    });
    let mut calls: Vec<_> = calls.collect();
    let mut lot = Lot(seed);
    for (source, reference) in lot.take(&mut edges, count) {
        lines.push(format!("edge {:?} {}", reference.kind, place(source, reference.place)));
        lines.extend(targets(sources, reference));
    }
    for (source, at, reference) in lot.take(&mut calls, count) {
        lines.push(format!("site {}", place(source, at)));
        match reference {
            None => lines.push("    local, or outside of the repository".to_owned()),
            Some(reference) if reference.targets.is_empty() => {
                lines.push(format!("    only the name {}", reference.name))
            }
            Some(reference) => lines.extend(targets(sources, reference)),
        }
    }
    lines
}

fn targets(sources: &Sources, reference: &Reference) -> Vec<String> {
    let lines = reference.targets.iter().take(8).filter_map(|target| {
        let (symbol, _) = sources.symbol(*target)?;
        Some(format!("    -> {}", place(sources.files.get(target.file as usize)?, symbol.place)))
    });
    lines.collect()
}

fn place(source: &Source, place: Place) -> String {
    let line = source.text.lines().nth(place.line as usize - 1).unwrap_or_default().trim();
    let cut: String = line.chars().take(120).collect();
    format!("{}:{}:{}  {cut}", source.path, place.line, place.column)
}

/// Numbers by chance, the same for the same seed.
struct Lot(u64);

impl Lot {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn take<T>(&mut self, all: &mut Vec<T>, count: usize) -> Vec<T> {
        let mut taken = Vec::new();
        while taken.len() < count && !all.is_empty() {
            let at = (self.next() % all.len() as u64) as usize;
            taken.push(all.swap_remove(at));
        }
        taken
    }
}
