//! Measures recall on planted secrets and false positives on ordinary lines.

use std::collections::BTreeMap;

use super::{redact_file, rules};

/// Templates of secrets, in the format that the file describes.
const PLANTED: &str = include_str!("planted.txt");
/// Lines without secrets, grouped by the path of the file in which they occur.
const ORDINARY: &str = include_str!("ordinary.txt");
/// Number of texts that are generated from each template.
const SEEDS: u64 = 5;

/// Random characters, the same in each run.
struct RandomChars(u64);

impl RandomChars {
    fn next(&mut self) -> u64 {
        // splitmix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    fn pick(&mut self, alphabet: &str, count: usize) -> String {
        let chars: Vec<char> = alphabet.chars().collect();
        (0..count).map(|_| chars[usize::try_from(self.next() % chars.len() as u64).unwrap()]).collect()
    }

    /// Returns a password of letters, digits and `symbols`, with at least one of each.
    fn password(&mut self, symbols: &str, count: usize) -> String {
        let start =
            self.pick(UPPER, 1) + &self.pick(LOWER, 2) + &self.pick(DIGITS, 1) + &self.pick(symbols, 1);
        start + &self.pick(&[UPPER, LOWER, DIGITS, symbols].concat(), count - 6) + &self.pick(LOWER, 1)
    }

    /// Returns words with a digit among their letters.
    fn phrase(&mut self, count: usize) -> String {
        let mut word = || {
            let first = self.pick(&[UPPER, LOWER].concat(), 1) + &self.pick(LOWER, 1);
            first + &self.pick(DIGITS, 1) + &self.pick(LOWER, 3)
        };
        (0..count).map(|_| word()).collect::<Vec<_>>().join(" ")
    }
}

const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
const DIGITS: &str = "0123456789";

/// Returns the text for `{name:count}` in a template.
fn generated(name: &str, count: usize, random: &mut RandomChars) -> String {
    let hex = "0123456789abcdef";
    let alnum = [UPPER, LOWER, DIGITS].concat();
    match name {
        "hex" => random.pick(hex, count),
        "HEX" => random.pick(&hex.to_uppercase(), count),
        "alnum" => random.pick(&alnum, count),
        "lower" => random.pick(&[LOWER, DIGITS].concat(), count),
        "UPPER" => random.pick(&[UPPER, DIGITS].concat(), count),
        "UPPERAGE" => random.pick("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", count),
        "base32" => random.pick("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", count),
        "b64" => random.pick(&[&alnum, "+/"].concat(), count),
        "b64u" => random.pick(&[&alnum, "_-"].concat(), count - 1) + &random.pick(&alnum, 1),
        "digits" => random.pick("123456789", count),
        "letters" => random.pick(&[UPPER, LOWER].concat(), count),
        "word" => random.pick(LOWER, count),
        "pw" => random.password("!@#%^*_+-", count),
        "pwu" => random.password("!*_+-", count),
        "phrase" => random.phrase(count),
        "uuid" => [8, 4, 4, 4, 12].map(|count| random.pick(hex, count)).join("-"),
        "basic" => base64(&format!("svc:{}", random.password("!#%", 12))),
        "pem" => (0..12).map(|_| random.pick(&[&alnum, "+/"].concat(), 64)).collect::<Vec<_>>().join("\n"),
        "pem1" => (0..12).map(|_| random.pick(&[&alnum, "+/"].concat(), 64)).collect::<Vec<_>>().join("\\n"),
        _ => panic!("no {name}"),
    }
}

fn base64(text: &str) -> String {
    let alphabet: Vec<char> = [UPPER, LOWER, DIGITS, "+/"].concat().chars().collect();
    let mut out = String::new();
    for three in text.as_bytes().chunks(3) {
        let bits =
            three.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        let letter = |at: usize| alphabet[(bits >> (18 - 6 * at) & 63) as usize];
        out.extend((0..4).map(|at| if at <= three.len() { letter(at) } else { '=' }));
    }
    out
}

/// Expands a template to a text; also returns the secrets in it.
fn expand(template: &str, random: &mut RandomChars) -> (String, Vec<String>) {
    let mut text = String::new();
    let mut secrets = Vec::new();
    let mut rest = template;
    while let Some(c) = rest.chars().next() {
        let generator = rest.strip_prefix('{').and_then(|rest| {
            let (inner, after) = rest.split_once('}')?;
            let (name, count) = inner.split_once(':').unwrap_or((inner, "1"));
            let is_name = name.chars().all(|c| c.is_ascii_alphanumeric()) && !name.is_empty();
            let count = count.parse().ok()?;
            let is_generator = matches!(name, "uuid" | "basic" | "pem" | "pem1") || inner.contains(':');
            (is_name && is_generator).then_some((name, count, after))
        });
        if let Some((name, count, after)) = generator {
            text.push_str(&generated(name, count, random));
            rest = after;
            continue;
        }
        match c {
            '«' => secrets.push(text.len().to_string()),
            '»' => {
                let start: usize = secrets.pop().unwrap().parse().unwrap();
                secrets.push(text[start..].to_owned());
            }
            '⏎' => text.push('\n'),
            c => text.push(c),
        }
        rest = &rest[c.len_utf8()..];
    }
    (text, secrets)
}

/// Time at which a kind of planted secrets was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Group {
    /// Before the rules, which were tuned on it.
    Tuned,
    /// Before the rules, which were not tuned on it.
    HeldOut,
    /// After the rules.
    Blind,
}

/// One kind of planted secret.
struct Kind {
    name: &'static str,
    group: Group,
    path: &'static str,
    templates: Vec<&'static str>,
}

