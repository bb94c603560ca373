//! Blocks that users copy to connect a client: those of `mcp-config`, docs/clients.md, and the MCP registry's `server.json`.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use surfaces::cli::clients::{
    AGENT_INSTRUCTIONS, CLIENTS, Client, ClientSetup, DEFAULT_TOOLSETS, Format, HttpSupport, Instructions,
    Location, Transport,
};

use crate::documents::check;
use crate::harness::PROGRAM;

// --- the command

struct ConfigOutput {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

/// Runs `mcp-config` over this home, with nothing else in the environment.
fn mcp_config(home: &Path, arguments: &[&str]) -> ConfigOutput {
    let output = Command::new(PROGRAM)
        .arg("mcp-config")
        .args(arguments)
        .env_clear()
        .env("PAIROFCLEATS_HOME", home)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    ConfigOutput { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

#[test]
fn stdout_contains_only_the_block() {
    let home = tempfile::tempdir().unwrap();
    for client in CLIENTS {
        for flags in [&[][..], &["--http"], &["--http", "https://code.example.com/mcp", "--key"]] {
            let printed = mcp_config(home.path(), &[&[client.id], flags].concat());
            assert_eq!(printed.code, Some(0), "{} {flags:?}: {}", client.id, printed.stderr);
            match client.format {
                Format::Sh => assert_eq!(printed.stdout.lines().count(), 1, "{}", printed.stdout),
                Format::Json => drop(serde_json::from_str::<Value>(&printed.stdout).unwrap()),
                Format::Toml => drop(printed.stdout.parse::<toml::Table>().unwrap()),
                Format::Yaml => drop(serde_saphyr::from_str::<Value>(&printed.stdout).unwrap()),
            }
            for (_, place) in client.places {
                assert!(printed.stderr.contains(place), "{} does not name {place}", client.id);
            }
            assert_eq!(
                printed.stderr.contains(client.key_note),
                flags.contains(&"--key"),
                "{}",
                printed.stderr
            );
        }
    }
}

#[test]
fn json_output_is_an_envelope() {
    let home = tempfile::tempdir().unwrap();
    let printed = mcp_config(home.path(), &["codex", "--http", "--json"]);
    let envelope: Value = serde_json::from_str(&printed.stdout).unwrap();
    let result = &envelope["result"];
    assert_eq!((&result["client"], &result["transport"]), (&json!("codex"), &json!("http")), "{envelope:#}");
    assert!(result["file"].as_str().unwrap().contains("~/.codex/config.toml"), "{envelope:#}");
    let block: toml::Table = result["text"].as_str().unwrap().parse().unwrap();
    let url = block["mcp_servers"]["pairofcleats"]["url"].as_str();
    assert_eq!(url, Some("http://127.0.0.1:7171/mcp"), "where `serve` listens by default");
    assert_eq!(printed.stderr, "");
}

#[test]
fn usage_errors_name_the_nearest_value() {
    let home = tempfile::tempdir().unwrap();
    let unknown = mcp_config(home.path(), &["vscod"]);
    assert_eq!((unknown.code, unknown.stdout.as_str()), (Some(2), ""));
    assert!(unknown.stderr.contains("similar value exists: 'vscode'"), "{}", unknown.stderr);
    for client in CLIENTS {
        assert!(unknown.stderr.contains(client.id), "{}", unknown.stderr);
    }
    for wrong in [
        &["vscode", "--key"][..],
        &["--http", "vscode"],
        &["vscode", "--project", "Not An Id"],
        &["vscode", "--toolsets", "search;index"],
        &["agents", "--read-only"],
    ] {
        let printed = mcp_config(home.path(), wrong);
        assert_eq!((printed.code, printed.stdout.as_str()), (Some(2), ""), "{wrong:?}: {}", printed.stderr);
    }
}

#[test]
fn agents_prints_the_published_instructions() {
    let home = tempfile::tempdir().unwrap();
    let printed = mcp_config(home.path(), &["agents"]);
    assert_eq!((printed.code, printed.stdout.as_str()), (Some(0), AGENT_INSTRUCTIONS), "{}", printed.stderr);
    assert!(printed.stderr.contains("AGENTS.md"), "{}", printed.stderr);
}

/// Starts the printed command as a client would: in an empty environment and another directory.
#[test]
fn the_printed_command_serves_the_installation_it_was_printed_by() {
    let home = tempfile::tempdir().unwrap();
    let odd_home = home.path().join("a \"b\" 'c'");
    fs::create_dir(&odd_home).unwrap();
    fs::write(odd_home.join("own.toml"), "[search]\ntop_default = 7\n").unwrap();
    let config = odd_home.join("own.toml");
    let printed = mcp_config(&odd_home, &["cursor", "--config", config.to_str().unwrap()]);
    let block: Value = serde_json::from_str(&printed.stdout).unwrap();
    let entry = &block["mcpServers"]["pairofcleats"];
    let args: Vec<&str> = entry["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap()).collect();
    assert_eq!(
        args,
        [
            "--home",
            odd_home.to_str().unwrap(),
            "--config",
            config.to_str().unwrap(),
            "mcp",
            "--toolsets",
            "search,index",
            "--text",
            "short"
        ]
    );

    let mut server = Command::new(entry["command"].as_str().unwrap())
        .args(&args)
        .env_clear()
        .current_dir(home.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let initialize = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } } });
    writeln!(server.stdin.as_mut().unwrap(), "{initialize}").unwrap();
    let answer = BufReader::new(server.stdout.take().unwrap()).lines().next().unwrap().unwrap();
    drop(server.stdin.take());
    server.wait().unwrap();
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["result"]["serverInfo"]["name"], "pairofcleats", "{answer:#}");
}

