//! Questions out of the corpus itself, and filters that let known shares of a grown project through.

use std::collections::BTreeMap;

use serde_json::json;

use super::copies::{Place, REPOSITORIES, folder};
use super::grow::root;
use contract::Fault;
use engine::search::{self, SearchRequest};
use languages::terms;
use store::{ChunkWrite, FileWrite};

/// Words of a question that was a comment.
const WORDS: std::ops::RangeInclusive<usize> = 4..=12;
/// One of so many questions is the name of something.
const NAME_ONE_OF: usize = 3;

/// About `wanted` questions: first sentences of comments, and names that are defined. Spread over the corpus by the
/// hashes of the texts, so that the same corpus gives the same questions.
pub(super) fn questions(files: &[FileWrite], wanted: usize) -> Vec<String> {
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
    (words.len() >= *WORDS.start()).then(|| words[..words.len().min(*WORDS.end())].join(" "))
}

fn name(chunk: &ChunkWrite) -> Option<String> {
    chunk.defines.first().filter(|name| name.len() > 4).cloned()
}

/// A filter of the product with what it lets through.
#[derive(Debug, Clone)]
pub(super) struct Condition {
    /// As results call it.
    pub(super) name: &'static str,
    /// A question that has this filter and no words yet.
    pub(super) request: SearchRequest,
    /// Share of all chunks that pass.
    pub(super) share: f64,
}

/// No filter; one folder of about a thousandth of the chunks; a repository, which is a hundredth; a folder of this
/// name in every copy, about a hundredth; a language of about a tenth.
///
/// # Errors
/// Never, unless the filter table changed.
pub(super) fn conditions(files: &[FileWrite], places: &[Place]) -> Result<Vec<Condition>, Fault> {
    let (mut here, mut everywhere) = (BTreeMap::<String, usize>::new(), BTreeMap::<String, usize>::new());
    let (mut languages, mut repositories) = (BTreeMap::<&str, usize>::new(), [0; REPOSITORIES]);
    for place in places {
        let file = &files[place.file];
        let chunks = file.chunks.len();
        repositories[place.repository] += chunks;
        *languages.entry(file.language.unwrap_or_default()).or_default() += chunks;
        for (at, _) in file.path.match_indices('/') {
            let parent = &file.path[..=at];
            *here.entry(format!("{}/{parent}", folder(place.copy))).or_default() += chunks;
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
    // The middle one that holds something: a small project does not fill all.
    let filled = (0..REPOSITORIES).filter(|at| repositories[*at] > 0);
    let repository = filled.min_by_key(|at| at.abs_diff(REPOSITORIES / 2)).unwrap_or_default();
    let filtered = |name, field: &str, (value, chunks): (String, usize)| {
        let arguments = json!({ field: value });
        let given = search::given(arguments.as_object().unwrap_or(&serde_json::Map::new()))?;
        let request = SearchRequest { given, ..SearchRequest::default() };
        Ok::<_, Fault>(Condition { name, request, share: share(chunks, all) })
    };
    Ok(vec![
        Condition { name: "no filter", request: SearchRequest::default(), share: 1.0 },
        filtered("folder", "path", nearest(&here, 1000))?,
        Condition {
            name: "repository",
            request: SearchRequest { repository_roots: vec![root(repository)], ..SearchRequest::default() },
            share: share(repositories[repository], all),
        },
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
    use crate::bench::scale::copies::places;
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
        let asked = questions(&files, 9);
        assert_eq!(asked.len(), 9);
        assert_eq!(asked[0], "Opens the store at this path");
        assert!(asked[6..].iter().all(|name| name.starts_with("thing_")));
        assert_eq!(asked, questions(&files, 9));
    }

    #[test]
    fn conditions_let_about_the_wanted_shares_through() {
        let mut files: Vec<FileWrite> =
            (0..90).map(|i| file(&format!("lib{i}/src/a.rs"), "rust", 10)).collect();
        files.extend((0..10).map(|i| file(&format!("py{i}/a.py"), "python", 10)));
        let sizes: Vec<(&str, usize)> = files.iter().map(|f| (f.path.as_str(), f.chunks.len())).collect();
        let conditions = conditions(&files, &places(&sizes, 10_000)).unwrap();
        let shares: Vec<f64> = conditions.iter().map(|condition| condition.share).collect();
        for (share, wanted) in shares.iter().zip([1.0, 0.001, 0.01, 0.01, 0.1]) {
            assert!((share / wanted - 1.0).abs() < 0.2, "{shares:?}");
        }
        assert!(
            conditions[1..]
                .iter()
                .all(|c| !c.request.repository_roots.is_empty() || !c.request.given.is_empty())
        );
    }
}