fn kinds() -> Vec<Kind> {
    let mut kinds: Vec<Kind> = Vec::new();
    for line in PLANTED.lines() {
        let header = |(prefix, group): (&str, Group)| {
            let (name, path) = line.strip_prefix(prefix)?.split_once(' ')?;
            Some((name, path, group))
        };
        let groups = [("@ ", Group::Tuned), ("@held ", Group::HeldOut), ("@blind ", Group::Blind)];
        match groups.into_iter().find_map(header) {
            Some((name, path, group)) => kinds.push(Kind { name, group, path, templates: Vec::new() }),
            None => kinds
                .iter_mut()
                .last()
                .filter(|_| line.contains('«'))
                .into_iter()
                .for_each(|kind| kind.templates.push(line)),
        }
    }
    kinds
}

/// Numbers of planted secrets that were found.
#[derive(Default)]
struct Recall {
    /// Texts in which all secrets were found.
    found: u32,
    /// All texts.
    planted: u32,
    kinds: usize,
    /// For each kind, a text in which a secret was missed.
    missed: BTreeMap<&'static str, String>,
}

impl Recall {
    fn share(&self) -> f64 {
        f64::from(self.found) / f64::from(self.planted)
    }
}

fn recall(group: Group) -> Recall {
    let mut recall = Recall::default();
    for kind in kinds().into_iter().filter(|kind| kind.group == group) {
        recall.kinds += 1;
        for template in &kind.templates {
            for seed in 0..SEEDS {
                let bytes = template.bytes().chain(kind.name.bytes());
                let seed = bytes.fold(seed, |sum, byte| sum.wrapping_mul(131).wrapping_add(byte.into()));
                let (text, secrets) = expand(template, &mut RandomChars(seed));
                let redacted = redact_file(kind.path, &text);
                assert_eq!(redacted.text.matches('\n').count(), text.matches('\n').count(), "{text}");
                let all_redacted = secrets.iter().all(|secret| {
                    secret.lines().map(str::trim).all(|line| line.len() < 4 || !redacted.text.contains(line))
                });
                recall.planted += 1;
                recall.found += u32::from(all_redacted);
                if !all_redacted {
                    recall.missed.insert(kind.name, format!("{}: {text} -> {}", kind.path, redacted.text));
                }
            }
        }
    }
    recall
}

#[test]
fn planted_secrets_are_found() {
    for group in [Group::Tuned, Group::HeldOut, Group::Blind] {
        let recall = recall(group);
        println!(
            "{group:?}, {} kinds: {} of {} found, {:.3}",
            recall.kinds,
            recall.found,
            recall.planted,
            recall.share()
        );
        for (kind, text) in &recall.missed {
            println!("  missed {kind}: {text}");
        }
        assert!(recall.share() >= 0.97, "{group:?}: {:#?}", recall.missed);
    }
    assert!(kinds().len() >= 150);
    assert!(3 * kinds().iter().filter(|kind| kind.group != Group::Tuned).count() >= kinds().len());
}

#[test]
fn ordinary_lines_are_not_changed() {
    let mut path = "";
    let mut lines = 0;
    let mut changed = Vec::new();
    for block in ORDINARY.split("\n@ ").skip(1) {
        let (header, text) = block.split_once('\n').unwrap();
        path = if header.is_empty() { path } else { header };
        lines += text.lines().filter(|line| !line.trim().is_empty()).count();
        let redacted = redact_file(path, text);
        for (before, after) in
            text.lines().zip(redacted.text.lines()).filter(|(before, after)| before != after)
        {
            changed.push(format!("{path}: {before} -> {after}"));
        }
    }
    println!("{} of {lines} ordinary lines changed", changed.len());
    assert!(lines >= 400, "{lines}");
    assert!(changed.len() * 2_000 <= lines, "{changed:#?}");
}

#[test]
fn every_token_format_is_valid() {
    for format in &rules::RULES.token_formats {
        assert!(format.regex().is_some(), "{}", format.kind);
        let is_valid_kind = format.kind.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        assert!(is_valid_kind, "{}", format.kind);
    }
}

/// A multi-byte character may occur anywhere: in a name, in a value, after a keyword, at the end of a truncated text.
#[test]
fn multi_byte_characters_anywhere_are_accepted() {
    let mut random = RandomChars(7);
    let planted = kinds().into_iter().flat_map(|kind| {
        let paths = kind.templates.into_iter().map(move |template| (kind.path, template));
        paths.collect::<Vec<_>>()
    });
    let mut texts: Vec<(&str, String)> =
        planted.map(|(path, template)| (path, expand(template, &mut random).0)).collect();
    let ordinary = ORDINARY.lines().filter(|line| !line.is_empty());
    texts.extend(ordinary.map(|line| ("config/app.yml", line.to_owned())));
    for (number, (path, text)) in texts.iter().enumerate() {
        let boundaries: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        for part in 0..6 {
            // The positions differ from text to text, so that all texts together cover every kind of position.
            let at = boundaries[(number * 7 + part * boundaries.len() / 6) % boundaries.len()];
            let unusual = ["…", "é", "\u{10ffff}", "\u{0}", "«", "ß\r"][(number + part) % 6];
            for changed in [
                format!("{}{unusual}{}", &text[..at], &text[at..]),
                format!("{}{unusual}", &text[..at]),
                format!("{unusual}{}", &text[at..]),
            ] {
                let redacted = redact_file(path, &changed);
                assert_eq!(redacted.text.matches('\n').count(), changed.matches('\n').count(), "{changed:?}");
            }
        }
    }
}