/// A real shell runs the command line with a fake `claude` that prints its arguments.
#[test]
fn a_shell_passes_the_printed_arguments_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let claude = folder.path().join("claude");
    fs::write(&claude, "#!/bin/sh\nfor word; do printf '%s\\n' \"$word\"; done\n").unwrap();
    fs::set_permissions(&claude, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let shell_arguments = |setup: &ClientSetup<'_>| {
        let block = Client::find("claude-code").unwrap().block(setup);
        let output = Command::new("/bin/sh")
            .args(["-c", &block])
            .env("PATH", folder.path())
            .env("PAIROFCLEATS_KEY", "secret")
            .output()
            .unwrap();
        assert!(output.status.success(), "{block}: {}", String::from_utf8_lossy(&output.stderr));
        let printed = String::from_utf8(output.stdout).unwrap();
        printed.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let transport = Transport::Stdio {
        program: Path::new("/opt/my tools/pairofcleats"),
        arguments: &[],
        home: Some(Path::new("/data/it's \"$HOME\" `id`")),
        config: None,
    };
    let stdio =
        ClientSetup { transport, project: Some("shop"), toolsets: Some("search,index"), read_only: true };
    assert_eq!(
        shell_arguments(&stdio),
        [
            "mcp", "add", "pairofcleats", "--", "/opt/my tools/pairofcleats", "--home",
            "/data/it's \"$HOME\" `id`", "mcp", "--project", "shop", "--toolsets", "search,index", "--text",
            "short", "--read-only",
        ]
    );
    let transport = Transport::Http { url: "http://127.0.0.1:7171/mcp", key: true };
    assert_eq!(
        shell_arguments(&ClientSetup { transport, project: None, toolsets: None, read_only: true }),
        [
            "mcp",
            "add",
            "--transport",
            "http",
            "pairofcleats",
            "http://127.0.0.1:7171/mcp",
            "--header",
            "Authorization: Bearer ${PAIROFCLEATS_KEY}",
            "--header",
            "X-MCP-Readonly: true",
            "--header",
            "X-MCP-Text: short",
        ],
        "the shell must not expand the variable of the key"
    );
}

// --- docs/clients.md

