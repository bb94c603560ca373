//! `quickstart`: installs, indexes, searches and serves a repository in one command.

use std::io::Read;
use std::path::Path;

use super::answer_style::print_code;
use super::background_run::BackgroundRun;
use super::clients::{CLIENTS, ClientSetup, DEFAULT_TOOLSETS, Transport};
use super::flags::indexable;
use super::index::{self, BuildIndex};
use super::install::install_assets;
use super::mcp_config::Installation;
use super::output::{BOLD, DIM, PATH, styled};
use super::search::{self, call_search};
use super::session::{CommandError, CommandResult, Exit, Session};
use super::{hits, serve};
use crate::http;
use contract::escaped_line;
use platform::safe_open::Folder;
use tenancy::AllowedRoots;

/// The example query if the README yields none.
const FALLBACK_QUERY: &str = "where does the program start";
/// Clients whose configuration the greeting shows: the most common client, and the format that most others accept.
const GREETING_CLIENTS: [&str; 2] = ["claude-code", "generic"];
/// Number of hits in the example search.
const EXAMPLE_TOP: i64 = 3;
/// Longest example query taken from a README, in characters.
const QUERY_CHARS_MAX: usize = 160;

/// Arguments of `quickstart`.
#[derive(Debug, clap::Args)]
pub(super) struct QuickstartArgs {
    /// Repository to index: a directory, an archive (.tar, .tar.gz, .tgz, .tar.zst, .zip), or the address of a git repository
    #[arg(default_value = ".", value_name = "PATH|URL")]
    path: String,
    /// Run this query, print the hits and exit instead of serving
    #[arg(long, value_name = "QUERY")]
    once: Option<String>,
    /// Project to index into
    #[arg(long, value_name = "ID")]
    project: Option<String>,
    #[command(flatten)]
    serve: serve::ServeArgs,
}

impl QuickstartArgs {
    /// Returns the flags as configuration settings.
    pub(super) fn settings(&self) -> Vec<(String, String)> {
        self.serve.settings()
    }
}

/// Entry point of `quickstart`.
pub(super) async fn run_quickstart(session: &Session, mut args: QuickstartArgs) -> CommandResult {
    let output = session.output;
    args.path = indexable(&args.path, &session.app.config.git).map_err(CommandError::not_run)?;
    // Report a wrong path or an occupied address before downloading anything.
    AllowedRoots::from_settings(&session.app.config.indexing).check(Path::new(&args.path))?;
    let already_serving = match args.once {
        None => http::check_address(&session.app)?,
        Some(_) => None,
    };
    let dashboard = match (&args.once, &already_serving) {
        (None, None) => args.serve.dashboard.bind().await?,
        _ => None,
    };
    install_assets(session, None, false).await?;
    let arguments = BuildIndex {
        repo_path: &args.path,
        project_id: args.project.as_deref(),
        wait: Some("words"),
        ..BuildIndex::default()
    };
    let built = index::build(session, &arguments).await;
    if built.exit != Exit::Ok || (!output.json && !output.quiet) {
        output.answer(&built, index::render);
    }
    if built.exit != Exit::Ok {
        return Ok(built.exit);
    }

    let background = BackgroundRun::from_answer(session, &built, &arguments);
    if let Some(query) = &args.once {
        let search = search::SearchArgs::in_repository(query.clone(), &args.path, args.project.as_deref());
        let exit = print_search(session, search, background.as_ref()).await;
        if let Some(background) = &background {
            background.finish_in_background().await;
        }
        return Ok(exit);
    }
    if !output.json {
        show_example(session, &args, background.as_ref()).await;
    }
    if let Some(url) = already_serving {
        let reachable = serve::ServerUrls::new(url);
        if let Some(background) = &background {
            background.finish_in_background().await;
        }
        let text = format!(
            "{} at {}  MCP: {}\n",
            styled(BOLD, "Already serving"),
            styled(PATH, &reachable.url),
            reachable.mcp
        );
        return Ok(session.print_result(&reachable, &text));
    }
    let serving = serve::serve_until_signal(session, dashboard, |reachable| {
        greeting(Installation::new(session).transport(), args.project.as_deref(), reachable)
    });
    let reporting = async {
        if let Some(background) = &background {
            background.report_until_done().await;
        }
        // The command ends with the server, not with the run.
        std::future::pending().await
    };
    tokio::select! {
        ran = serving => ran,
        ran = reporting => ran,
    }
}

