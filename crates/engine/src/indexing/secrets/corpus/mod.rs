//! Measures recall on planted secrets and false positives on ordinary lines.

use std::collections::BTreeMap;

use super::{redact_file, rules};

/// Secrets as templates; the file says how they read.
const PLANTED: &str = include_str!("planted.txt");
/// Lines without secrets, grouped by the path of their file.
const ORDINARY: &str = include_str!("ordinary.txt");
/// How many secrets are made of each template.
const SEEDS: u64 = 5;

/// Random letters, the same in each run.
struct Letters(u64);

impl Letters {
    fn next(&mut self) -> u64 {
        // splitmix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    fn of(&mut self, letters: &str, count: usize) -> String {
        let letters: Vec<char> = letters.chars().collect();
        (0..count).map(|_| letters[usize::try_from(self.next() % letters.len() as u64).unwrap()]).collect()
    }

    /// Upper, lower, digit and one of `odd`.
    fn password(&mut self, odd: &str, count: usize) -> String {
        let start = self.of(UPPER, 1) + &self.of(LOWER, 2) + &self.of(DIGITS, 1) + &self.of(odd, 1);
        start + &self.of(&[UPPER, LOWER, DIGITS, odd].concat(), count - 6) + &self.of(LOWER, 1)
    }
}

const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
const DIGITS: &str = "0123456789";

/// What `{name:count}` stands for.
fn generated(name: &str, count: usize, letters: &mut Letters) -> String {
    let hex = "0123456789abcdef";
    let alnum = [UPPER, LOWER, DIGITS].concat();
    match name {
        "hex" => letters.of(hex, count),
        "HEX" => letters.of(&hex.to_uppercase(), count),
        "alnum" => letters.of(&alnum, count),
        "lower" => letters.of(&[LOWER, DIGITS].concat(), count),
        "UPPER" => letters.of(&[UPPER, DIGITS].concat(), count),
        "UPPERAGE" => letters.of("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", count),
        "base32" => letters.of("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", count),
        "b64" => letters.of(&[&alnum, "+/"].concat(), count),
        "b64u" => letters.of(&[&alnum, "_-"].concat(), count - 1) + &letters.of(&alnum, 1),
        "digits" => letters.of("123456789", count),
        "letters" => letters.of(&[UPPER, LOWER].concat(), count),
        "word" => letters.of(LOWER, count),
        "pw" => letters.password("!@#%^*_+-", count),
        "pwu" => letters.password("!*_+-", count),
        "uuid" => [8, 4, 4, 4, 12].map(|count| letters.of(hex, count)).join("-"),
        "basic" => base64(&format!("svc:{}", letters.password("!#%", 12))),
        "pem" => (0..12).map(|_| letters.of(&[&alnum, "+/"].concat(), 64)).collect::<Vec<_>>().join("\n"),
        "pem1" => (0..12).map(|_| letters.of(&[&alnum, "+/"].concat(), 64)).collect::<Vec<_>>().join("\\n"),
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

/// The text of a template, and the secrets in it.
fn made(template: &str, letters: &mut Letters) -> (String, Vec<String>) {
    let mut text = String::new();
    let mut secrets = Vec::new();
    let mut rest = template;
    while let Some(letter) = rest.chars().next() {
        let generator = rest.strip_prefix('{').and_then(|rest| {
            let (inner, after) = rest.split_once('}')?;
            let (name, count) = inner.split_once(':').unwrap_or((inner, "1"));
            let known = name.chars().all(|letter| letter.is_ascii_alphanumeric()) && !name.is_empty();
            let count = count.parse().ok()?;
            let named = matches!(name, "uuid" | "basic" | "pem" | "pem1") || inner.contains(':');
            (known && named).then_some((name, count, after))
        });
        if let Some((name, count, after)) = generator {
            text.push_str(&generated(name, count, letters));
            rest = after;
            continue;
        }
        match letter {
            '«' => secrets.push(text.len().to_string()),
            '»' => {
                let start: usize = secrets.pop().unwrap().parse().unwrap();
                secrets.push(text[start..].to_owned());
            }
            '⏎' => text.push('\n'),
            letter => text.push(letter),
        }
        rest = &rest[letter.len_utf8()..];
    }
    (text, secrets)
}

/// When a kind was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Group {
    /// The rules were tuned on it.
    Tuned,
    /// Before the rules were tuned, and kept apart.
    Held,
    /// After the rules were done.
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
        let head = |mark: &str| line.strip_prefix(mark).and_then(|head| head.split_once(' '));
        let marks = [("@ ", Group::Tuned), ("@held ", Group::Held), ("@blind ", Group::Blind)];
        let kind =
            marks.into_iter().find_map(|(mark, group)| head(mark).map(|(name, path)| (name, path, group)));
        match kind {
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

/// Numbers of found and planted secrets, and the texts in which one was missed.
#[derive(Default)]
struct Recall {
    found: u32,
    planted: u32,
    kinds: usize,
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
                let mut letters =
                    Letters(bytes.fold(seed, |sum, byte| sum.wrapping_mul(131).wrapping_add(byte.into())));
                let (text, secrets) = made(template, &mut letters);
                let redacted = redact_file(kind.path, &text);
                assert_eq!(redacted.text.matches('\n').count(), text.matches('\n').count(), "{text}");
                let gone = secrets.iter().all(|secret| {
                    secret.lines().map(str::trim).all(|line| line.len() < 4 || !redacted.text.contains(line))
                });
                recall.planted += 1;
                recall.found += u32::from(gone);
                if !gone {
                    recall.missed.insert(kind.name, format!("{}: {text} -> {}", kind.path, redacted.text));
                }
            }
        }
    }
    recall
}