/// A table with one row per client.
fn overview() -> String {
    let mut table =
        String::from("| client | `mcp-config` | over HTTP | tools it shows |\n|---|---|---|---|\n");
    for client in CLIENTS {
        let http = match client.http_support {
            HttpSupport::Native => "by itself",
            HttpSupport::Bridge(_) => "through `npx mcp-remote`",
        };
        let tools =
            client.tools_max.map_or_else(String::new, |max| format!("{max}, of all servers together"));
        table.push_str(&format!("| {} | `{}` | {http} | {tools} |\n", client.name, client.id));
    }
    table
}

/// A table with one row per agent that `install` knows: how it is found, and the files that it gets.
fn installed_files() -> String {
    let mut table = String::from(
        "| agent | `--agent` | configuration | instructions | in a repository (`--scope project`) |\n|---|---|---|---|---|\n",
    );
    let quoted = |locations: Vec<&Location>, joint: &str| {
        let shown = locations.iter().map(|location| {
            let moved = location.moved_by.map(|(variable, _)| format!(" (`{variable}`)"));
            format!("{}{}", location.display_quoted(), moved.unwrap_or_default())
        });
        shown.collect::<Vec<_>>().join(joint)
    };
    for client in CLIENTS {
        let Some(install) = &client.install else { continue };
        let files = |list: &'static [Instructions]| list.iter().map(|one| &one.file).collect::<Vec<_>>();
        let project = [install.project_files.iter().collect(), files(install.project_instructions)].concat();
        table.push_str(&format!(
            "| {} | `{}` | {} | {} | {} |\n",
            client.name,
            client.id,
            quoted(install.files.iter().collect(), " or "),
            quoted(files(install.instructions), ", "),
            quoted(project, ", "),
        ));
    }
    table
}

/// The blocks of every client, as `mcp-config` prints them with default settings.
fn blocks() -> String {
    let setup = |transport| ClientSetup {
        transport,
        project: None,
        toolsets: Some(DEFAULT_TOOLSETS),
        read_only: false,
    };
    let stdio = setup(Transport::Stdio {
        program: Path::new("pairofcleats"),
        arguments: &[],
        home: None,
        config: None,
    });
    let http = setup(Transport::Http { url: "http://127.0.0.1:7171/mcp", key: true });
    let mut text = String::new();
    for client in CLIENTS {
        let language = format!("{:?}", client.format).to_lowercase();
        let fenced = |setup| format!("```{language}\n{}\n```\n\n", client.block(setup));
        text.push_str(&format!("### {}\n\n", client.name));
        for (scope, place) in client.places {
            text.push_str(&format!("- {scope}: {place}\n"));
        }
        text.push_str(&format!(
            "\nStarted by the client, `pairofcleats mcp-config {}`:\n\n{}",
            client.id,
            fenced(&stdio)
        ));
        text.push_str(&format!(
            "A running server, with an API key, `… {} --http --key`:\n\n{}",
            client.id,
            fenced(&http)
        ));
        if let HttpSupport::Bridge(reason) = client.http_support {
            text.push_str(&format!("{reason}\n\n"));
        }
        text.push_str(&format!("{}\n\n", client.key_note));
    }
    text.truncate(text.trim_end().len());
    text + "\n"
}

#[test]
fn docs_contain_the_current_blocks() {
    check("docs/clients.md", "overview", &overview());
    check("docs/clients.md", "installed files", &installed_files());
    check("docs/clients.md", "blocks", &blocks());
    check("docs/clients.md", "agents", &format!("```markdown\n{AGENT_INSTRUCTIONS}```\n"));
}

// --- server.json

fn repository_file(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
}

