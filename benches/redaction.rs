//! Redaction of real files with planted secrets: its effect on their syntax, and the secrets that it misses.
//!
//! `cargo bench --bench redaction -- --corpus DIR…` plants secrets of many kinds in the strings, comments, assignments and words of
//! the files below the folders, always the same ones, redacts the files, and compares how many places of each the grammar cannot
//! read before and after. It prints a row for each language and every file with more errors after than before, and fails if there
//! is one. `--half work` and `--half held` take one half of the files each; `--files N` sets how many of a language are taken (60).
//! `-- --changed DIR…` instead prints each line of the files, as they are, that redaction changes, to be compared with those of
//! another version.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark stops at the first error")]

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use engine::indexing::redact_file;
use languages::Language;
use languages::fuzzing::{Leaves, leaves};

/// Largest file in bytes.
const BYTES_MAX: u64 = 40_000;
/// Largest file whose changed lines are printed, in bytes.
const CHANGED_BYTES_MAX: u64 = 4 << 20;
/// Files of a language.
const FILES: usize = 60;
/// Secrets of each kind of place in a file.
const PLANTED: usize = 8;
/// Longest time that parsing a file may take.
const PARSE_TIME: Duration = Duration::from_secs(10);
/// Folders that are not read.
const SKIPPED: [&str; 3] = [".git", "node_modules", "target"];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let folders = |flag: &str| -> Vec<PathBuf> {
        let after = arguments.iter().skip_while(|argument| *argument != flag).skip(1);
        after.take_while(|argument| !argument.starts_with("--")).map(PathBuf::from).collect()
    };
    let value = |flag: &str| arguments.iter().skip_while(|argument| *argument != flag).nth(1);
    let changed = folders("--changed");
    if !changed.is_empty() {
        return print_changed(&changed);
    }
    let corpus = folders("--corpus");
    if corpus.is_empty() {
        println!("No corpus. Name folders with source files: cargo bench --bench redaction -- --corpus DIR");
        return;
    }
    let half = value("--half").map(String::as_str);
    let files_max = value("--files").and_then(|files| files.parse().ok()).unwrap_or(FILES);
    let worse = compare(&corpus, half, files_max);
    assert_eq!(worse, 0, "files with more errors after redaction");
}

/// The files below the folders, in the order of their paths.
fn files(folders: &[PathBuf]) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut pending = folders.to_vec();
    while let Some(folder) = pending.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && !SKIPPED.iter().any(|name| entry.file_name() == *name) {
                pending.push(entry.path());
            } else if kind.is_file() {
                files.push(entry.path());
            }
        }
    }
    files.sort_by_key(|file| (hash(&file.to_string_lossy()), file.clone()));
    files
}

fn read(file: &Path, bytes_max: u64) -> Option<String> {
    let size = fs::metadata(file).ok()?.len();
    (size <= bytes_max).then(|| fs::read(file).ok())?.and_then(|bytes| String::from_utf8(bytes).ok())
}