/// Searches and prints the hits. While vectors are pending the search is lexical only.
async fn print_search(
    session: &Session,
    search: search::SearchArgs,
    background: Option<&BackgroundRun<'_>>,
) -> Exit {
    let Some(background) = background else {
        let answer = call_search(session, &search).await;
        return print_code(session, &answer, search.marks(), hits::render).await;
    };
    let marks = search.marks();
    let answer = background.without_warnings(call_search(session, &search.lexical_only()).await);
    print_code(session, &answer, marks, hits::render).await
}

/// Runs an example search about this repository, so that a new user sees hits first.
async fn show_example(session: &Session, args: &QuickstartArgs, background: Option<&BackgroundRun<'_>>) {
    let query = match readme(Path::new(&args.path)).as_deref().and_then(first_sentence) {
        Some(sentence) => sentence,
        None => any_definition(session, args).await.unwrap_or_else(|| FALLBACK_QUERY.to_owned()),
    };
    session.output.print_line(&format!(
        "\n{} {}",
        styled(BOLD, "Example:"),
        styled(DIM, &format!("search \"{query}\""))
    ));
    let mut search = search::SearchArgs::in_repository(query, &args.path, args.project.as_deref());
    search.top = Some(EXAMPLE_TOP);
    print_search(session, search, background).await;
}

/// Returns the name of any function, class or struct in the repository.
async fn any_definition(session: &Session, args: &QuickstartArgs) -> Option<String> {
    let mut search = search::SearchArgs::in_repository(
        "type:function OR type:class OR type:struct".to_owned(),
        &args.path,
        args.project.as_deref(),
    );
    search.top = Some(1);
    let result = call_search(session, &search.lexical_only()).await.envelope.result?;
    result["hits"][0]["name"].as_str().map(escaped_line)
}

fn greeting(transport: Transport<'_>, project: Option<&str>, reachable: &serve::ServerUrls) -> String {
    let setup = ClientSetup { transport, project, toolsets: Some(DEFAULT_TOOLSETS), read_only: false };
    let mut text = format!("{}\n\n", styled(BOLD, "Connect a client (paste one of these):"));
    for client in CLIENTS.iter().filter(|client| GREETING_CLIENTS.contains(&client.id)) {
        let title = styled(DIM, &format!("# {}", client.name));
        text.push_str(&format!("{title}\n{}\n\n", client.block(&setup)));
    }
    text.push_str(&format!(
        "`pairofcleats install` writes this for every agent on this machine; `pairofcleats mcp-config --help` lists the clients. Add --http {} to connect one to this server.\n\n",
        reachable.mcp
    ));
    text.push_str(&format!(
        "{}\ncurl -s {}/search -H 'Content-Type: application/json' -d '{{\"query\": \"{FALLBACK_QUERY}\"}}'\n\n",
        styled(DIM, "# HTTP"),
        reachable.url,
    ));
    text.push_str(&format!(
        "{} on {}  MCP: {}  stop: Ctrl-C\n",
        styled(BOLD, "Serving"),
        styled(PATH, &reachable.url),
        reachable.mcp
    ));
    text
}

