//! Tests with hostile texts, made to take disproportionate time or memory: steps and output must grow at most linearly with the
//! text, and chunking must stop when it is cancelled.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::chunk::{Chunked, ChunkingMethod};
use super::chunking::chunk_until;
use super::fuzzing::size;
use super::limits::ChunkLimits;
use super::stop::Stop;
use super::{by_name, chunk_while};

/// A hostile text of variable length.
struct Hostile {
    name: &'static str,
    language: &'static str,
    n: usize,
    text: fn(usize) -> String,
}

fn each(n: usize, mut one: impl FnMut(&mut String, usize)) -> String {
    let mut text = String::new();
    (0..n).for_each(|number| one(&mut text, number));
    text
}

/// `inside`, enclosed in `n` pairs of `open` and `close`.
fn nested(n: usize, open: &str, inside: &str, close: &str) -> String {
    format!("{}{inside}{}\n", open.repeat(n), close.repeat(n))
}

const HOSTILE: &[Hostile] = &[
    Hostile {
        name: "attributes above definitions on one row",
        language: "rust",
        n: 200,
        text: |n| format!("{}{}\n", "#[a]\n".repeat(n), "fn a(){}".repeat(n)),
    },
    Hostile {
        name: "names of one declaration on one row",
        language: "javascript",
        n: 400,
        text: |n| format!("let {}z=1;\n", each(n, |text, number| write!(text, "a{number}=1,").unwrap())),
    },
    Hostile {
        name: "names of one declaration on many rows",
        language: "javascript",
        n: 400,
        text: |n| format!("let {}z=1;\n", each(n, |text, number| writeln!(text, "a{number}=1,").unwrap())),
    },
    Hostile {
        name: "one long word before each name",
        language: "javascript",
        n: 200,
        text: |n| {
            format!(
                "let x={}{};\n",
                "1".repeat(8 * n),
                each(n, |text, number| write!(text, ",a{number}").unwrap())
            )
        },
    },
    Hostile {
        name: "functions of one declaration",
        language: "javascript",
        n: 200,
        text: |n| {
            format!("const {}z=1;\n", each(n, |text, number| write!(text, "a{number}=(x)=>1,").unwrap()))
        },
    },
    Hostile {
        name: "classes and methods in one another",
        language: "javascript",
        n: 100,
        text: |n| {
            let open = each(n, |text, number| write!(text, "class A{number}{{static x=1;\nm(){{\n").unwrap());
            format!("{open}{}\n", "}}\n".repeat(n))
        },
    },
    Hostile {
        name: "calls behind the ends of functions in one another",
        language: "javascript",
        n: 100,
        text: |n| nested(n, "function f(a){\n", "", "g(a);\n}"),
    },
    Hostile {
        name: "functions in default values",
        language: "javascript",
        n: 100,
        text: |n| nested(n, "function f(a=", "1", "){}"),
    },
    Hostile {
        name: "a chain of calls with arguments",
        language: "javascript",
        n: 800,
        text: |n| format!("x(\n{}){};\n", "1,\n".repeat(n), ".b(1)".repeat(n)),
    },
    Hostile {
        name: "a chain of handlers",
        language: "javascript",
        n: 600,
        text: |n| format!("app{};\n", ".get(\"/x\",()=>{\n})".repeat(n)),
    },
    Hostile {
        name: "what is awaited in one another",
        language: "javascript",
        n: 400,
        text: |n| format!("async function f(){{\n{}x;\n}}\n", "await ".repeat(n)),
    },
    Hostile {
        name: "assignments in one another",
        language: "javascript",
        n: 400,
        text: |n| format!("{}b;\n", "a=".repeat(n)),
    },
    Hostile {
        name: "patterns with default values in one another",
        language: "javascript",
        n: 100,
        text: |n| format!("{}=1;\n", nested(n, "[a=", "b", "]=c").trim_end().trim_end_matches("=c")),
    },
    Hostile {
        name: "a generator over many chunks",
        language: "javascript",
        n: 400,
        text: |n| {
            format!(
                "function* f(){{\n{}}}\n",
                each(n, |text, number| write!(text, "yield send({number});\n\n").unwrap())
            )
        },
    },
    Hostile {
        name: "types in one another",
        language: "java",
        n: 400,
        text: |n| nested(n, "class A {\nint a;\nvoid m() { a(); }\n", "", "}\n"),
    },
    Hostile {
        name: "calls of one function",
        language: "python",
        n: 400,
        text: |n| format!("def f(a):\n{}", "    send(a)\n".repeat(n)),
    },
];

const HOUR: Duration = Duration::from_secs(3600);

/// The chunks of a text and the steps that they took.
fn measured(text: &str, language: &str) -> (Chunked, u64) {
    let limits = ChunkLimits { parse_timeout: HOUR, ..ChunkLimits::default() };
    let stop = Stop::new(limits.parse_timeout, &|| false);
    let chunked = chunk_until(text, by_name(language), &limits, &stop);
    (chunked, stop.steps())
}

#[test]
fn steps_and_output_grow_linearly() {
    let mut wrong = String::new();
    for hostile in HOSTILE {
        let (small, small_steps) = measured(&(hostile.text)(hostile.n), hostile.language);
        let (large, large_steps) = measured(&(hostile.text)(4 * hostile.n), hostile.language);
        for chunked in [&small, &large] {
            assert_eq!(
                (chunked.how, chunked.facts_missing),
                (ChunkingMethod::Syntax, None),
                "{}",
                hostile.name
            );
        }
        let (small_size, large_size) = (size(&small), size(&large));
        if large_steps > 5 * small_steps || large_size > 5 * small_size {
            writeln!(
                wrong,
                "{}: {small_steps} to {large_steps} steps, size {small_size} to {large_size}",
                hostile.name
            )
            .unwrap();
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// Wherever it is cancelled, chunking ends after at most one further check, and no line of the text is lost.
#[test]
fn chunking_stops_as_soon_as_it_is_cancelled() {
    for hostile in HOSTILE {
        let text = (hostile.text)(4 * hostile.n);
        let limits = ChunkLimits { parse_timeout: HOUR, ..ChunkLimits::default() };
        let run = |until: u64| {
            let checks = AtomicU64::new(0);
            let cancelled = || checks.fetch_add(1, Ordering::Relaxed) >= until;
            (chunk_while(&text, by_name(hostile.language), &limits, &cancelled), checks.into_inner())
        };
        let (_, checks) = run(u64::MAX);
        assert!(checks > 0, "{}: {checks} checks", hostile.name);
        for until in (0..checks).step_by(1 + checks as usize / 20) {
            let (chunked, after) = run(until);
            assert!(after <= until + 2, "{}: {after} checks after {until}", hostile.name);
            assert!(
                matches!(chunked.facts_missing, Some("parse_timeout" | "facts_timeout")),
                "{}: cancelled at check {until}: {:?}",
                hostile.name,
                chunked.facts_missing
            );
            let lines: usize = chunked.chunks.iter().map(|chunk| chunk.text.lines().count()).sum();
            let not_blank = text.lines().filter(|line| !line.trim().is_empty()).count();
            assert!(lines >= not_blank, "{}: {lines} of {not_blank} lines", hostile.name);
        }
    }
}
