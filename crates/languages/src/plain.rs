//! Languages without a grammar, and formats of documents. They are known by name for display and filters; their files are chunked
//! by lines, or along their headings ([`super::sections`]).

use super::language::Language;

macro_rules! plain {
    ($($id:literal $title:literal aliases $aliases:tt extensions $extensions:tt files $files:tt run $run:tt;)*) => {
        /// Every language without a grammar, sorted by id.
        pub(super) static PLAIN: &[Language] = &[$(Language {
            id: $id,
            title: $title,
            aliases: &$aliases,
            extensions: &$extensions,
            file_names: &$files,
            interpreters: &$run,
            separator: ".",
            grammar: None,
        }),*];
    };
}

plain! {
    "ada" "Ada" aliases [] extensions ["adb", "ads"] files [] run [];
    "apex" "Apex" aliases [] extensions ["trigger"] files [] run [];
    "asciidoc" "AsciiDoc" aliases ["adoc"] extensions ["adoc", "asciidoc"] files [] run [];
    "assembly" "Assembly" aliases ["asm"] extensions ["asm", "s", "nasm"] files [] run [];
    "astro" "Astro" aliases [] extensions ["astro"] files [] run [];
    "awk" "Awk" aliases ["gawk"] extensions ["awk"] files [] run ["awk", "gawk", "mawk"];
    "batch" "Batch" aliases ["bat", "cmd"] extensions ["bat", "cmd"] files [] run [];
    "bazel" "Bazel" aliases ["starlark", "bzl"] extensions ["bzl", "star", "bazel"] files ["build", "workspace"] run [];
    "clojure" "Clojure" aliases ["clj", "clojurescript"] extensions ["clj", "cljs", "cljc", "edn"] files [] run ["bb"];
    "cmake" "CMake" aliases [] extensions ["cmake"] files ["cmakelists.txt"] run [];
    "cobol" "COBOL" aliases [] extensions ["cob", "cbl", "cpy"] files [] run [];
    "coffeescript" "CoffeeScript" aliases ["coffee"] extensions ["coffee"] files ["cakefile"] run ["coffee"];
    "crystal" "Crystal" aliases [] extensions ["cr"] files [] run ["crystal"];
    "csv" "CSV" aliases ["tsv"] extensions ["csv", "tsv"] files [] run [];
    "cuda" "CUDA" aliases ["cu"] extensions ["cu", "cuh"] files [] run [];
    "d" "D" aliases ["dlang"] extensions ["d", "di"] files [] run ["rdmd"];
    "dart" "Dart" aliases [] extensions ["dart"] files [] run ["dart"];
    "diff" "Diff" aliases ["patch"] extensions ["diff", "patch"] files [] run [];
    "dockerfile" "Dockerfile" aliases ["docker", "containerfile"] extensions ["dockerfile"]
        files ["dockerfile", "containerfile"] run [];
    "docx" "Word Document" aliases ["word"] extensions ["docx", "docm"] files [] run [];
    "elm" "Elm" aliases [] extensions ["elm"] files [] run [];
    "emacs-lisp" "Emacs Lisp" aliases ["elisp", "emacs"] extensions ["el"] files [".emacs"] run ["emacs"];
    "erlang" "Erlang" aliases ["erl"] extensions ["erl", "hrl"] files ["rebar.config"] run ["escript"];
    "fish" "fish" aliases [] extensions ["fish"] files [] run ["fish"];
    "fortran" "Fortran" aliases [] extensions ["f", "for", "f90", "f95", "f03", "f08"] files [] run [];
    "fsharp" "F#" aliases ["f#"] extensions ["fs", "fsi", "fsx"] files [] run [];
    "gettext" "Gettext" aliases ["po"] extensions ["po", "pot"] files [] run [];
    "gherkin" "Gherkin" aliases ["cucumber"] extensions ["feature"] files [] run [];
    "glsl" "GLSL" aliases ["shader"] extensions ["glsl", "vert", "frag", "comp", "geom"] files [] run [];
    "gradle" "Gradle" aliases [] extensions ["gradle"] files [] run [];
    "graphql" "GraphQL" aliases ["gql"] extensions ["graphql", "gql", "graphqls"] files [] run [];
    "groovy" "Groovy" aliases [] extensions ["groovy", "gvy"] files ["jenkinsfile"] run ["groovy"];
    "handlebars" "Handlebars" aliases ["hbs", "mustache"] extensions ["hbs", "handlebars", "mustache"] files [] run [];
    "hcl" "HCL" aliases ["terraform", "tf"] extensions ["hcl", "tf", "tfvars", "nomad"] files [] run [];
    "hlsl" "HLSL" aliases [] extensions ["hlsl", "fx"] files [] run [];
    "ini" "INI" aliases ["cfg", "conf"] extensions ["ini", "cfg", "conf", "properties", "desktop", "service"]
        files [".editorconfig", ".gitconfig", ".gitmodules", ".npmrc"] run [];
    "jinja" "Jinja" aliases ["jinja2"] extensions ["jinja", "jinja2", "j2"] files [] run [];
    "julia" "Julia" aliases ["jl"] extensions ["jl"] files [] run ["julia"];
    "jupyter" "Jupyter Notebook" aliases ["ipynb", "notebook"] extensions ["ipynb"] files [] run [];
    "just" "Just" aliases ["justfile"] extensions ["just"] files ["justfile"] run ["just"];
    "latex" "LaTeX" aliases ["tex"] extensions ["tex", "sty", "cls", "bib"] files [] run [];
    "lean" "Lean" aliases [] extensions ["lean"] files [] run [];
    "liquid" "Liquid" aliases [] extensions ["liquid"] files [] run [];
    "lisp" "Common Lisp" aliases ["common-lisp"] extensions ["lisp", "lsp", "cl", "asd"] files [] run ["sbcl"];
    "makefile" "Makefile" aliases ["make"] extensions ["mk", "mak"] files ["makefile", "gnumakefile"] run ["make"];
    "matlab" "MATLAB" aliases ["octave"] extensions ["matlab"] files [] run ["octave"];
    "meson" "Meson" aliases [] extensions [] files ["meson.build", "meson_options.txt"] run [];
    "nim" "Nim" aliases [] extensions ["nim", "nims"] files [] run ["nim"];
    "nix" "Nix" aliases [] extensions ["nix"] files [] run [];
    "objective-c" "Objective-C" aliases ["objc"] extensions ["m", "mm"] files [] run [];
    "ocaml" "OCaml" aliases ["ml"] extensions ["ml", "mli"] files [] run ["ocaml"];
    "odp" "OpenDocument Presentation" aliases [] extensions ["odp"] files [] run [];
    "ods" "OpenDocument Spreadsheet" aliases [] extensions ["ods"] files [] run [];
    "odt" "OpenDocument Text" aliases [] extensions ["odt"] files [] run [];
    "pascal" "Pascal" aliases ["delphi"] extensions ["pas", "pp", "dpr"] files [] run [];
    "pdf" "PDF" aliases [] extensions ["pdf"] files [] run [];
    "perl" "Perl" aliases ["pl"] extensions ["pl", "pm", "t"] files [] run ["perl"];
    "plsql" "PL/SQL" aliases [] extensions ["pks", "pkb", "pls"] files [] run [];
    "powershell" "PowerShell" aliases ["pwsh", "ps1"] extensions ["ps1", "psm1", "psd1"] files [] run ["pwsh"];
    "pptx" "PowerPoint Presentation" aliases ["powerpoint"] extensions ["pptx", "pptm"] files [] run [];
    "prisma" "Prisma" aliases [] extensions ["prisma"] files [] run [];
    "prolog" "Prolog" aliases [] extensions ["pro", "prolog"] files [] run ["swipl"];
    "proto" "Protocol Buffers" aliases ["protobuf"] extensions ["proto"] files [] run [];
    "pug" "Pug" aliases ["jade"] extensions ["pug", "jade"] files [] run [];
    "puppet" "Puppet" aliases [] extensions ["epp"] files [] run [];
    "r" "R" aliases ["rlang"] extensions ["r", "rmd"] files [".rprofile"] run ["rscript"];
    "racket" "Racket" aliases [] extensions ["rkt"] files [] run ["racket"];
    "rst" "reStructuredText" aliases ["restructuredtext"] extensions ["rst"] files [] run [];
    "sass" "Sass" aliases [] extensions ["sass"] files [] run [];
    "scheme" "Scheme" aliases ["scm"] extensions ["scm", "ss", "sld"] files [] run ["guile", "chibi-scheme"];
    "scss" "SCSS" aliases ["less"] extensions ["scss", "less"] files [] run [];
    "smalltalk" "Smalltalk" aliases [] extensions ["st"] files [] run [];
    "solidity" "Solidity" aliases ["sol"] extensions ["sol"] files [] run [];
    "svelte" "Svelte" aliases [] extensions ["svelte"] files [] run [];
    "systemverilog" "SystemVerilog" aliases ["verilog", "sv"] extensions ["v", "sv", "svh", "vh"] files [] run [];
    "tcl" "Tcl" aliases [] extensions ["tcl"] files [] run ["tclsh", "wish"];
    "text" "Text" aliases ["txt", "plain"] extensions ["txt", "text", "log"]
        files ["license", "copying", "authors", "notice", "readme", "changelog", "codeowners"] run [];
    "thrift" "Thrift" aliases [] extensions ["thrift"] files [] run [];
    "twig" "Twig" aliases [] extensions ["twig"] files [] run [];
    "vala" "Vala" aliases [] extensions ["vala", "vapi"] files [] run [];
    "vbnet" "Visual Basic" aliases ["vb", "visual-basic"] extensions ["vb", "vbs", "bas"] files [] run [];
    "vhdl" "VHDL" aliases [] extensions ["vhd", "vhdl"] files [] run [];
    "vim" "Vim script" aliases ["viml", "vimscript"] extensions ["vim"] files [".vimrc", "_vimrc"] run [];
    "vue" "Vue" aliases [] extensions ["vue"] files [] run [];
    "wgsl" "WGSL" aliases [] extensions ["wgsl"] files [] run [];
    "xlsx" "Excel Workbook" aliases ["excel"] extensions ["xlsx", "xlsm"] files [] run [];
    "xml" "XML" aliases ["xsd", "xsl", "svg"]
        extensions ["xml", "xsd", "xsl", "xslt", "svg", "csproj", "vbproj", "fsproj", "props", "targets", "plist", "xaml", "wsdl"]
        files ["pom.xml"] run [];
}
