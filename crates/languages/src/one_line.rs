//! Checks that each definition in a body is listed, whether it stands on one line or on several, alone or among others.

use super::{ChunkLimits, by_name, chunk};

/// A container, with a member on one line.
struct Member {
    language: &'static str,
    before: &'static str,
    /// The member, called `probe`.
    member: &'static str,
    after: &'static str,
}

const fn member(
    language: &'static str,
    before: &'static str,
    member: &'static str,
    after: &'static str,
) -> Member {
    Member { language, before, member, after }
}

const MEMBERS: &[Member] = &[
    member("bash", "if true; then\n", "probe() { echo 1; }", "\nfi\n"),
    member("c", "#ifdef A\n", "int probe(void) { return 1; }", "\n#endif\n"),
    member("c", "extern \"C\" {\n", "int probe(void);", "\n}\n"),
    member("cpp", "class A {\n", "int probe() { return 1; }", "\n};\n"),
    member("cpp", "struct A {\n", "int probe();", "\n};\n"),
    member("cpp", "namespace a {\n", "int probe() { return 1; }", "\n}\n"),
    member("cpp", "namespace a {\n", "class probe { };", "\n}\n"),
    member("csharp", "class A\n{\n", "int probe() => 1;", "\n}\n"),
    member("csharp", "class A\n{\n", "int probe { get; set; }", "\n}\n"),
    member("csharp", "interface A\n{\n", "int probe();", "\n}\n"),
    member("csharp", "namespace A\n{\n", "class probe { }", "\n}\n"),
    member("elixir", "defmodule A do\n", "def probe, do: 1", "\nend\n"),
    member("elixir", "defmodule A do\n", "def probe(x), do: x", "\nend\n"),
    member("go", "package a\n\nvar (\n", "probe = 1", "\n)\n"),
    member("haskell", "module A where\n", "probe x = x", "\n"),
    member("haskell", "class A a where\n", "  probe :: a -> a", "\n"),
    member("haskell", "instance A B where\n", "  probe x = x", "\n"),
    member("java", "class A {\n", "int probe() { return 1; }", "\n}\n"),
    member("java", "class A {\n", "int probe = 1;", "\n}\n"),
    member("java", "interface A {\n", "int probe();", "\n}\n"),
    member("java", "class A {\n", "class probe { }", "\n}\n"),
    member("javascript", "class A {\n", "probe() { return 1 }", "\n}\n"),
    member("javascript", "const a = {\n", "probe: () => 1,", "\n}\n"),
    member("javascript", "module.exports = {\n", "probe() { return 1 },", "\n}\n"),
    member("javascript", "if (a) {\n", "function probe() { return 1 }", "\n}\n"),
    member("kotlin", "class A {\n", "fun probe() = 1", "\n}\n"),
    member("kotlin", "class A {\n", "val probe = 1", "\n}\n"),
    member("kotlin", "object A {\n", "fun probe() = 1", "\n}\n"),
    member("kotlin", "interface A {\n", "fun probe(): Int", "\n}\n"),
    member("lua", "local a = {\n", "probe = function() return 1 end,", "\n}\n"),
    member("lua", "do\n", "function probe() return 1 end", "\nend\n"),
    member("php", "<?php\nclass A {\n", "function probe() { return 1; }", "\n}\n"),
    member("php", "<?php\ninterface A {\n", "function probe();", "\n}\n"),
    member("php", "<?php\nnamespace A {\n", "function probe() { return 1; }", "\n}\n"),
    member("php", "<?php\nclass A {\n", "const probe = 1;", "\n}\n"),
    member("python", "class A:\n", "    def probe(self): return 1", "\n"),
    member("python", "class A:\n", "    def probe(self) -> None: ...", "\n"),
    member("python", "class A:\n", "    class probe(A): pass", "\n"),
    member("python", "class A:\n", "    probe = 1", "\n"),
    member("python", "if A:\n", "    def probe(): return 1", "\n"),
    member("python", "def a():\n", "    def probe(): return 1", "\n"),
    member("ruby", "class A\n", "  def probe; 1; end", "\nend\n"),
    member("ruby", "class A\n", "  def probe = 1", "\nend\n"),
    member("ruby", "class A\n", "  def self.probe = 1", "\nend\n"),
    member("ruby", "class A\n", "  private def probe = 1", "\nend\n"),
    member("ruby", "module A\n", "  class Probe < B; end", "\nend\n"),
    member("ruby", "module A\n", "  PROBE = 1", "\nend\n"),
    member("rust", "mod a {\n", "fn probe() {}", "\n}\n"),
    member("rust", "impl A {\n", "fn probe() {}", "\n}\n"),
    member("rust", "trait A {\n", "fn probe();", "\n}\n"),
    member("rust", "trait A {\n", "type Probe;", "\n}\n"),
    member("rust", "impl A {\n", "const PROBE: u8 = 1;", "\n}\n"),
    member("scala", "class A {\n", "def probe = 1", "\n}\n"),
    member("scala", "object A:\n", "  def probe = 1", "\n"),
    member("scala", "trait A {\n", "def probe: Int", "\n}\n"),
    member("scala", "class A {\n", "val probe = 1", "\n}\n"),
    member("swift", "class A {\n", "func probe() { }", "\n}\n"),
    member("swift", "protocol A {\n", "func probe()", "\n}\n"),
    member("swift", "extension A {\n", "func probe() { }", "\n}\n"),
    member("swift", "class A {\n", "var probe = 1", "\n}\n"),
    member("tsx", "class A {\n", "probe() { return 1 }", "\n}\n"),
    member("typescript", "class A {\n", "probe(): void { }", "\n}\n"),
    member("typescript", "interface A {\n", "probe(): void;", "\n}\n"),
    member("typescript", "namespace A {\n", "export function probe() { }", "\n}\n"),
    member("typescript", "abstract class A {\n", "abstract probe(): void;", "\n}\n"),
    member("typescript", "declare module 'a' {\n", "function probe(): void;", "\n}\n"),
    member("zig", "const A = struct {\n", "fn probe() void {}", "\n};\n"),
    member("zig", "const A = struct {\n", "const probe = 1;", "\n};\n"),
];

