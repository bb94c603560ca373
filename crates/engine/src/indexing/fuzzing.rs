//! The fuzz targets of indexing: repository files, from their bytes to their rows.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use super::extracted::classify_indexed;
use super::file::{ContentKind, ReadLimits};
use super::front_matter::front_matter;
use super::ignored::Rules;
use super::options::Mode;
use super::parser::{self, Parsing};
use super::prepare::{self, FileText, PrepareOptions, file_rows};
use super::secrets::redact_file;
use contract::config::fuzzing::defaults;
use languages::risk::RuleSet;
use languages::{self, ChunkLimits};
use store::FileWrite;

/// Longest replacement of a secret: `[REDACTED:` and the longest kind.
const MARK_BYTES_MAX: usize = 64;

static OPTIONS: LazyLock<PrepareOptions> = LazyLock::new(|| {
    let rules = Some(Arc::new(RuleSet::defaults().clone()));
    PrepareOptions { mode: Mode::All, parsing: Parsing::InProcess, rules, dictionary: None }
});

/// Seeds: the path on the first line, then the bytes of the file.
pub fn files() -> Vec<Vec<u8>> {
    let texts = [
        "src/app.js\nconst { exec } = require('child_process');\nfunction run(req) {\n  exec('ls ' + req.body.name); // dangerous\n}\nmodule.exports = { run };\n",
        "a.py\nimport os\n\nclass Shop:\n    async def pay(self, card: str) -> int:\n        \"\"\"Pays.\"\"\"\n        token = 'ghp_0123456789abcdefghijABCDEFGHIJ012345'\n        return await self.bank.charge(card, token)\n",
        "docs/a.md\n---\ntitle: A\ntags: [x, y]\n---\n# Head\n\ntext\n\n## Deep\n\n```rust\nfn a() {}\n```\n",
        "Makefile\nall:\n\t@echo AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYzEXAMPLEKEY\n",
        "a.ipynb\n{\"cells\": [{\"cell_type\": \"markdown\", \"source\": [\"# A\\n\"]}, {\"cell_type\": \"code\", \"source\": \"%time f()\"}], \"nbformat\": 4}",
        "a.rst\nA\n=\n\n.. _b:\n\nB\n-\n\nAs::\n\n  c\n",
        "a.adoc\n= A\n\n----\n== B\n----\n\n== C\n\n|===\n|d\n|===\n",
        "a.rs\n\u{feff}/// Says.\npub fn a<T: Into<u8>>(x: T) -> Result<(), E> { b(x)?; Ok(()) }\r\n",
    ];
    let mut seeds: Vec<Vec<u8>> = texts.map(|text| text.as_bytes().to_vec()).to_vec();
    let wide = "fn a() {}\n".encode_utf16().flat_map(u16::to_le_bytes);
    seeds.push(b"a.rs\n\xff\xfe".iter().copied().chain(wide).collect());
    seeds
}

/// Checks that chunks lie within the file's lines, that no text contains NUL, and that the size of the rows is linear in the
/// text.
pub fn file(data: &[u8]) {
    let (path, bytes) = split_path(data);
    let settings = &defaults().indexing;
    let limits = ReadLimits { bytes_max: 1 << 20, line_bytes_mean_max: settings.line_bytes_mean_max };
    let Ok(ContentKind::Text { text, lines, language, extracted }) =
        classify_indexed(&path, bytes.to_vec(), &limits)
    else {
        return;
    };
    assert!(!text.contains('\0'));
    let read = FileText { text: &text, lines, language, extracted };
    let Ok(write) = file_rows(&path, &read, settings, &OPTIONS) else { return };
    let mut next = 1;
    for chunk in &write.chunks {
        assert!(next <= chunk.start_line && chunk.start_line <= chunk.end_line, "{chunk:?}");
        assert!(chunk.end_line <= lines, "line {} of {lines}", chunk.end_line);
        assert_eq!(chunk.content_hash, *blake3::hash(chunk.content.as_bytes()).as_bytes());
        let texts =
            [Some(&chunk.content), chunk.name.as_ref(), chunk.signature.as_ref(), chunk.detail.as_ref()];
        assert!(texts.into_iter().flatten().all(|text| !text.contains('\0')), "{chunk:?}");
        next = chunk.end_line + 1;
    }
    let content: usize = write.chunks.iter().map(|chunk| chunk.content.len()).sum();
    let facts: usize = write.chunks.iter().map(|chunk| chunk.facts.len() + chunk.definitions.len()).sum();
    assert!(
        content <= text.len() + MARK_BYTES_MAX * (text.len() / 4 + 1),
        "{content} of {} bytes",
        text.len()
    );
    assert!(facts <= 32 * (text.len() + 8), "{facts} facts of {} bytes", text.len());
}

/// The text that [`parsed`] uses.
const PARSED: &str = "const { exec } = require('child_process');\n\nfunction run(req) {\n  const name = req.body.name;\n  exec(name);\n}\n";

/// Seeds: a valid answer of the parser process.
pub fn answers() -> Vec<Vec<u8>> {
    let chunked = languages::chunk(PARSED, languages::by_name("javascript"), &ChunkLimits::default());
    vec![postcard::to_stdvec(&chunked).unwrap_or_default()]
}