/// The rules of the registry that `server` violates: those of schema 2025-12-11 for the fields that we use, and a documented
/// rule that the schema lacks: no version ranges.
fn violations(server: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut rule = |holds: bool, label: &str| {
        if !holds {
            found.push(label.to_owned());
        }
    };
    let text = |field: &str| server[field].as_str().unwrap_or_default();
    let known =
        ["$schema", "name", "title", "description", "version", "websiteUrl", "repository", "packages"];
    let fields = server.as_object().unwrap().keys();
    rule(fields.clone().all(|field| known.contains(&field.as_str())), "an unknown field");
    let schema = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json";
    rule(text("$schema") == schema, "$schema");
    let name = |part: &str, extra: &str| {
        !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || extra.contains(c))
    };
    let has_valid_name = text("name")
        .split_once('/')
        .is_some_and(|(namespace, local)| name(namespace, ".-") && name(local, "._-"));
    rule(has_valid_name && (3..=200).contains(&text("name").len()), "name");
    rule((1..=100).contains(&text("title").chars().count()), "title");
    rule((1..=100).contains(&text("description").chars().count()), "description");
    let is_number = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit());
    let (release, _) = text("version").split_once('-').unwrap_or((text("version"), ""));
    rule(release.split('.').count() == 3 && release.split('.').all(is_number), "version");
    let address = server["repository"]["url"].as_str().unwrap_or_default();
    rule(address.starts_with("https://") && server["repository"]["source"] == "github", "repository");
    for package in server["packages"].as_array().into_iter().flatten() {
        let known = ["registryType", "identifier", "version", "runtimeHint", "transport", "packageArguments"];
        let fields = package.as_object().unwrap().keys();
        let has_valid_arguments = package["packageArguments"].as_array().is_some_and(|list| {
            list.iter().all(|one| one["type"] == "positional" && one["value"].is_string())
        });
        let is_valid = fields.clone().all(|field| known.contains(&field.as_str()))
            && ["pypi", "npm"].contains(&package["registryType"].as_str().unwrap_or_default())
            && package["transport"] == json!({ "type": "stdio" })
            && package["version"] == server["version"]
            && has_valid_arguments;
        rule(is_valid, "packages");
    }
    found
}

/// `server.json` names the packages that `packaging/package` makes. `name` is in the namespace of a GitHub account; the registry accepts
/// it only from a publisher signed in to that account. The README and the npm package prove by that name that they belong to it.
#[test]
fn server_json_follows_the_registrys_rules_and_our_version() {
    let server: Value = serde_json::from_str(&repository_file("server.json")).unwrap();
    assert_eq!(violations(&server), Vec::<String>::new());
    assert_eq!(
        server["version"],
        env!("CARGO_PKG_VERSION"),
        "server.json must have the version of Cargo.toml"
    );
    let repository = format!("repository = {}", server["repository"]["url"]);
    assert!(
        repository_file("Cargo.toml").contains(&repository),
        "server.json has another repository than Cargo.toml"
    );
    let mark = format!("mcp-name: {}", server["name"].as_str().unwrap());
    assert!(
        repository_file("README.md").contains(&mark),
        "the README, which the Python package shows, lacks {mark}"
    );
}

#[test]
fn violations_of_the_registrys_rules_are_found() {
    let server: Value = serde_json::from_str(&repository_file("server.json")).unwrap();
    for (field, wrong) in [
        ("$schema", json!("https://static.modelcontextprotocol.io/schemas/2025-07-09/server.schema.json")),
        ("name", json!("pairofcleats")),
        ("name", json!("io.github.x/y/z")),
        ("name", json!("io github/x")),
        ("title", json!("")),
        ("description", json!("x".repeat(101))),
        ("version", json!("latest")),
        ("version", json!("^0.1.0")),
        ("version", json!("0.1.x")),
        ("repository", json!({ "url": "http://example.org", "source": "github" })),
        ("packages", json!([{ "registryType": "pypi", "identifier": "pairofcleats", "version": "9.9.9" }])),
    ] {
        let mut broken = server.clone();
        broken[field] = wrong.clone();
        // Another version is not that of the packages either.
        let found: Vec<String> = violations(&broken)
            .into_iter()
            .filter(|label| field != "version" || label != "packages")
            .collect();
        assert_eq!(found, [field], "{wrong}");
    }
    let mut unknown = server.clone();
    unknown["status"] = json!("active");
    assert_eq!(violations(&unknown).len(), 1);
}
