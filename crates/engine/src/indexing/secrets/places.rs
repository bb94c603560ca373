//! What kind of file a text is, as far as that decides what stands beside a name.

/// Where a text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Source code: what is not in quotes is an expression.
    Code,
    /// `NAME=value` a line.
    Env,
    /// Shell scripts, batch files, makefiles, Dockerfiles.
    Shell,
    /// YAML: `name: value`.
    Yaml,
    /// `name=value` or `name: value` a line: INI, properties, configuration of servers.
    Properties,
    /// JSON, TOML, HCL: values are in quotes.
    Data,
    /// XML.
    Markup,
    /// Prose with examples of all of these, and text of which nothing is known.
    Prose,
}

impl Place {
    /// By the path of the file; prose where there is none.
    pub(super) fn of(path: Option<&str>) -> Self {
        let Some(path) = path else { return Self::Prose };
        let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
        let dotless = name.trim_start_matches('.');
        if dotless == "env" || dotless.starts_with("env.") || dotless == "envrc" || name.contains(".env.") {
            return Self::Env;
        }
        if dotless.starts_with("dockerfile") || dotless.starts_with("containerfile") {
            return Self::Shell;
        }
        // `values.yaml.j2` is YAML.
        let plain =
            ["j2", "tmpl", "tpl", "template", "example", "sample", "dist", "in", "erb", "bak", "orig"]
                .iter()
                .find_map(|end| name.strip_suffix(end).and_then(|name| name.strip_suffix('.')))
                .unwrap_or(&name);
        let extension = match plain.rsplit_once('.') {
            Some((_, extension)) => extension,
            None => plain,
        };
        match extension {
            "env" => Self::Env,
            "sh" | "bash" | "zsh" | "fish" | "ksh" | "ps1" | "psm1" | "psd1" | "bat" | "cmd"
            | "dockerfile" | "makefile" | "gnumakefile" | "justfile" | "mk" | "bats" | "bashrc" | "zshrc"
            | "profile" | "bash_profile" | "zprofile" | "procfile" | "command" => Self::Shell,
            "yaml" | "yml" | "eyaml" | "sls" => Self::Yaml,
            "properties" | "ini" | "cfg" | "conf" | "cnf" | "config" if !dot_net(plain) => Self::Properties,
            "service" | "desktop" | "npmrc" | "yarnrc" | "gitconfig" | "editorconfig" | "pypirc"
            | "cmake_properties" | "inf" | "reg" | "hgrc" | "netrc" | "curlrc" | "wgetrc" | "inputrc"
            | "s3cfg" | "boto" | "condarc" => Self::Properties,
            "json" | "jsonc" | "json5" | "ipynb" | "toml" | "tf" | "tfvars" | "hcl" | "nomad" | "har"
            | "webmanifest" => Self::Data,
            "xml" | "config" | "csproj" | "vbproj" | "props" | "targets" | "plist" | "pubxml" | "xaml"
            | "nuspec" | "wsdl" | "xsd" | "resx" | "settings" | "iml" | "pom" | "storyboard" => Self::Markup,
            "md" | "mdx" | "markdown" | "rst" | "adoc" | "asc" | "asciidoc" | "txt" | "text" | "org"
            | "tex" | "log" | "csv" | "tsv" | "eml" | "http" | "rest" => Self::Prose,
            _ if plain.contains('.') => Self::Code,
            _ => Self::Prose,
        }
    }
}

/// `web.config` and `app.config` are XML.
fn dot_net(name: &str) -> bool {
    name.ends_with(".config")
        && (name.contains("web.")
            || name.contains("app.")
            || name.contains("nuget.")
            || name.contains("machine.")
            || name.contains("packages."))
}