/// Checks that an answer from a compromised parser process cannot falsify lines or texts, or cause a failure.
pub fn parsed(data: &[u8]) {
    let Some(chunked) = parser::parse_answer(data, PARSED) else { return };
    let mut write = FileWrite { path: "a.js".to_owned(), mode: "code", ..FileWrite::default() };
    prepare::apply_chunks(
        &mut write,
        PARSED,
        languages::by_name("javascript"),
        (&defaults().indexing, &OPTIONS),
        chunked,
    );
    let lines: Vec<&str> = PARSED.lines().collect();
    for chunk in &write.chunks {
        let (first, last) = (chunk.start_line as usize, chunk.end_line as usize);
        assert_eq!(chunk.content, lines[first - 1..last].join("\n"), "{chunk:?}");
    }
}

/// Seeds: the path on the first line, then a text with secrets.
pub fn secrets() -> Vec<Vec<u8>> {
    let seeds = [
        "app.env\nDB_PASSWORD=correct-horse-battery\nexport API_TOKEN='x9f8e7d6c5b4a3928170'\n",
        "k8s.yaml\napiVersion: v1\nkind: Secret\ndata:\n  password: aHVudGVyMmh1bnRlcjI=\nstringData:\n  key: |\n    abc\n    def\n",
        "a.py\npassword = \"hunter2hunter2\"\nurl = \"postgres://u:s3cretpw@db/x\"\nheaders = {'Authorization': 'Bearer abcdef0123456789'}\n",
        "id\n-----BEGIN RSA PRIVATE KEY-----\nMIIB\nAAAA\n-----END RSA PRIVATE KEY-----\nPrivate-Lines: 1\nAAAA\n",
        "a.xml\n<add key=\"password\" value=\"hunter2x9\"/>\nServer=a;Password=hunter2x9;\n",
        "a.js\nconst k = 'AKIAIOSFODNN7EXAMPLE', s = `xoxb-123456789012-123456789012-abcdefghijklmnopqrstuvwx`;\n",
    ];
    seeds.map(|text| text.as_bytes().to_vec()).to_vec()
}

/// Checks that redaction keeps the number of lines, leaves text without secrets unchanged, and is idempotent.
pub fn redaction(data: &[u8]) {
    let (path, bytes) = split_path(data);
    let text = String::from_utf8_lossy(bytes);
    let clean = redact_file(&path, &text);
    let lines = |text: &str| text.bytes().filter(|byte| *byte == b'\n').count();
    assert_eq!(lines(&clean.text), lines(&text));
    assert!(clean.text.len() <= text.len() + MARK_BYTES_MAX * clean.count, "{} secrets", clean.count);
    assert!(clean.count > 0 || clean.text == text);
    let again = redact_file(&path, &clean.text);
    assert_eq!(again.text, clean.text, "redacted again");
}

/// Returns the seed documents.
pub fn documents() -> Vec<Vec<u8>> {
    let seeds = [
        "---\ntitle: A\ntags: [x, y]\nowner: {team: core, on: true, n: 1.5}\n---\ntext\n",
        "---\na: &a [1, 2]\nb: *a\nc: !!str 3\nd: |\n  e\n<<: {f: g}\n---\n",
        "+++\ntitle = \"A\"\n[extra]\nwhen = 2026-01-01T00:00:00Z\nlist = [1, [2]]\n+++\ntext\n",
    ];
    seeds.map(|text| text.as_bytes().to_vec()).to_vec()
}

/// Checks that pairs of front matter are bounded and contain no separator characters.
pub fn metadata(data: &[u8]) {
    let Some(pairs) = front_matter(&String::from_utf8_lossy(data)) else { return };
    assert!(!pairs.is_empty() && pairs.len() <= 300, "{} pairs", pairs.len());
    for pair in pairs {
        assert!(pair.len() <= 512 && pair.contains('=') && !pair.contains(['\0', '\u{1f}']), "{pair:?}");
    }
}

/// Seeds: a path on the first line, then the rules of an ignore file.
pub fn ignore_files() -> Vec<Vec<u8>> {
    let seeds = ["a/b.log\n*.log\n!/a/\n**/b?[!c]/\n# no\n\\#x\\ \n", "x\n[[:alpha:]]*{a,b}\n/**/\n"];
    seeds.map(|text| text.as_bytes().to_vec()).to_vec()
}

/// Checks that rules of an ignore file parse or are rejected, and match any path without failing.
pub fn ignore_rules(data: &[u8]) {
    let (path, text) = split_path(data);
    let rules = Rules::parse(text, Path::new("/repository"));
    // The walk never produces these components.
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | "." | "..")).collect();
    let below = Path::new("/repository").join(parts.join("/"));
    for is_folder in [false, true] {
        let _ = rules.decision(&below, is_folder, &|| false);
    }
}

/// Splits fuzz input into the path on the first line and the rest.
fn split_path(data: &[u8]) -> (String, &[u8]) {
    let end = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len());
    (String::from_utf8_lossy(&data[..end]).replace('\0', ""), data.get(end + 1..).unwrap_or_default())
}