/// Reads the first 8 KiB of the repository's README.
fn readme(repository: &Path) -> Option<String> {
    const BYTES_MAX: u64 = 8192;
    let folder = Folder::open(repository).ok()?;
    let mut named = ["README.md", "README.rst", "README.txt", "README"].into_iter();
    let file = named.find_map(|name| folder.open_file(name).ok())?;
    let mut bytes = Vec::new();
    file.take(BYTES_MAX).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Words of announcements, which do not describe the repository.
const ANNOUNCEMENT_WORDS: [&str; 9] = [
    "announc", "excited", "released", "release ", "now available", "sponsor", "welcome", "breaking change",
    "deprecated",
];

/// Returns the first sentence of prose that describes the repository. Skips headings, lists, badges, quotations, announcements
/// and sentences that contain a URL.
fn first_sentence(readme: &str) -> Option<String> {
    let mut fenced = false;
    let mut paragraphs = vec![String::new()];
    for line in readme.lines().map(str::trim) {
        let fence = line.starts_with("```") || line.starts_with("~~~");
        fenced ^= fence;
        let prose = line.starts_with(|first: char| first.is_alphanumeric() || "*_`[".contains(first))
            && !line.starts_with("* ");
        match paragraphs.last_mut() {
            Some(paragraph) if prose && !fenced && !fence => {
                paragraph.push_str(line);
                paragraph.push(' ');
            }
            _ => paragraphs.push(String::new()),
        }
    }
    paragraphs.iter().flat_map(|paragraph| sentences(paragraph)).find_map(as_query)
}

/// Splits a paragraph into sentences.
fn sentences(paragraph: &str) -> impl Iterator<Item = &str> {
    paragraph.split_inclusive(". ").flat_map(|part| part.split_inclusive("! "))
}

/// Returns the sentence as a plain-text query; `None` if it is too short, an announcement or a link.
fn as_query(sentence: &str) -> Option<String> {
    let linkless = without_links(sentence);
    let plain: String = linkless.chars().filter(|char| !"*_`\"[]()<>#".contains(*char)).collect();
    let words = plain.trim().trim_end_matches('.').trim();
    let lower = words.to_lowercase();
    let is_news = words.ends_with('!') || ANNOUNCEMENT_WORDS.iter().any(|word| lower.contains(word));
    let is_long_enough = words.split_whitespace().count() >= 4;
    let is_link = sentence.trim().starts_with('[') && sentence.trim().ends_with(')');
    if !is_long_enough || is_news || is_link || lower.contains("://") || lower.contains("www.") {
        return None;
    }
    let cut = words.char_indices().nth(QUERY_CHARS_MAX).map_or(words, |(end, _)| &words[..end]);
    Some(cut.to_owned())
}

/// Removes images from Markdown and replaces each link by its text.
fn without_links(text: &str) -> String {
    let (mut plain, mut rest) = (String::new(), text);
    while let Some(start) = rest.find('[') {
        let picture = rest[..start].ends_with('!');
        let Some(middle) = rest[start..].find("](").map(|at| start + at) else { break };
        let Some(end) = rest[middle..].find(')').map(|at| middle + at) else { break };
        plain.push_str(rest[..start].trim_end_matches('!'));
        if !picture && !rest[start + 1..middle].contains('[') {
            plain.push_str(&rest[start + 1..middle]);
        }
        rest = &rest[end + 1..];
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_query_is_the_first_prose_of_the_readme() {
        let readme = "# Title of this thing here\n\n[![badge](x)](y)\n<p align=center>a b c d</p>\n\n\
                      **Fast** search over `code` you own. More text.\n";
        assert_eq!(first_sentence(readme).as_deref(), Some("Fast search over code you own"));
        assert_eq!(first_sentence("# Only\n\n- a list\n"), None);
        let news = "# Gin\n\n[![CI](https://x/y.svg)](https://x) [![Docs](b)](c)\n\n## News\n\nWe're excited to announce the release \
                    of **Gin 1.12.0**https://gin.example/blog! It brings many new features.\n\n---\n\n> Read the four words first.\n\n\
                    Gin is a high-performance HTTP web framework written in [Go](https://go.dev/). It has an API.\n";
        let sentence = first_sentence(
            &news.replace("It brings many new features.", "See www.gin.example for more details."),
        );
        assert_eq!(sentence.as_deref(), Some("Gin is a high-performance HTTP web framework written in Go"));
        assert_eq!(
            first_sentence("Version two is now available from us.\n\n[docs and more docs](https://x)\n"),
            None
        );
        let long = "word ".repeat(100);
        assert_eq!(first_sentence(&long).map(|query| query.chars().count()), Some(QUERY_CHARS_MAX));
    }

    #[test]
    fn the_greeting_names_both_urls() {
        let reachable =
            serve::ServerUrls { url: "http://127.0.0.1:1".into(), mcp: "http://127.0.0.1:1/mcp".into() };
        let transport = Transport::Stdio {
            program: Path::new("/bin/pairofcleats"),
            arguments: &[],
            home: None,
            config: None,
        };
        let text = greeting(transport, Some("shop"), &reachable);
        for part in [
            "claude mcp add pairofcleats -- /bin/pairofcleats mcp --project shop --toolsets search,index --text short",
            "mcpServers",
            "mcp-config --help",
            "curl",
            "http://127.0.0.1:1/mcp",
        ] {
            assert!(text.contains(part), "{part}");
        }
    }
}
