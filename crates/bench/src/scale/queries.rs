//! Queries from the corpus itself, and filters that match known shares of a generated project.

use std::collections::BTreeMap;

use serde_json::json;

use super::copies::{FileCopy, REPOSITORIES, copy_folder};
use super::grow::repository_root;
use contract::Fault;
use engine::search::{self, SearchRequest};
use languages::terms;
use store::{ChunkWrite, FileWrite};

/// Number of words of a query taken from a comment.
const COMMENT_WORDS: std::ops::RangeInclusive<usize> = 4..=12;
/// One of this many queries is the name of a definition.
const NAME_ONE_OF: usize = 3;

/// About `wanted` queries: first sentences of comments, and names of definitions. Ordered by the hashes of the texts, which
/// spreads them over the corpus and makes them deterministic.
pub(super) fn sample_queries(files: &[FileWrite], wanted: usize) -> Vec<String> {
    let mut chunks: Vec<&ChunkWrite> =
        files.iter().filter(|file| file.mode == "code").flat_map(|file| &file.chunks).collect();
    chunks.sort_by_key(|chunk| chunk.content_hash);
    chunks.dedup_by_key(|chunk| chunk.content_hash);
    let names_wanted = wanted / NAME_ONE_OF;
    let names = chunks.iter().rev().filter_map(|chunk| name(chunk)).take(names_wanted);
    let sentences = chunks.iter().filter_map(|chunk| sentence(chunk)).take(wanted - names_wanted);
    sentences.chain(names).collect()
}

fn sentence(chunk: &ChunkWrite) -> Option<String> {
    let text = &chunk.comment.as_ref()?.content;
    let first = text.split(['.', '\n', ';']).next()?;
    let words: Vec<&str> = terms::words(first).map(|word| word.text).collect();
    (words.len() >= *COMMENT_WORDS.start()).then(|| words[..words.len().min(*COMMENT_WORDS.end())].join(" "))
}

fn name(chunk: &ChunkWrite) -> Option<String> {
    chunk.defines.first().filter(|name| name.len() > 4).cloned()
}

/// A search filter and the share of chunks that match it.
#[derive(Debug, Clone)]
pub(super) struct BenchmarkFilter {
    /// Name in reports.
    pub(super) name: &'static str,
    /// A request with the filter and an empty query.
    pub(super) request: SearchRequest,
    /// Share of all chunks that match.
    pub(super) share: f64,
}