/// The containers on several lines and on one, with the member as the only one, and as one of several.
fn spellings(Member { language, before, member, after, .. }: &Member) -> Vec<String> {
    let [other, last] = ["other", "last"].map(|name| member.replace("probe", name));
    let [other, last] = [(other, "Other", "OTHER"), (last, "Last", "LAST")]
        .map(|(text, proper, constant)| text.replace("Probe", proper).replace("PROBE", constant));
    let mut texts = vec![
        format!("{before}{member}{after}"),
        format!("{before}{other}\n{member}\n{last}{after}"),
        format!("{before}\n\n{member}\n{after}"),
    ];
    // If rows are insignificant, all of them can be on one line.
    let has_rows =
        matches!(*language, "python" | "haskell" | "go" | "c" | "bash" | "php" | "elixir" | "ruby");
    if !has_rows && !before.contains(':') {
        texts.push(format!("{before}{member}{after}").trim_end().replace('\n', " ") + "\n");
    }
    texts
}

#[test]
fn a_definition_on_one_line_is_listed_wherever_it_stands() {
    let mut missing = Vec::new();
    for one in MEMBERS {
        for text in spellings(one) {
            let chunked = chunk(&text, by_name(one.language), &ChunkLimits::default());
            let named: Vec<_> = chunked.chunks.iter().flat_map(|chunk| &chunk.definitions).collect();
            if !named.iter().any(|definition| definition.name.eq_ignore_ascii_case("probe")) {
                let names: Vec<_> = named.iter().map(|definition| &definition.qualified).collect();
                missing.push(format!("{} {text:?}: {names:?}", one.language));
            }
            let mut defines = chunked.chunks.iter().flat_map(|chunk| &chunk.defines);
            // What is inside of a function is listed alone.
            let is_defined = defines.any(|name| name.eq_ignore_ascii_case("probe"));
            let is_small = one.before.starts_with("def ") && !text.contains("other");
            assert!(is_defined != is_small, "{text}");
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}