fn hash(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Prints the lines that redaction changes, and how many lines there are.
fn print_changed(folders: &[PathBuf]) {
    let (mut lines, mut changed) = (0, 0);
    for file in files(folders) {
        let Some(text) = read(&file, CHANGED_BYTES_MAX) else { continue };
        let redacted = redact_file(&file.to_string_lossy(), &text);
        for ((before, after), number) in text.split('\n').zip(redacted.text.split('\n')).zip(1..) {
            lines += 1;
            if before != after {
                changed += 1;
                println!("{}:{number}\t{before}\t{after}", file.display());
            }
        }
    }
    println!("{changed} of {lines} lines changed");
}

/// Outcomes for the files of a language.
#[derive(Default)]
struct Counts {
    files: usize,
    planted: usize,
    /// Planted secrets of a recognisable format that are still there.
    kept: usize,
    /// Planted texts, and all secrets that were found in them.
    redacted: usize,
    /// Files with more errors after redaction.
    worse: usize,
}

/// Compares the errors before and after; returns how many files have more.
fn compare(folders: &[PathBuf], half: Option<&str>, files_max: usize) -> usize {
    let mut counts: BTreeMap<&str, Counts> = BTreeMap::new();
    for file in files(folders) {
        let path = file.to_string_lossy();
        let is_held = hash(&path).rotate_left(17) % 2 == 1;
        if half.is_some_and(|half| is_held != (half == "held")) {
            continue;
        }
        let Some(text) = read(&file, BYTES_MAX).filter(|text| !text.trim().is_empty()) else { continue };
        let Some(language) = languages::detect(&path, &text.as_bytes()[..text.len().min(4096)]) else {
            continue;
        };
        let count = counts.entry(language.id).or_default();
        if !language.has_grammar() || count.files >= files_max {
            continue;
        }
        let Some(original) = leaves(&text, language, PARSE_TIME) else { continue };
        for (text, secrets) in planted(&text, &original, hash(&path)) {
            let Some(before) = leaves(&text, language, PARSE_TIME) else { continue };
            let redacted = redact_file(&path, &text);
            let Some(after) = leaves(&redacted.text, language, PARSE_TIME) else { continue };
            assert_eq!(redacted.text.matches('\n').count(), text.matches('\n').count(), "{path}");
            count.planted += secrets.len();
            count.redacted += redacted.count;
            let kept = secrets.iter().filter(|secret| redacted.text.contains(secret.as_str()));
            for secret in kept {
                count.kept += 1;
                let line = redacted.text.lines().find(|line| line.contains(secret.as_str()));
                println!("{path}: kept {secret}: {}", shortened(line.unwrap_or_default()));
            }
            if after.errors > before.errors {
                count.worse += 1;
                println!("{path}: {} errors, before {}", after.errors, before.errors);
                print_culprits(&path, language, &text);
            }
        }
        count.files += 1;
    }
    println!(
        "{:<12} {:>6} {:>8} {:>9} {:>6} {:>6}",
        "language", "files", "planted", "redacted", "kept", "worse"
    );
    counts.retain(|_, count| count.files > 0);
    let mut all = Counts::default();
    for (language, count) in &counts {
        print_counts(language, count);
        all.files += count.files;
        all.planted += count.planted;
        all.redacted += count.redacted;
        all.kept += count.kept;
        all.worse += count.worse;
    }
    print_counts(&format!("all {}", counts.len()), &all);
    all.worse
}

fn print_counts(name: &str, count: &Counts) {
    let Counts { files, planted, redacted, kept, worse } = count;
    println!("{name:<12} {files:>6} {planted:>8} {redacted:>9} {kept:>6} {worse:>6}");
}

/// Prints the lines whose redaction alone adds an error.
fn print_culprits(path: &str, language: &Language, text: &str) {
    let redacted = redact_file(path, text);
    let lines: Vec<&str> = text.split('\n').collect();
    let Some(before) = leaves(text, language, PARSE_TIME) else { return };
    let changed = lines
        .iter()
        .zip(redacted.text.split('\n'))
        .enumerate()
        .filter(|(_, (before, after))| *before != after);
    for (number, (line, after)) in changed {
        let mut one: Vec<&str> = lines.clone();
        one[number] = after;
        let errors = leaves(&one.join("\n"), language, PARSE_TIME).map_or(0, |found| found.errors);
        if errors > before.errors {
            println!("  {}: {}\n   -> {}", number + 1, shortened(line), shortened(after));
        }
    }
}

fn shortened(line: &str) -> String {
    line.chars().take(240).collect()
}

/// Random numbers, the same in each run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((bits ^ (bits >> 31)) >> 8).unwrap()
    }

    fn chars(&mut self, alphabet: &[u8], count: usize) -> String {
        (0..count).map(|_| char::from(alphabet[self.next() % alphabet.len()])).collect()
    }

    /// A token of letters and digits.
    fn token(&mut self, count: usize) -> String {
        self.chars(b"ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789", count - 2) + "7q"
    }

    /// A password with symbols.
    fn password(&mut self) -> String {
        self.chars(b"ABCDEFGH", 1)
            + &self.chars(b"abcdefghjkmnpqrst", 3)
            + &self.chars(b"!@%*+~.^=", 1)
            + &self.chars(b"23456789", 2)
            + &self.token(6)
    }
}

/// Tokens that are one word, which can take the place of a name.
fn word(random: &mut Random) -> String {
    match random.next() % 5 {
        0 => "ghp_".to_owned() + &random.token(36),
        1 => "AKIA".to_owned() + &random.chars(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16),
        2 => "sk_live_".to_owned() + &random.token(24),
        3 => "npm_".to_owned() + &random.token(36),
        _ => "hf_".to_owned() + &random.token(34),
    }
}

/// A text with a secret, and the secret. `sure`: a format that is recognised anywhere.
fn text_with_secret(random: &mut Random) -> (String, String, bool) {
    let password = random.password();
    let token = random.token(32);
    let of = |before: &str, secret: &str, after: &str, sure: bool| {
        (format!("{before}{secret}{after}"), secret.to_owned(), sure)
    };
    match random.next() % 20 {
        0 => of("machine h login user password ", &password, "", true),
        1 => of("machine api.h.org login user password ", "hunter2secret", "", true),
        2 => of("", &word(random), "", true),
        3 => of("token ", &word(random), "", true),
        4 => of("Authorization: Bearer ", &token, "", false),
        5 => of("postgres://app:", &format!("s3cr{}", random.token(8)), "@db:5432/x", true),
        6 => of("sshpass -p ", &password, " ssh h", true),
        7 => of("sshpass -p ", &password, "", true),
        8 => of("curl -u admin:", &password, " https://h", true),
        9 => of("curl https://h -u admin:", &password, "", true),
        10 => of("Server=db;User Id=app;Password=", &password, ";", false),
        11 => of("--password ", &password, "", false),
        12 => of("db_password=", &password, "", false),
        13 => of("host=db user=app password=", &password, " dbname=app", false),
        14 => of("mysql -u root -p", &format!("S3cr{token}"), " app", true),
        15 => of("xoxb-123456789012-", &random.token(24), "", true),
        16 => of("https://hooks.slack.com/services/T00000000/B00000000/", &random.token(24), "", true),
        17 => of("docker login -u ci -p ", &password, "", false),
        18 => of(&format!("openssl enc -k {}", &password[..4]), &password[4..], "", false),
        _ => of(&format!("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx{}.", random.token(20)), &token, "", true),
    }
}

