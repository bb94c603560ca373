//! Tests of the analysis on complete sources: flows, what ends them, and rules of repositories.

use std::time::Duration;

use proptest::prelude::*;

use super::{ChunkRisk, Findings, RuleSet, Scope, analyse, link};
use crate::ChunkLimits;
use crate::facts::{Assignment, CallSite, Flow, FunctionSpan};

fn findings(language: &str, source: &str) -> Findings {
    let chunked = crate::chunk(source, crate::by_name(language), &ChunkLimits::default());
    analyse(source, language, &chunked.flow, RuleSet::defaults())
}

/// `source->sink` of each flow.
fn flows(language: &str, source: &str) -> Vec<String> {
    findings(language, source).flows.iter().map(|flow| format!("{}->{}", flow.source, flow.sink)).collect()
}

const NOTHING: [&str; 0] = [];

/// Language, source, and a flow in it.
const REACHED: &[(&str, &str, &str)] = &[
    ("rust", "fn f() {\n let x = std::env::var(\"A\");\n Command::new(x);\n}\n", "process.env->exec"),
    (
        "rust",
        "fn f() {\n let x = std::env::args();\n let q = format!(\"select {x}\");\n diesel::sql_query(&q);\n}\n",
        "argv->sql.query",
    ),
    (
        "javascript",
        "app.post('/a', (req, res) => {\n  const c = req.body.cmd;\n  exec(`ls ${c}`);\n});\n",
        "req.body->exec",
    ),
    (
        "javascript",
        "function f() { const { q } = req.query; db.query('select ' + q); }\n",
        "req.query->sql.query",
    ),
    ("javascript", "function f(el) { el.innerHTML = location.hash; }\n", "location->innerHTML"),
    (
        "typescript",
        "function f(req: Request): void {\n  const p: string = req.params.p;\n  fs.readFileSync(p);\n}\n",
        "req.params->file.open",
    ),
    (
        "go",
        "package a\n\nfunc f(w http.ResponseWriter, r *http.Request) {\n\tq := r.URL.Query().Get(\"q\")\n\tdb.Query(\"select a from b where c = \" + q)\n}\n",
        "http.input->sql.query",
    ),
    (
        "go",
        "package a\n\nfunc f() {\n\tvar in Input\n\tc.BindJSON(&in)\n\texec.Command(\"sh\", in.Name)\n}\n",
        "http.input->exec",
    ),
    (
        "csharp",
        "class A { void F() { var q = Request.Query[\"q\"]; var c = new SqlCommand($\"select {q}\", link); } }\n",
        "http.input->sql.query",
    ),
    ("c", "int main(int argc, char **argv) {\n  char *s = argv[1];\n  system(s);\n}\n", "argv->exec"),
    ("c", "void f(void) {\n  char b[9];\n  fgets(b, 9, stdin);\n  system(b);\n}\n", "stdin->exec"),
    (
        "cpp",
        "int main(int argc, char **argv) {\n  std::string s = argv[1];\n  system(s.c_str());\n}\n",
        "argv->exec",
    ),
    (
        "swift",
        "func f() {\n  let s = CommandLine.arguments[1]\n  URLRequest(url: s)\n}\n",
        "argv->http.request",
    ),
    (
        "python",
        "def f():\n    q = request.args.get('q')\n    cursor.execute(f'select {q}')\n",
        "http.input->sql.query",
    ),
    ("python", "import sys\nfor a in sys.argv:\n    os.system('ls ' + a)\n", "argv->exec"),
    (
        "java",
        "class A { void f() { String q = request.getParameter(\"q\"); Runtime.getRuntime().exec(q); } }\n",
        "http.input->exec",
    ),
    (
        "kotlin",
        "fun f() {\n  val q = System.getenv(\"Q\")\n  ProcessBuilder(\"sh $q\")\n}\n",
        "process.env->exec",
    ),
    ("ruby", "def f\n  q = params[:q]\n  system(\"ls #{q}\")\nend\n", "http.input->exec"),
    (
        "php",
        "<?php\nfunction f() {\n  $q = $_GET['q'];\n  mysqli_query($link, \"select $q\");\n}\n",
        "http.input->sql.query",
    ),
    ("php", "<?php\n$q = $_GET['q'];\necho \"<p>$q\";\n", "http.input->html.write"),
];

