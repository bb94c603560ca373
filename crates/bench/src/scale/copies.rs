//! Generates copies of real files whose words and vectors differ slightly from the original. Everything is a pure function of
//! the original and the copy's number.

use std::collections::{HashMap, HashSet};

use languages::facts::DEFINED;
use languages::name_forms;
use languages::terms::{self, Document, is_stop_word};
use store::{ChunkWrite, CommentWrite, DefinitionWrite, FileWrite, NamedFact, WordsWrite, fact_id};

/// Minimum length of a word to replace; shorter words are rarely specific to one project.
const WORD_CHARS_MIN: usize = 5;
/// Words that occur in more than one in this many chunks are not replaced: they are common to all projects.
const COMMON_WORD_RATIO: usize = 100;
/// One of this many specific words is replaced in a copy.
const REPLACED_ONE_OF: u8 = 4;
/// The distance that the vectors of a copied file move together, as a share of the difference between two other vectors, so that copies
/// stay in the directions that real texts have. Moving together keeps near duplicates close, which makes real texts hard for an index.
const FILE_DRIFT: f32 = 0.5;
/// The distance that each vector moves on its own.
const TEXT_DRIFT: f32 = 0.1;

/// The words of a corpus that copies may replace.
#[derive(Debug, Default)]
pub(super) struct ReplaceableWords(HashSet<String>);

impl ReplaceableWords {
    /// The rare words of `texts`.
    pub(super) fn from_texts<'t>(texts: impl Iterator<Item = &'t str> + Clone) -> Self {
        let mut chunk_counts: HashMap<&str, usize> = HashMap::new();
        for text in texts.clone() {
            let words: HashSet<&str> = terms::words(text).map(|word| word.text).collect();
            words
                .into_iter()
                .filter(|word| is_replaceable(word))
                .for_each(|word| *chunk_counts.entry(word).or_default() += 1);
        }
        let most = texts.count() / COMMON_WORD_RATIO;
        Self(
            chunk_counts
                .into_iter()
                .filter(|(_, chunks)| *chunks <= most)
                .map(|(word, _)| word.to_owned())
                .collect(),
        )
    }
}

fn is_replaceable(word: &str) -> bool {
    word.len() >= WORD_CHARS_MIN && word.chars().any(char::is_alphabetic) && !is_stop_word(word)
}

/// A copy of the corpus; the copy with number 0 has the texts and vectors of the original.
#[derive(Debug, Clone, Copy)]
pub(super) struct CorpusCopy<'v> {
    pub(super) number: u32,
    pub(super) vocabulary: &'v ReplaceableWords,
}

impl CorpusCopy<'_> {
    /// The path of a file in the copy.
    pub(super) fn path(&self, path: &str) -> String {
        format!("{}/{path}", copy_folder(self.number))
    }

    /// The copy's version of `text`. A word is replaced by the same word everywhere in the copy.
    pub(super) fn text(&self, text: &str) -> String {
        let mut changed = String::with_capacity(text.len() + text.len() / 16);
        let mut at = 0;
        for word in terms::words(text) {
            if let Some(suffix) = self.replacement_suffix(word.text) {
                changed.push_str(&text[at..word.end()]);
                changed.push_str(&suffix);
                at = word.end();
            }
        }
        changed.push_str(&text[at..]);
        changed
    }

    /// The suffix that turns `word` into another word; `None` if the word is kept.
    fn replacement_suffix(&self, word: &str) -> Option<String> {
        if self.number == 0 || !self.vocabulary.0.contains(word) {
            return None;
        }
        let random = random_bytes(self.number, word.as_bytes());
        random[0].is_multiple_of(REPLACED_ONE_OF).then(|| syllables(&random[1..3]))
    }

    /// The copy of a file.
    pub(super) fn file(&self, file: &FileWrite) -> FileWrite {
        let path = self.path(&file.path);
        let chunks = file.chunks.iter().map(|chunk| self.chunk(&path, chunk)).collect();
        let content_hash = random_bytes(self.number, &file.content_hash).to_vec();
        FileWrite { path, chunks, content_hash, ..file.clone() }
    }

    fn chunk(&self, path: &str, chunk: &ChunkWrite) -> ChunkWrite {
        let mut content = self.text(&chunk.content);
        if self.number > 0 && content == chunk.content {
            // No word was replaced, but the text must still be distinct.
            content.push('\n');
            content.push_str(&syllables(&random_bytes(self.number, b"")[..4]));
        }
        let defines: Vec<String> = chunk.defines.iter().map(|name| self.text(name)).collect();
        let signature = chunk.signature.as_deref().map(|signature| self.text(signature));
        let document = Document { path, defines: &defines, signature: signature.as_deref(), text: &content };
        let words = words_of(&document);
        let comment = chunk.comment.as_ref().map(|comment| {
            let content = self.text(&comment.content);
            let words = words_of(&Document { path, defines: &defines, signature: None, text: &content });
            CommentWrite { content, words, ..comment.clone() }
        });
        let definitions: Vec<_> = chunk.definitions.iter().map(|one| self.definition(one)).collect();
        let forms = definitions.iter().flat_map(|one| name_forms(&one.name, &one.qualified));
        let defined = forms.map(|form| fact_id(DEFINED, &form)).collect();
        let signatures = chunk.signatures.as_deref().map(|signatures| self.text(signatures));
        ChunkWrite {
            definitions,
            defined,
            signatures,
            content_hash: *blake3::hash(content.as_bytes()).as_bytes(),
            name: chunk.name.as_deref().map(|name| self.text(name)),
            facts: chunk.facts.iter().map(|(field, value)| (*field, self.text(value))).collect(),
            content,
            defines,
            signature,
            words,
            comment,
            ..chunk.clone()
        }
    }
}