/// No filter; one folder with about 1/1000 of the chunks; one repository with 1/100, ten and fifty; a folder name that is in every copy,
/// with about 1/100; and a language with about 1/10.
///
/// # Errors
/// Only if the filter table no longer has these fields.
pub(super) fn benchmark_filters(
    files: &[FileWrite],
    copies: &[FileCopy],
) -> Result<Vec<BenchmarkFilter>, Fault> {
    let (mut here, mut everywhere) = (BTreeMap::<String, usize>::new(), BTreeMap::<String, usize>::new());
    let (mut languages, mut repositories) = (BTreeMap::<&str, usize>::new(), [0; REPOSITORIES]);
    for copy in copies {
        let file = &files[copy.file];
        let chunks = file.chunks.len();
        repositories[copy.repository] += chunks;
        *languages.entry(file.language.unwrap_or_default()).or_default() += chunks;
        for (at, _) in file.path.match_indices('/') {
            let parent = &file.path[..=at];
            *here.entry(format!("{}/{parent}", copy_folder(copy.copy))).or_default() += chunks;
            *everywhere.entry(parent.to_owned()).or_default() += chunks;
        }
    }
    languages.remove("");
    let all: usize = repositories.iter().sum();
    let nearest = |counts: &BTreeMap<String, usize>, share: usize| {
        let best = counts.iter().min_by_key(|(_, chunks)| chunks.abs_diff(all / share));
        best.map_or_else(Default::default, |(value, chunks)| (value.clone(), *chunks))
    };
    let languages = languages.into_iter().map(|(language, chunks)| (language.to_owned(), chunks)).collect();
    // The repositories with any chunks, from the middle outwards; a small project leaves some empty.
    let mut filled: Vec<usize> = (0..REPOSITORIES).filter(|at| repositories[*at] > 0).collect();
    filled.sort_by_key(|at| at.abs_diff(REPOSITORIES / 2));
    let among = |name, count: usize| {
        let chosen = &filled[..count.min(filled.len())];
        let repository_roots = chosen.iter().copied().map(repository_root).collect();
        let chunks = chosen.iter().map(|at| repositories[*at]).sum();
        BenchmarkFilter {
            name,
            request: SearchRequest { repository_roots, ..SearchRequest::default() },
            share: share(chunks, all),
        }
    };
    let filtered = |name, field: &str, (value, chunks): (String, usize)| {
        let arguments = json!({ field: value });
        let filters = search::parse_filters(arguments.as_object().unwrap_or(&serde_json::Map::new()))?;
        let request = SearchRequest { filters, ..SearchRequest::default() };
        Ok::<_, Fault>(BenchmarkFilter { name, request, share: share(chunks, all) })
    };
    Ok(vec![
        BenchmarkFilter { name: "no filter", request: SearchRequest::default(), share: 1.0 },
        filtered("folder", "path", nearest(&here, 1000))?,
        among("repository", 1),
        among("10 repositories", 10),
        among("50 repositories", 50),
        filtered("path part", "path", nearest(&everywhere, 100))?,
        filtered("language", "lang", nearest(&languages, 10))?,
    ])
}

#[expect(clippy::cast_precision_loss, reason = "counts of chunks")]
fn share(part: usize, of: usize) -> f64 {
    part as f64 / of.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scale::copies::file_copies;
    use store::CommentWrite;

    fn file(path: &str, language: &'static str, chunks: usize) -> FileWrite {
        let chunk = |at: usize| ChunkWrite {
            content_hash: *blake3::hash(format!("{path} {at}").as_bytes()).as_bytes(),
            defines: vec![format!("thing_{at}")],
            comment: Some(CommentWrite {
                content: "Opens the store at this path. Or fails.".to_owned(),
                ..CommentWrite::default()
            }),
            ..ChunkWrite::default()
        };
        let chunks = (0..chunks).map(chunk).collect();
        FileWrite {
            path: path.to_owned(),
            language: Some(language),
            mode: "code",
            chunks,
            ..FileWrite::default()
        }
    }

    #[test]
    fn questions_are_sentences_and_names_and_always_the_same() {
        let files = [file("a/x.rs", "rust", 30)];
        let asked = sample_queries(&files, 9);
        assert_eq!(asked.len(), 9);
        assert_eq!(asked[0], "Opens the store at this path");
        assert!(asked[6..].iter().all(|name| name.starts_with("thing_")));
        assert_eq!(asked, sample_queries(&files, 9));
    }

    #[test]
    fn conditions_let_about_the_wanted_shares_through() {
        let mut files: Vec<FileWrite> =
            (0..90).map(|i| file(&format!("lib{i}/src/a.rs"), "rust", 10)).collect();
        files.extend((0..10).map(|i| file(&format!("py{i}/a.py"), "python", 10)));
        let sizes: Vec<(&str, usize)> = files.iter().map(|f| (f.path.as_str(), f.chunks.len())).collect();
        let conditions = benchmark_filters(&files, &file_copies(&sizes, 10_000)).unwrap();
        let shares: Vec<f64> = conditions.iter().map(|condition| condition.share).collect();
        for (share, wanted) in shares.iter().zip([1.0, 0.001, 0.01, 0.1, 0.5, 0.01, 0.1]) {
            assert!((share / wanted - 1.0).abs() < 0.2, "{shares:?}");
        }
        assert!(
            conditions[1..]
                .iter()
                .all(|c| !c.request.repository_roots.is_empty() || !c.request.filters.is_empty())
        );
    }
}
