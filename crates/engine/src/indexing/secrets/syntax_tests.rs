//! Redaction adds no error to the syntax of a file, in any language with a grammar and in any kind of token.

use std::time::Duration;

use languages::Language;
use languages::fuzzing::leaves;

use super::*;

/// Places of secrets, in the format that the file describes.
const PLACES: &str = include_str!("corpus/syntax.txt");

/// Returns the parts of a text with a secret: the text before it, the secret, the text after it. Joined here, so that secret scanners of
/// this repository find none.
fn secrets() -> Vec<(String, String)> {
    let token = ["ghp", "_16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    let key = ["-----BEGIN RSA ", "PRIVATE KEY-----\\nMIIEabcdefghijklmnop\\n-----END RSA PRIVATE KEY-----"]
        .concat();
    let password = ["S3cr", "et!x9Kq7"].concat();
    let with =
        |before: &str, secret: &str, after: &str| (format!("{before}{secret}{after}"), secret.to_owned());
    vec![
        with("machine h login user password ", "hunter2secret", ""),
        with("", &token, ""),
        with("token ", &token, " of"),
        with("postgres://app:", &password.replace('!', "_"), "@db:5432/x"),
        with("sshpass -p ", &password, ""),
        with("curl https://h -u admin:", &password, ""),
        with("mysql -u root -p", &password, " app"),
        with("", &key, ""),
    ]
}

/// Returns words that are secrets.
fn words() -> Vec<String> {
    [
        ["ghp", "_16C7e42F292c6912E7710c838347Ae178B4a"],
        ["AKIA", "QYLPMN5HHHFPZAM2"],
        ["sk_live", "_4eC39HqLyjWDarjtT1zdp7dc"],
    ]
    .map(|parts| parts.concat())
    .to_vec()
}

fn errors(language: &Language, text: &str) -> usize {
    leaves(text, language, Duration::from_secs(30)).unwrap().errors
}

/// Redacts a text and describes the defects of the result.
fn wrong(path: &str, text: &str, secrets: &[&str]) -> Option<String> {
    let language = languages::detect(path, text.as_bytes()).unwrap();
    let redacted = redact_file(path, text);
    let (before, after) = (errors(language, text), errors(language, &redacted.text));
    let kept = secrets.iter().any(|secret| redacted.text.contains(secret));
    let lines = redacted.text.matches('\n').count() == text.matches('\n').count();
    let again = redact_file(path, &redacted.text).count;
    (after > before || kept || !lines || again > 0).then(|| {
        format!("{path}: {before} -> {after} errors, kept {kept}, again {again}\n{text}\n{}\n", redacted.text)
    })
}

#[test]
fn a_redacted_secret_stays_within_its_token() {
    let (mut path, mut texts, mut all) = ("", 0, Vec::new());
    let mut languages = std::collections::HashSet::new();
    for line in PLACES.lines().skip_while(|line| !line.starts_with("@ ")).filter(|line| !line.is_empty()) {
        if let Some(next) = line.strip_prefix("@ ") {
            path = next;
            languages.insert(languages::detect(path, b"").unwrap().id);
            continue;
        }
        let line = line.replace('⏎', "\n");
        for (number, (text, secret)) in secrets().into_iter().enumerate() {
            if !line.contains("«»") {
                continue;
            }
            let word = &words()[number % 3];
            let text = line.replace("«»", &text).replace("‹›", word);
            texts += 1;
            all.extend(wrong(path, &text, &[&secret]));
        }
        for word in words() {
            let text = line.replace("«»", "text").replace("‹›", &word);
            texts += 1;
            all.extend(wrong(path, &text, &[&word]));
        }
    }
    assert!(texts > 1000 && languages.len() >= 25, "{texts} texts, {languages:?}");
    assert!(all.is_empty(), "{} of {texts}:\n{}", all.len(), all.join("\n"));
}

#[test]
fn nothing_is_left_of_a_password_where_a_quote_or_tag_is_misread() {
    let secrets = ["S3cr3t9xQ'Val9ueX2k", "S3cr3t9xQ\"Val9ueX2k", "S3cr3t9x<Val9ueX2k"];
    for (path, text) in [
        ("a.yaml", format!("note: the rock 'n roll\npassword: {}\n", secrets[0])),
        ("a.php", format!("<p>It's me</p>\n<?php $password = \"{}\"; ?>\n", secrets[0])),
        (
            "a.sql",
            format!("INSERT INTO m VALUES ('it\\'s', 'x');\nCREATE USER a PASSWORD = \"{}\";\n", secrets[0]),
        ),
        ("a.rb", format!("x = ?'\npassword = \"{}\"\n", secrets[0])),
        ("a.rb", format!("x = %q(I'm)\npassword = \"{}\"\n", secrets[0])),
        ("a.ex", format!("x = ~r/'/\npassword = \"{}\"\n", secrets[0])),
        ("a.js", format!("if (x) /\"/.test(y); const password = '{}';\n", secrets[1])),
        ("a.js", format!("const z = x++ /2; y = \"/\"; const password = '{}';\n", secrets[1])),
        ("a.tsx", format!("const e = <p>it's</p>; const password = \"{}\";\n", secrets[0])),
        ("a.scss", format!("$a: url(it's); $password: \"{}\";\n", secrets[0])),
        ("a.html", format!("<script>\nconst password = \"{}\";\n</script>\n", secrets[2])),
        (
            "a.vue",
            format!(
                "<script>\nexport default {{ data() {{ return {{ password: \"{}\" }} }} }}\n</script>\n",
                secrets[2]
            ),
        ),
        ("a.xml", format!("<a><password><![CDATA[{}]]></password></a>\n", secrets[2])),
        ("a.md", "password: S3cr3t9x</Val9ueX2k\n".to_owned()),
    ] {
        let redacted = redact_file(path, &text);
        let is_left = redacted.text.contains("Val9") || redacted.text.contains("S3cr");
        assert!(redacted.count > 0 && !is_left, "{path}: {text}{}", redacted.text);
    }
}

#[test]
fn strings_of_languages_without_a_grammar_end_where_they_end() {
    let secret = |quote: &str| format!("S3cr3t9x{quote}Val9ueX2k");
    let mut wrong = Vec::new();
    for (path, before, secret, after) in [
        ("a.fs", "let password = @\"", secret("\"\""), "\"\nlet size = 1\n"),
        ("a.fs", "let password = \"\"\"", secret("\""), "\"\"\"\nlet size = 1\n"),
        ("a.nim", "const password = \"\"\"", secret("\""), "\"\"\"\nconst size = 1\n"),
        ("a.nix", "{\n  password = ''", secret("'"), "'';\n  size = 1;\n}\n"),
        ("a.dart", "final password = '", secret("\""), "';\nfinal size = 1;\n"),
        ("a.dart", "final password = r'", secret("\\"), "';\nfinal size = 1;\n"),
        ("a.groovy", "def password = '''", secret("'"), "'''\ndef size = 1\n"),
        ("a.gradle", "password = '", secret("\""), "'\nsize = 1\n"),
        ("a.ps1", "$password = '", secret("''"), "'\n$size = 1\n"),
        ("a.ps1", "$password = \"", secret("\"\""), "\"\n$size = 1\n"),
        ("a.pl", "my $password = '", secret("\""), "';\nmy $size = 1;\n"),
        ("a.r", "password <- '", secret("\""), "'\nsize <- 1\n"),
        ("a.jl", "password = \"\"\"", secret("\""), "\"\"\"\nsize = 1\n"),
        ("a.ml", "let password = \"", secret("'"), "\"\nlet size = 1\n"),
        ("a.clj", "(def password \"", secret("'"), "\")\n(def size 1)\n"),
        ("a.mm", "NSString *password = @\"", secret("'"), "\";\nint size = 1;\n"),
    ] {
        let text = format!("{before}{secret}{after}");
        let redacted = redact_file(path, &text).text;
        if redacted != format!("{before}[REDACTED:password]{after}") {
            wrong.push(format!("{path}: {text}{redacted}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_secret_beside_its_name_is_found_in_every_form_of_a_literal() {
    let mut left = Vec::new();
    for (path, text) in [
        ("a.go", "var jwtSecret = []byte(\"«»\")\n"),
        ("a.rs", "const API_TOKEN: &str = r#\"«»\"#;\n"),
        ("a.rs", "const API_TOKEN: &CStr = c\"«»\";\n"),
        ("a.cpp", "std::string token{\"«»\"};\n"),
        ("a.cpp", "auto api_token = R\"(«»)\";\n"),
        ("a.cpp", "auto api_token = u8R\"(«»)\";\n"),
        ("a.c", "const char *api_token = u8\"«»\";\n"),
        ("a.swift", "let apiToken = #\"«»\"#\n"),
        ("a.rb", "API_TOKEN = %q(«»)\n"),
        ("a.rb", "set :session_secret, \"«»\"\n"),
        ("a.rb", "api_token = :\"«»\"\n"),
        ("a.lua", "local api_token = [[«»]]\n"),
        ("a.pl", "my $api_token = q(«»);\n"),
        ("a.ex", "api_token = ~s(«»)\n"),
        ("a.kt", "val keys = mapOf(\"apiKey\" to \"«»\")\n"),
        ("a.scala", "val keys = Map(\"apiKey\" -> \"«»\")\n"),
        ("a.scala", "val apiToken = raw\"«»\"\n"),
        ("a.scala", "val link = \"\"\"<a>; api_token=\"«»\"\"\"\"\n"),
        ("a.vb", "Dim apiToken As String = \"«»\"\n"),
        ("a.js", "const apiToken = String.raw`«»`;\n"),
        ("a.jsx", "const e = <Map apiKey={\"«»\"} />;\n"),
        ("a.py", "SECRET_KEYS = [\"first\", \"«»\"]\n"),
        ("a.py", "SECRET_KEYS = (\n    '«»',\n)\n"),
        ("a.js", "const config = { secret: ['«»'] };\n"),
        ("a.json", "{ \"api_keys\": [\"«»\"] }\n"),
        ("a.toml", "api_keys = [\n  \"«»\",\n]\n"),
        ("a.yaml", "api_keys:\n  - «»\n  - other\n"),
        ("a.yaml", "api_keys:\n\n  - \"«»\"\n"),
    ] {
        let secret = ["kQ7zX2mV9pL4", "tR8wN3bY6hJ1sD5fG0cA2eU7"].concat();
        let text = text.replace("«»", &secret);
        let redacted = redact_file(path, &text).text;
        let language = languages::detect(path, text.as_bytes()).filter(|language| language.has_grammar());
        let breaks = language.is_some_and(|language| errors(language, &redacted) > errors(language, &text));
        if redacted.contains(&secret[..8]) || redacted.contains(&secret[28..]) || breaks {
            left.push(format!("{path}: {text}{redacted}"));
        }
    }
    assert!(left.is_empty(), "{}", left.join("\n"));
}

#[test]
fn unended_regular_expressions_are_read_once() {
    let text = |length: usize| format!("{}\nconst k = \"{}\";\n", "(/[".repeat(length), words()[0]);
    let started = std::time::Instant::now();
    let redacted = redact_file("a.js", &text(100_000)).count;
    // Read again from each of them, the line would be read a hundred thousand times: minutes.
    assert!(redacted > 0 && started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
}