/// Texts with planted secrets: in strings and comments, in assignments, and as words; with the secrets that must be found.
fn planted(text: &str, original: &Leaves, seed: u64) -> Vec<(String, Vec<String>)> {
    let mut random = Random(seed);
    vec![
        in_strings_and_comments(text, original, &mut random),
        in_assignments(text, &mut random),
        as_words(text, original, &mut random),
    ]
}

/// Picks at most [`PLANTED`] of the places, in order.
fn picked<T>(mut places: Vec<T>, random: &mut Random) -> Vec<T> {
    while places.len() > PLANTED {
        places.remove(random.next() % places.len());
    }
    places
}

/// Applies the edits, which are in order.
fn edited(text: &str, edits: &[(Range<usize>, String)]) -> String {
    let (mut out, mut at) = (String::new(), 0);
    for (range, new) in edits {
        out.push_str(&text[at..range.start]);
        out.push_str(new);
        at = range.end;
    }
    out + &text[at..]
}

fn in_strings_and_comments(text: &str, original: &Leaves, random: &mut Random) -> (String, Vec<String>) {
    let is_content = |kind: &str| {
        [
            "string", "comment", "text", "heredoc", "char_data", "quoted", "scalar", "fragment",
            "attribute_value",
        ]
        .iter()
        .any(|word| kind.contains(word))
    };
    let mut places = Vec::new();
    for (range, kind, parent) in &original.leaves {
        let content = &text[range.clone()];
        let is_named = kind.len() > 3 && (is_content(kind) || is_content(parent));
        if is_named && content.len() > 4 && content.chars().any(char::is_alphanumeric) {
            places.push((range.clone(), kind.contains("comment")));
        }
    }
    let (mut edits, mut secrets) = (Vec::new(), Vec::new());
    for (range, is_comment) in picked(places, random) {
        let content = &text[range.clone()];
        // Where a word begins or ends, so that neither a delimiter nor an escape is cut.
        let is_word = |c: char| c.is_alphanumeric();
        let first = content.find(is_word).unwrap();
        let after =
            content.rfind(is_word).map(|at| at + content[at..].chars().next().unwrap().len_utf8()).unwrap();
        let (planted, secret, sure) = text_with_secret(random);
        let escaped = first > 0 && content[..first].ends_with('\\')
            || content[..after].rfind('\\').is_some_and(|at| at + 12 > after);
        let (at, planted) = match random.next() % 2 {
            0 if !escaped => (range.start + first, planted + " "),
            _ => (range.start + after, " ".to_owned() + &planted),
        };
        if sure && !escaped && !is_comment {
            secrets.push(secret);
        }
        edits.push((at..at, planted));
    }
    (edited(text, &edits), secrets)
}

/// Replaces the name and the quoted value of assignments.
fn in_assignments(text: &str, random: &mut Random) -> (String, Vec<String>) {
    let mut places = Vec::new();
    for (quote, _) in text.match_indices(['"', '\'']) {
        let before = text[..quote].trim_end_matches(' ');
        let Some(name) =
            before.strip_suffix(['=', ':']).map(|before| before.trim_end_matches([' ', ':', '"']))
        else {
            continue;
        };
        let length =
            name.bytes().rev().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
        let value = &text[quote + 1..];
        let Some(end) = value.find(&text[quote..=quote]) else { continue };
        let is_plain = value[..end].chars().all(|c| c.is_alphanumeric() || " ._-/".contains(c));
        if length > 1 && is_plain && end > 0 {
            places.push((name.len() - length..name.len(), quote + 1..quote + 1 + end));
        }
    }
    let (mut edits, mut secrets) = (Vec::new(), Vec::new());
    let mut last = 0;
    for (name, value) in picked(places, random) {
        if name.start < last {
            continue;
        }
        last = value.end;
        let secret = random.password();
        edits.push((name, "db_password".to_owned()));
        edits.push((value, secret.clone()));
        secrets.push(secret);
    }
    (edited(text, &edits), secrets)
}

/// Replaces names, numbers and words of the code by tokens.
fn as_words(text: &str, original: &Leaves, random: &mut Random) -> (String, Vec<String>) {
    let is_word = |range: &Range<usize>| {
        let word = &text[range.clone()];
        word.len() >= 4 && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    let places = original
        .leaves
        .iter()
        .filter(|(range, kind, _)| is_word(range) && kind.as_str() != &text[range.clone()]);
    let places: Vec<Range<usize>> = places.map(|(range, ..)| range.clone()).collect();
    let (mut edits, mut secrets) = (Vec::new(), Vec::new());
    for place in picked(places, random) {
        let secret = word(random);
        secrets.push(secret.clone());
        edits.push((place, secret));
    }
    (edited(text, &edits), secrets)
}