#[test]
fn planted_secrets_are_found() {
    for group in [Group::Tuned, Group::Held, Group::Blind] {
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
fn ordinary_lines_stay() {
    let mut path = "";
    let mut lines = 0;
    let mut wrong = Vec::new();
    for block in ORDINARY.split("\n@ ").skip(1) {
        let (head, text) = block.split_once('\n').unwrap();
        path = if head.is_empty() { path } else { head };
        lines += text.lines().filter(|line| !line.trim().is_empty()).count();
        let redacted = redact_file(path, text);
        for (before, after) in
            text.lines().zip(redacted.text.lines()).filter(|(before, after)| before != after)
        {
            wrong.push(format!("{path}: {before} -> {after}"));
        }
    }
    println!("{} of {lines} ordinary lines changed", wrong.len());
    assert!(lines >= 400, "{lines}");
    assert!(wrong.len() * 2_000 <= lines, "{wrong:#?}");
}

#[test]
fn every_rule_is_valid_and_bounded() {
    for rule in &rules::RULES.tokens {
        assert!(rule.pattern().is_some(), "{}", rule.kind);
        assert!(rule.kind.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{}", rule.kind);
    }
}

/// A text may hold any character anywhere: in a name, in a value, where a word of a rule ends, and cut off in the middle.
#[test]
fn characters_of_several_bytes_anywhere_are_no_harm() {
    let mut letters = Letters(7);
    let planted = kinds().into_iter().flat_map(|kind| {
        let paths = kind.templates.into_iter().map(move |template| (kind.path, template));
        paths.collect::<Vec<_>>()
    });
    let mut texts: Vec<(&str, String)> =
        planted.map(|(path, template)| (path, made(template, &mut letters).0)).collect();
    texts.extend(
        ORDINARY.lines().filter(|line| !line.is_empty()).map(|line| ("config/app.yml", line.to_owned())),
    );
    for (number, (path, text)) in texts.iter().enumerate() {
        let boundaries: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        for part in 0..6 {
            // Another place each time, so that all texts together see every one.
            let at = boundaries[(number * 7 + part * boundaries.len() / 6) % boundaries.len()];
            let strange = ["…", "é", "\u{10ffff}", "\u{0}", "«", "ß\r"][(number + part) % 6];
            for changed in [
                format!("{}{strange}{}", &text[..at], &text[at..]),
                format!("{}{strange}", &text[..at]),
                format!("{strange}{}", &text[at..]),
            ] {
                let redacted = redact_file(path, &changed);
                assert_eq!(redacted.text.matches('\n').count(), changed.matches('\n').count(), "{changed:?}");
            }
        }
    }
}
