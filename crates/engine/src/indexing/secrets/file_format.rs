//! File formats, as far as they determine how values are written.

/// The syntax of names and values in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileFormat {
    /// Source code: unquoted text is an expression.
    Code,
    /// One `NAME=value` per line.
    Env,
    /// Shell scripts, batch files, Dockerfiles.
    Shell,
    /// Makefiles and other lists of commands, where `name:` begins a rule.
    Make,
    /// YAML: `name: value`.
    Yaml,
    /// One `name=value` or `name: value` per line: INI, properties, server configuration.
    Properties,
    /// JSON, TOML, HCL: values are quoted.
    Data,
    /// XML.
    Markup,
    /// Prose, which may contain examples of all formats, and unknown text.
    Prose,
}

impl FileFormat {
    /// Returns whether the file consists of shell commands.
    pub(super) fn is_shell(self) -> bool {
        matches!(self, Self::Shell | Self::Make)
    }

    /// Returns the format of a file by its path; [`Self::Prose`] without a path.
    pub(super) fn from_path(path: Option<&str>) -> Self {
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
        let base = ["j2", "tmpl", "tpl", "template", "example", "sample", "dist", "in", "erb", "bak", "orig"]
            .iter()
            .find_map(|end| name.strip_suffix(end).and_then(|name| name.strip_suffix('.')))
            .unwrap_or(&name);
        let extension = match base.rsplit_once('.') {
            Some((_, extension)) => extension,
            None => base,
        };
        match extension {
            "env" => Self::Env,
            "sh" | "bash" | "zsh" | "fish" | "ksh" | "csh" | "tcsh" | "ps1" | "psm1" | "psd1" | "bat"
            | "cmd" | "dockerfile" | "bats" | "bashrc" | "zshrc" | "kshrc" | "cshrc" | "tcshrc"
            | "profile" | "bash_profile" | "bash_login" | "bash_aliases" | "login" | "zprofile"
            | "zshenv" | "zlogin" | "command" => Self::Shell,
            "makefile" | "gnumakefile" | "justfile" | "mk" | "procfile" => Self::Make,
            "yaml" | "yml" | "eyaml" | "sls" => Self::Yaml,
            "properties" | "ini" | "cfg" | "conf" | "cnf" | "config" if !is_dot_net_config(base) => {
                Self::Properties
            }
            "service" | "desktop" | "htaccess" | "npmrc" | "yarnrc" | "gitconfig" | "editorconfig"
            | "pypirc" | "cmake_properties" | "inf" | "reg" | "hgrc" | "netrc" | "curlrc" | "wgetrc"
            | "inputrc" | "s3cfg" | "boto" | "condarc" => Self::Properties,
            "json" | "jsonc" | "json5" | "ipynb" | "toml" | "tf" | "tfvars" | "hcl" | "nomad" | "har"
            | "webmanifest" => Self::Data,
            "xml" | "config" | "csproj" | "vbproj" | "props" | "targets" | "plist" | "pubxml" | "xaml"
            | "nuspec" | "wsdl" | "xsd" | "resx" | "settings" | "iml" | "pom" | "storyboard" => Self::Markup,
            "md" | "mdx" | "markdown" | "rst" | "adoc" | "asc" | "asciidoc" | "txt" | "text" | "org"
            | "tex" | "log" | "csv" | "tsv" | "eml" | "http" | "rest" => Self::Prose,
            _ if base.contains('.') => Self::Code,
            _ => Self::Prose,
        }
    }
}

/// Returns whether a file is `web.config` or `app.config`, which are XML.
fn is_dot_net_config(name: &str) -> bool {
    name.ends_with(".config")
        && (name.contains("web.")
            || name.contains("app.")
            || name.contains("nuget.")
            || name.contains("machine.")
            || name.contains("packages."))
}