impl CorpusCopy<'_> {
    fn definition(&self, definition: &DefinitionWrite) -> DefinitionWrite {
        let facts = |facts: &Vec<NamedFact>| {
            facts.iter().map(|(field, value)| (*field, self.text(value))).collect::<Vec<_>>()
        };
        DefinitionWrite {
            name: self.text(&definition.name),
            qualified: self.text(&definition.qualified),
            signature: definition.signature.as_deref().map(|signature| self.text(signature)),
            facts: definition.facts.as_ref().map(facts),
            ..definition.clone()
        }
    }
}

/// The folder of a copy.
pub(super) fn copy_folder(number: u32) -> String {
    format!("copy_{number:04}")
}

fn words_of(document: &Document<'_>) -> WordsWrite {
    let row = terms::document(document, None);
    WordsWrite { terms: row.terms, weights: row.weights }
}

/// The synthetic vector of text `at` of file `file` in copy `number`.
pub(super) fn synthetic_vector(originals: &[Vec<f32>], (file, at): (usize, usize), number: u32) -> Vec<f32> {
    let mut vector = originals[at].clone();
    if number == 0 {
        return vector;
    }
    for (seed, drift) in [(format!("file {file}"), FILE_DRIFT), (format!("text {at}"), TEXT_DRIFT)] {
        let random = random_bytes(number, seed.as_bytes());
        let (from, to) = (random_vector(originals, &random[..8]), random_vector(originals, &random[8..16]));
        vector.iter_mut().zip(from).zip(to).for_each(|((here, from), to)| *here += drift * (to - from));
    }
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    vector.iter_mut().for_each(|x| *x /= length);
    vector
}

/// One of the vectors, selected by eight random bytes.
fn random_vector<'v>(originals: &'v [Vec<f32>], bits: &[u8]) -> &'v [f32] {
    let mut eight = [0; 8];
    eight.copy_from_slice(bits);
    &originals[usize::try_from(u64::from_le_bytes(eight) % originals.len() as u64).unwrap_or(0)]
}

/// Pseudo-random bytes that depend only on the copy and the seed.
fn random_bytes(number: u32, seed: &[u8]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&number.to_le_bytes()).update(seed);
    *hasher.finalize().as_bytes()
}

/// Pronounceable syllables from random bytes.
fn syllables(bits: &[u8]) -> String {
    const STARTS: [&str; 16] =
        ["b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v", "z", "tr", "st"];
    const ENDS: [&str; 16] =
        ["a", "e", "i", "o", "u", "an", "en", "in", "on", "un", "ar", "er", "or", "al", "el", "is"];
    bits.iter().flat_map(|byte| [STARTS[usize::from(byte & 15)], ENDS[usize::from(byte >> 4)]]).collect()
}

/// A file of a copy and the repository that contains it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileCopy {
    pub(super) copy: u32,
    /// Index of the original file.
    pub(super) file: usize,
    /// Index of the repository.
    pub(super) repository: usize,
}

/// Number of repositories in a generated project, each with the same share of the chunks.
pub(super) const REPOSITORIES: usize = 100;