#[test]
fn input_reaches_a_sink_in_each_language() {
    let mut wrong = Vec::new();
    for (language, source, expected) in REACHED {
        let found = flows(language, source);
        if !found.iter().any(|flow| flow == expected) {
            wrong.push(format!("{language}: {expected} is missing in {found:?} of {source}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_flow_has_the_lines_that_show_it() {
    let source = "fn f() {\n    let a = std::env::var(\"A\");\n    let b = a;\n    Command::new(b);\n}\n";
    let found = findings("rust", source).flows;
    let [flow] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((flow.scope, flow.confidence, flow.function.as_deref()), (Scope::Local, 0.54, Some("f")));
    assert_eq!((flow.evidence.source_line, flow.evidence.sink_line), (2, 4));
    assert_eq!(flow.evidence.steps, [3]);
    assert_eq!(flow.evidence.excerpt, "Command::new(b);");
    assert_eq!(flow.tags, ["command-exec", "env"]);
    assert_eq!(flow.rule_ids, ["source.env", "sink.exec.rust"]);
}

#[test]
fn an_assignment_of_something_else_ends_it() {
    let body = |middle: &str| {
        format!("fn f() {{\n let mut a = std::env::var(\"A\");\n {middle}\n Command::new(a);\n}}\n")
    };
    assert_eq!(flows("rust", &body("")), ["process.env->exec"]);
    assert_eq!(flows("rust", &body("a = \"ls\";")), NOTHING);
    assert_eq!(flows("rust", &body("a += \"ls\";")), ["process.env->exec"]);
    assert_eq!(flows("rust", &body("b = \"ls\";")), ["process.env->exec"]);
}

#[test]
fn a_sanitizer_ends_it_for_its_categories() {
    let body =
        |call: &str| format!("fn f() {{\n let a = std::env::var(\"A\");\n Command::new({call});\n}}\n");
    assert_eq!(flows("rust", &body("shell_words::quote(a)")), NOTHING);
    assert_eq!(flows("rust", &body("escape(a)")), ["process.env->exec"]);
    assert_eq!(flows("rust", &body("other(a)")), ["process.env->exec"]);
    assert_eq!(flows("javascript", "function f(el) { el.innerHTML = escape(location.hash); }\n"), NOTHING);
}

#[test]
fn names_in_strings_and_comments_are_no_sources() {
    let source =
        "function f() {\n  // req.body\n  exec('req.body'); /* req.query */ exec(\"a\" + 'req.params');\n}\n";
    let found = findings("javascript", source);
    assert!(found.sources.is_empty() && found.flows.is_empty(), "{found:?}");
    assert_eq!(found.sinks.len(), 1);
}

#[test]
fn a_loop_carries_a_value_to_its_next_turn() {
    let source = "fn f() {\n loop {\n  Command::new(a);\n  a = std::env::var(\"A\");\n }\n}\n";
    assert_eq!(flows("rust", source), ["process.env->exec"]);
}

#[test]
fn helpers_in_the_same_file_pass_it_on() {
    let source = "fn run(line: &str) {\n    Command::new(line);\n}\nfn twice(n: u8, text: &str) {\n    run(text);\n}\nfn f() {\n    let a = std::env::var(\"A\");\n    twice(1, a);\n}\n";
    let found = findings("rust", source);
    let [flow] = found.flows.as_slice() else { panic!("{found:?}") };
    assert_eq!((flow.scope, flow.confidence), (Scope::File, 0.459));
    assert_eq!(flow.via, ["f", "twice", "run"]);
    assert_eq!((flow.evidence.source_line, flow.evidence.sink_line), (8, 2));
    let params: Vec<_> = found.incoming.iter().map(|p| (p.function.as_str(), p.parameter, p.line)).collect();
    assert_eq!(params, [("run", 0, 2), ("twice", 1, 2)]);
}

#[test]
fn helpers_return_sources_and_parameters() {
    let source = "fn home() -> String {\n    std::env::var(\"A\")\n}\nfn f() {\n    let a = home();\n    Command::new(a);\n}\n";
    let found = findings("rust", source);
    let [flow] = found.flows.as_slice() else { panic!("{found:?}") };
    assert_eq!(flow.via, ["home", "f"]);
    assert_eq!(found.returning.iter().map(|r| r.function.as_str()).collect::<Vec<_>>(), ["home"]);

    let source = "function quoted(a) { return shlex.quote(a); }\nfunction f() { exec(quoted(req.body.a)); exec2(req.body); }\n";
    assert_eq!(flows("javascript", source), NOTHING);
}

#[test]
fn a_function_uses_values_of_enclosing_scopes() {
    let source = "const dir = process.env.DIR;\nfunction f() { fs.readFileSync(dir); }\nfunction g(dir) { fs.readFileSync(dir); }\n";
    let found = findings("javascript", source).flows;
    assert_eq!(found.iter().map(|flow| flow.evidence.sink_line).collect::<Vec<_>>(), [2]);
}

#[test]
fn callbacks_are_no_part_of_the_call_around_them() {
    let source = "function f() { const r = each(list, (x) => { use(req.body); }); exec(r); }\n";
    assert_eq!(flows("javascript", source), NOTHING);
}

#[test]
fn files_are_linked_by_the_names_of_functions() {
    let caller = findings(
        "rust",
        "fn f() {\n    let a = std::env::var(\"A\");\n    jobs::run(1, a);\n    jobs::run(a, 1);\n}\n",
    );
    let callee = findings("rust", "fn run(n: u8, line: &str) {\n    Command::new(line);\n}\n");
    let outgoing: Vec<_> = caller.outgoing.into_iter().map(|call| (7, call)).collect();
    let incoming: Vec<_> = callee.incoming.into_iter().map(|sink| (9, sink)).collect();
    let linked = link(&outgoing, &incoming);
    let [one] = linked.as_slice() else { panic!("{linked:?}") };
    assert_eq!((one.from, one.to, one.flow.scope, one.flow.confidence), (7, 9, Scope::CrossFile, 0.459));
    assert_eq!(one.flow.via, ["f", "run"]);
    assert_eq!((one.flow.evidence.source_line, one.flow.evidence.sink_line), (2, 2));
    assert_eq!(one.flow.evidence.steps, [3]);

    let many: Vec<_> = (0..4).map(|key| (key, incoming[0].1.clone())).collect();
    assert!(link(&outgoing, &many).is_empty(), "the name means anything");
}

#[test]
fn a_sanitized_value_is_not_linked() {
    let caller = findings(
        "rust",
        "fn f() {\n    let a = shell_words::quote(std::env::var(\"A\"));\n    jobs::run(a);\n}\n",
    );
    let callee = findings("rust", "fn run(line: &str) {\n    Command::new(line);\n}\n");
    let outgoing: Vec<_> = caller.outgoing.into_iter().map(|call| ((), call)).collect();
    let incoming: Vec<_> = callee.incoming.into_iter().map(|sink| ((), sink)).collect();
    assert_eq!((outgoing.len(), incoming.len()), (1, 1));
    assert!(link(&outgoing, &incoming).is_empty());
}

#[test]
fn too_many_findings_are_capped() {
    let mut source = "fn f() {\n let a = std::env::var(\"A\");\n".to_owned();
    source.push_str(&" Command::new(a);\n".repeat(400));
    source.push_str("}\n");
    let found = findings("rust", &source);
    assert!(found.capped);
    assert_eq!((found.flows.len(), found.sinks.len()), (150, 150));
    assert!(!findings("rust", "fn f() { Command::new(a); }\n").capped);
}

#[test]
fn findings_survive_json() {
    let found = findings(
        "rust",
        "fn f(b: u8) {\n let a = std::env::var(\"A\");\n Command::new(a);\n Command::new(b);\n g(a);\n}\n",
    );
    let json = serde_json::to_string(&found).unwrap();
    assert!(json.contains("\"ruleId\"") && json.contains("\"scope\":\"local\""), "{json}");
    assert_eq!(serde_json::from_str::<Findings>(&json).unwrap(), found);
}

const OWN: &str = r#"
[[rule]]
id = "sink.launch"
kind = "sink"
name = "launch"
category = "command"
severity = "critical"
confidence = 0.9
languages = ["rust"]
calls = ["rocket.launch"]
examples.rust.positive = ["fn f(s: &str) { rocket::launch(s); }"]
examples.rust.negative = ["fn f(s: &str) { rocket::land(s); }"]
"#;

#[test]
fn a_project_adds_and_replaces_rules() {
    let defaults = RuleSet::defaults();
    let more = defaults.with(OWN).unwrap();
    assert_eq!(more.rules().len(), defaults.rules().len() + 1);
    assert_ne!(more.fingerprint(), defaults.fingerprint());
    let source = "fn f() { rocket::launch(std::env::var(\"A\")); }\n";
    let chunked = crate::chunk(source, crate::by_name("rust"), &ChunkLimits::default());
    assert_eq!(analyse(source, "rust", &chunked.flow, &more).flows[0].sink, "launch");

    let replaced = more.with(&OWN.replace("0.9", "0.1")).unwrap();
    assert_eq!(replaced.rules().len(), more.rules().len());
    assert_eq!(replaced.rules().iter().find(|rule| rule.id == "sink.launch").unwrap().confidence, 0.1);

    let alone = defaults.with(&format!("include_defaults = false\n{OWN}")).unwrap();
    assert_eq!(alone.rules().len(), 1);
    assert_eq!(defaults.with("").unwrap().fingerprint(), defaults.fingerprint());
}

/// Rules come with repositories: however many they are, memory and time are bounded.
#[test]
fn rules_that_take_too_much_are_refused() {
    let many = |pattern: &str| -> String {
        let rule = |at: usize| {
            let named = OWN.replace("sink.launch", &format!("sink.launch.{at}"));
            named.replace("calls =", &format!("pattern = '{pattern}'\ncalls ="))
        };
        (0..300).map(rule).collect()
    };
    let defaults = RuleSet::defaults();
    let refused = |text: &str| defaults.with(text).unwrap_err();
    assert!(refused(&many(r"\w{20}")).contains("too large together"));
    assert!(refused(&many(r"\w{2000}")).contains("size limit"), "one alone");
    assert!(refused(&format!("{OWN}# {}", "x".repeat(300_000))).contains("bytes"));
    assert!(defaults.with_time_limit(OWN, Duration::ZERO).unwrap_err().contains("take too long"));
    assert_eq!(defaults.with(&many("launch")).unwrap().rules().len(), defaults.rules().len() + 300);
}

#[test]
fn broken_rules_are_refused_with_the_reason() {
    for (from, to, reason) in [
        ("rocket::launch(s)", "rocket::start(s)", "does not find its positive"),
        ("rocket::land(s)", "rocket::launch(s)", "finds itself in its negative"),
        ("examples.rust.negative", "# ", "needs a positive and a negative example"),
        ("severity =", "severty =", "did you mean `severity`?"),
        ("[\"rust\"]", "[\"rusty\"]", "unknown language `rusty`"),
        ("0.9", "1.9", "not between 0 and 1"),
        ("calls = [\"rocket.launch\"]", "calls = [\"*\"]", "needs a name"),
        ("calls = [\"rocket.launch\"]", "calls = []", "matches nothing"),
        ("calls = [\"rocket.launch\"]", "reads = [\"rocket.launch\"]", "has no meaning here"),
        ("kind = \"sink\"", "kind = \"sunk\"", "sunk"),
        ("[[rule]]", "pattern = '('\n[[rule]]", "unknown key `pattern`"),
        ("calls =", "pattern = '('\ncalls =", "sink.launch"),
    ] {
        let error = RuleSet::defaults().with(&OWN.replace(from, to)).unwrap_err();
        assert!(error.contains(reason), "{error}");
    }
}

/// Any range of bytes up to `length`; its ends may be inside a character.
fn range(length: usize) -> impl Strategy<Value = std::ops::Range<usize>> {
    (0..=length, 0..=length).prop_map(|(a, b)| a.min(b)..a.max(b))
}

fn any_flow(length: usize) -> impl Strategy<Value = Flow> {
    let name = prop::sample::select(vec![
        "a", "b", "exec", "f", "req.body", "self.f", "a.innerHTML", "escape", "a[]", "",
    ]);
    let function = (name.clone(), range(length), prop::collection::vec(name.clone(), 0..3)).prop_map(
        |(name, range, params)| FunctionSpan {
            name: name.to_owned(),
            range,
            start_line: 1,
            params: params.into_iter().map(str::to_owned).collect(),
        },
    );
    let assignment =
        (prop::collection::vec(name.clone(), 0..3), range(length)).prop_map(|(targets, value)| Assignment {
            targets: targets.into_iter().map(str::to_owned).collect(),
            value,
            line: 1,
        });
    let call = (name, range(length), prop::collection::vec(range(length), 0..3)).prop_map(
        |(callee, range, arguments)| CallSite { callee: callee.to_owned(), range, arguments, line: 1 },
    );
    let many = 0..8usize;
    (
        prop::collection::vec(function, many.clone()),
        prop::collection::vec(assignment, many.clone()),
        prop::collection::vec(call, many.clone()),
        prop::collection::vec(range(length), many),
    )
        .prop_map(|(functions, assignments, calls, returns)| Flow {
            functions,
            assignments,
            calls,
            returns,
        })
}

const PIECES: &[&str] = &[
    "req.body", " ", "exec(", ")", "a", "=", ";\n", "\"", "${", "}", "{", "é", "// ", "b", ".", "f", "`",
    "escape(",
];

proptest! {
    #[test]
    fn any_flow_of_any_text_is_analysed(
        (text, flow) in prop::collection::vec(prop::sample::select(PIECES), 0..40)
            .prop_map(|pieces| pieces.concat())
            .prop_flat_map(|text| { let length = text.len(); (Just(text), any_flow(length)) }),
        language in prop::sample::select(vec!["javascript", "rust", "python", "php", "ruby", "none"]),
    ) {
        let found = analyse(&text, language, &flow, RuleSet::defaults());
        let lines = u32::try_from(text.lines().count()).unwrap() + 1;
        prop_assert!(found.flows.iter().all(|flow| flow.evidence.source_line <= lines));
    }
}

#[test]
fn matches_of_several_rules_in_a_line_are_listed_once() {
    let again = OWN.replace("sink.launch", "sink.launch.again").replace("0.9", "0.5\ntags = [\"space\"]");
    let rules = RuleSet::defaults().with(&format!("{OWN}{again}")).unwrap();
    let source = "fn f(s: &str) {\n    rocket::launch(s);\n    rocket::launch(s); rocket::launch(s);\n}\n";
    let chunked = crate::chunk(source, crate::by_name("rust"), &ChunkLimits::default());
    let found = analyse(source, "rust", &chunked.flow, &rules);
    let sinks: Vec<_> = found.sinks.iter().map(|sink| (sink.line, sink.rule_id.as_str())).collect();
    assert_eq!(sinks, [(2, "sink.launch"), (3, "sink.launch")]);
    assert_eq!(found.sinks[0].tags, ["space"], "of the other rule");

    // Duplicates that older versions stored are removed when they are read.
    let twice = ChunkRisk { sinks: [found.sinks.clone(), found.sinks].concat(), ..ChunkRisk::default() };
    let read: ChunkRisk = serde_json::from_str(&serde_json::to_string(&twice).unwrap()).unwrap();
    assert_eq!(read.sinks.len(), 2);
}
