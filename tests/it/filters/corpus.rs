//! A corpus of 3,000 generated functions, indexed once for all tests of this process.

use std::fmt::Write;
use std::sync::Arc;

use gate::app::App;
use tokio::sync::OnceCell;

use super::shop::{IndexedProject, index};
use crate::harness::{Dice, Repository, app_with, project};

pub(crate) const CHUNKS: usize = 3_000;
const CHUNKS_PER_FILE: usize = 10;
const SYLLABLES: &[&str] = &["ba", "ko", "ri", "mu", "te", "lo", "sha", "dek", "vin", "por", "zu", "gal"];

/// The project that holds the corpus, with an HNSW index, searched through the application `app`.
pub(crate) async fn corpus(app: Arc<App>) -> IndexedProject {
    static INDEXED: OnceCell<String> = OnceCell::const_new();
    let project = INDEXED.get_or_init(async || {
        let (project, repository) = (project("corpus"), Repository::new(&[]));
        let mut dice = Dice(17);
        for file in 0..CHUNKS / CHUNKS_PER_FILE {
            let functions: Vec<String> =
                (0..CHUNKS_PER_FILE).map(|n| function(file * CHUNKS_PER_FILE + n, &mut dice)).collect();
            repository.write(&format!("part_{}/file_{file}.rs", file % 7), &functions.join("\n"));
        }
        index(&app_with(|config| config.indexing.hnsw_rows_min = 500), &repository, &project).await;
        project
    });
    IndexedProject::new(app, project.await.clone(), Repository::new(&[]))
}

/// One of 1,728 words.
pub(crate) fn word(dice: &mut Dice) -> String {
    (0..3).map(|_| SYLLABLES[usize::try_from(dice.roll(SYLLABLES.len() as u64)).unwrap()]).collect()
}

/// A function large enough to be a chunk. Every 30th is public and async, every 211th panics.
fn function(number: usize, dice: &mut Dice) -> String {
    let mut text = String::new();
    let words: Vec<String> = (0..30).map(|_| word(dice)).collect();
    let (is_async, panics) = (number.is_multiple_of(30), number.is_multiple_of(211));
    writeln!(text, "/// Turns {} into {} and {}.", words[0], words[1], words[2]).unwrap();
    let keyword = if is_async { "pub async fn" } else { "fn" };
    writeln!(text, "{keyword} {}_{number}({}: u64) -> u64 {{", words[3], words[4]).unwrap();
    for pair in words[5..29].chunks(2) {
        writeln!(text, "    let {} = {}_of({});", pair[0], pair[1], words[4]).unwrap();
    }
    if panics {
        writeln!(text, "    if {} == 0 {{\n        panic!(\"{}\");\n    }}", words[4], words[29]).unwrap();
    }
    writeln!(text, "    {}\n}}", words[5]).unwrap();
    text
}