/// Copies of all files until there are about `wanted` chunks; the last copy is a sample of the files. `files` holds the path
/// and the number of chunks of each file.
pub(super) fn file_copies(files: &[(&str, usize)], wanted: usize) -> Vec<FileCopy> {
    let whole: usize = files.iter().map(|(_, chunks)| chunks).sum();
    let (mut places, mut chunks) = (Vec::new(), 0);
    for copy in 0.. {
        if chunks >= wanted || whole == 0 {
            break;
        }
        let left = wanted - chunks;
        for (file, (path, size)) in files.iter().enumerate() {
            if left < whole && !is_sampled(path, left, whole) {
                continue;
            }
            let repository = (chunks * REPOSITORIES / wanted).min(REPOSITORIES - 1);
            places.push(FileCopy { copy, file, repository });
            chunks += size;
        }
        if left < whole {
            break;
        }
    }
    places
}

/// Checks whether a file belongs to a sample of `share` out of `of` chunks, decided by its path.
fn is_sampled(path: &str, share: usize, of: usize) -> bool {
    let random = random_bytes(0, path.as_bytes());
    let position = usize::from(u16::from_le_bytes([random[0], random[1]]));
    position * of < share << 16
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(content: &str, defines: &str) -> ChunkWrite {
        ChunkWrite { content: content.to_owned(), defines: vec![defines.to_owned()], ..ChunkWrite::default() }
    }

    fn vocabulary() -> ReplaceableWords {
        // `shared` is in all of 200 texts, each other word in one.
        let texts: Vec<String> = (0..200).map(|i| format!("shared fn parse_thing{i} handler{i}")).collect();
        ReplaceableWords::from_texts(texts.iter().map(String::as_str))
    }

    #[test]
    fn a_copy_changes_some_words_and_says_each_alike_everywhere() {
        let vocabulary = vocabulary();
        let text: String = (0..200).map(|i| format!("shared handler{i} (handler{i});\n")).collect();
        let copy = |number| CorpusCopy { number, vocabulary: &vocabulary }.text(&text);
        assert_eq!(copy(0), text);
        assert_ne!(copy(1), copy(2));
        assert_eq!(copy(1), copy(1));
        assert_eq!(copy(1).matches("shared ").count(), 200);
        let changed = copy(1).lines().zip(text.lines()).filter(|(a, b)| a != b).count();
        assert!((25..75).contains(&changed), "{changed} of 200, one of four");
        let alike =
            |line: &str| line["shared ".len()..].split_once(" (").map(|(a, b)| b.trim_end_matches(");") == a);
        assert!(copy(1).lines().all(|line| alike(line) == Some(true)));
    }

    #[test]
    fn a_copied_file_has_another_path_other_texts_and_words_that_fit_them() {
        let vocabulary = vocabulary();
        let chunks = vec![chunk("shared", "shared"), chunk("fn handler7() {}", "handler7")];
        let file = FileWrite { path: "src/a.rs".into(), chunks, ..FileWrite::default() };
        let copied = CorpusCopy { number: 3, vocabulary: &vocabulary }.file(&file);
        assert_eq!(copied.path, "copy_0003/src/a.rs");
        for (copied, original) in copied.chunks.iter().zip(&file.chunks) {
            assert_ne!(copied.content, original.content);
            assert!(copied.content.starts_with("shared\n") || copied.content.contains(&copied.defines[0]));
            let word = terms::whole_word(&copied.defines[0]).unwrap();
            assert!(copied.words.terms.contains(&word));
        }
    }

    #[test]
    fn a_copied_vector_is_near_its_original_and_of_unit_length() {
        let axis = |at: usize| (0..32).map(|i| f32::from(u8::from(i == at))).collect::<Vec<f32>>();
        let originals: Vec<_> = (0..32).map(axis).collect();
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        assert_eq!(synthetic_vector(&originals, (1, 5), 0), originals[5]);
        for number in 1..9 {
            let copied = synthetic_vector(&originals, (1, 5), number);
            assert!((dot(&copied, &copied) - 1.0).abs() < 1e-5);
            assert!(dot(&copied, &originals[5]) > 0.7);
        }
        assert_ne!(synthetic_vector(&originals, (1, 5), 1), synthetic_vector(&originals, (1, 5), 2));
    }

    #[test]
    fn places_reach_the_wanted_number_in_whole_copies_and_a_sample() {
        let names: Vec<String> = (0..1000).map(|i| format!("f{i}")).collect();
        let files: Vec<(&str, usize)> = names.iter().map(|name| (name.as_str(), 3)).collect();
        for wanted in [300, 3000, 10_000] {
            let places = file_copies(&files, wanted);
            let chunks = places.len() * 3;
            assert!(chunks.abs_diff(wanted) < wanted / 10, "{chunks} for {wanted}");
            assert!(places.windows(2).all(|pair| pair[0].repository <= pair[1].repository));
            assert!(places.iter().all(|place| place.repository < REPOSITORIES));
        }
        assert!(file_copies(&[], 10).is_empty());
    }
}
