//! Output at a terminal: colours, marked words, links, a pager, explanations; none of it goes to pipes.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::harness::{PROGRAM, Repository, app, home, project, result};

/// Runs a command at a terminal of its own with this height, without input, and prints what appears on the terminal byte by byte.
const TERMINAL: &str = r"
import fcntl, os, pty, struct, sys, termios
child, terminal = pty.fork()
if child == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack('HHHH', int(sys.argv[1]), 120, 0, 0))
    modes = termios.tcgetattr(1)
    modes[1] &= ~termios.OPOST
    termios.tcsetattr(1, termios.TCSANOW, modes)
    nothing = os.open('/dev/null', os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 2)
    os.execvp(sys.argv[2], sys.argv[2:])
while True:
    try:
        shown = os.read(terminal, 65536)
    except OSError:
        shown = b''
    if not shown:
        break
    sys.stdout.buffer.write(shown)
sys.stdout.flush()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
";

/// Variables that decide what a terminal shows.
const VARIABLES: &[&str] = &[
    "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "FORCE_HYPERLINK", "TERM", "TERM_PROGRAM", "COLORTERM",
    "VTE_VERSION", "KONSOLE_VERSION", "KITTY_WINDOW_ID", "WT_SESSION", "DOMTERM", "TMUX", "STY", "ZELLIJ",
    "PAIROFCLEATS_PAGER", "PAGER", "LESS", "CI",
];

/// A terminal with colours and links.
const RICH: &[(&str, &str)] = &[("TERM", "xterm-256color"), ("TERM_PROGRAM", "WezTerm")];

/// Rows of a screen that nothing here fills.
const TALL: u32 = 1000;

/// A repository that is indexed into a project of its own.
struct Shop {
    repository: Repository,
    project: String,
}

impl Shop {
    async fn new(files: &[(&str, &str)]) -> Self {
        let shop = Self { repository: Repository::new(files), project: project("terminal") };
        let arguments = json!({ "repoPath": shop.repository.root(), "project_id": shop.project });
        result(&app(), "build_index", arguments).await;
        shop
    }

    async fn plain() -> Self {
        let mut till =
            "def open_till(amount):\n    # the till counts\n    return \"till\" + str(amount)\n".to_owned();
        for number in 0..20 {
            till += &format!("\n\ndef use_{number}(amount):\n    return open_till(amount + {number})\n");
        }
        Self::new(&[("src/till.py", &till), ("readme.md", "# Till\n\nHow the till opens.\n")]).await
    }

    /// The arguments of a command with those that lead to this project.
    fn arguments<'a>(&'a self, arguments: &[&'a str]) -> Vec<&'a str> {
        let mut all = arguments.to_vec();
        all.extend(["--project", &self.project]);
        if arguments[0] == "search" {
            // Its vectors are those of the tests.
            all.push("--no-ann");
        }
        all
    }

    fn in_pipe(&self, variables: &[(&str, &str)], arguments: &[&str]) -> (i32, String) {
        let mut command = Command::new(PROGRAM);
        command.args(self.arguments(arguments));
        run(command, variables, self.repository.path())
    }

    fn at_terminal(&self, rows: u32, variables: &[(&str, &str)], arguments: &[&str]) -> (i32, String) {
        let mut command = Command::new("python3");
        command.args(["-c", TERMINAL, &rows.to_string(), PROGRAM]).args(self.arguments(arguments));
        run(command, variables, self.repository.path())
    }
}

/// Exit status and standard output.
fn run(mut command: Command, variables: &[(&str, &str)], folder: &Path) -> (i32, String) {
    for variable in VARIABLES {
        command.env_remove(variable);
    }
    command.envs(variables.iter().copied()).env("PAIROFCLEATS_HOME", home()).env_remove("DATABASE_URL");
    let output = command.current_dir(folder).stdin(Stdio::null()).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.code().is_some(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    (output.status.code().unwrap_or(-1), printed)
}

fn stripped(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

/// A text without colours and links; panics at any other control character, and at an address that is not plain ASCII.
fn without_our_sequences(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let mut plain = parts.next().unwrap().to_owned();
    let mut rest = parts.peekable();
    while let Some(part) = rest.next() {
        if let Some(colour) = part.strip_prefix('[') {
            let (code, after) = colour.split_once('m').unwrap_or_else(|| panic!("{part:?}"));
            assert!(["0", "1", "2", "31", "32", "33", "34", "35", "36"].contains(&code), "{part:?}");
            plain.push_str(after);
        } else {
            let address = part.strip_prefix("]8;;").unwrap_or_else(|| panic!("{part:?}"));
            assert!(address.chars().all(|char| char.is_ascii_graphic()), "{address:?}");
            plain.push_str(rest.next().unwrap().strip_prefix('\\').unwrap());
        }
    }
    assert!(!plain.contains(|char: char| char.is_control() && char != '\n' && char != '\t'), "{plain:?}");
    plain
}

const COMMANDS: [&[&str]; 5] = [
    &["search", "open till"],
    &["search", "--regex", "open_.*amount"],
    &["grep", "till", "-C", "1"],
    &["grep", "-l", "till"],
    &["refs", "open_till"],
];

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_shows_colours_marks_and_links_and_a_pipe_shows_the_same_text_without() {
    let shop = Shop::plain().await;
    let root = shop.repository.root();
    for arguments in COMMANDS {
        let (code, piped) = shop.in_pipe(&[], arguments);
        assert_eq!(code, 0, "{arguments:?}: {piped}");
        assert!(!piped.contains(|char: char| char.is_control() && char != '\n'), "{arguments:?}: {piped:?}");
        let loud =
            [RICH, &[("COLORTERM", "truecolor"), ("FORCE_HYPERLINK", "1"), ("PAGER", "echo")]].concat();
        assert_eq!(shop.in_pipe(&loud, arguments).1, piped, "{arguments:?}: the environment changes no pipe");
        let (_, shown) = shop.at_terminal(TALL, RICH, arguments);
        assert_eq!(stripped(&shown), piped, "{arguments:?}");
        assert_eq!(without_our_sequences(&shown), piped, "{arguments:?}");
        assert!(
            shown.contains("\u{1b}]8;;file://") && shown.contains(&format!("{root}/src/till.py\u{1b}\\")),
            "{shown:?}"
        );
        if arguments[1] != "-l" {
            assert!(
                shown.contains("\u{1b}[35mdef\u{1b}[0m") || shown.contains("\u{1b}[35mreturn\u{1b}[0m"),
                "{shown:?}"
            );
            assert!(shown.contains("\u{1b}[1m\u{1b}[31m"), "a marked word: {shown:?}");
        }
    }
    let (_, json) = shop.at_terminal(5, RICH, &["search", "till", "--json"]);
    assert!(!json.contains('\u{1b}') && serde_json::from_str::<Value>(&json).is_ok(), "{json:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn flags_and_variables_choose_colours_and_links() {
    let shop = Shop::plain().await;
    let has = |(_, shown): (i32, String)| (shown.contains("\u{1b}["), shown.contains("\u{1b}]8;;"));
    let grep: &[&str] = &["grep", "open_till"];
    let with = |flags: &[&'static str]| [grep, flags].concat();
    let known = |variable: (&'static str, &'static str)| [RICH, &[variable]].concat();
    for (variables, flags, expected) in [
        (RICH.to_vec(), vec![], (true, true)),
        (vec![("TERM", "xterm-256color")], vec![], (true, false)),
        (known(("TMUX", "x")), vec![], (true, false)),
        (known(("NO_COLOR", "1")), vec![], (false, false)),
        (known(("CLICOLOR", "0")), vec![], (false, false)),
        (known(("TERM", "dumb")), vec![], (false, false)),
        (known(("NO_COLOR", "1")), vec!["--color", "always"], (true, true)),
        (RICH.to_vec(), vec!["--color=never"], (false, false)),
        (RICH.to_vec(), vec!["--color=never", "--hyperlinks=always"], (false, false)),
        (RICH.to_vec(), vec!["--hyperlinks", "never"], (true, false)),
        (vec![("TERM", "xterm")], vec!["--hyperlinks", "always"], (true, true)),
        (vec![("TERM", "xterm"), ("FORCE_HYPERLINK", "1")], vec![], (true, true)),
        (known(("FORCE_HYPERLINK", "0")), vec![], (true, false)),
    ] {
        assert_eq!(
            has(shop.at_terminal(TALL, &variables, &with(&flags))),
            expected,
            "{variables:?} {flags:?}"
        );
    }
    for (variables, flags, expected) in [
        (vec![], vec![], (false, false)),
        (RICH.to_vec(), vec!["--color", "always"], (true, false)),
        (known(("CLICOLOR_FORCE", "1")), vec![], (true, false)),
        (vec![], vec!["--color", "always", "--hyperlinks", "always"], (true, true)),
    ] {
        assert_eq!(
            has(shop.in_pipe(&variables, &with(&flags))),
            expected,
            "in a pipe: {variables:?} {flags:?}"
        );
    }
    let format = "terminal.link_format=editor://open{path}:{line}:{column}";
    let (_, shown) = shop.at_terminal(TALL, RICH, &with(&["--set", format]));
    let address = format!("editor://open{}/src/till.py:1:5\u{1b}\\", shop.repository.root());
    assert!(shown.contains(&address), "{shown:?}");
    let (code, _) = shop.in_pipe(&[], &with(&["--set", "terminal.link_format=nowhere"]));
    assert_eq!(code, 2, "the setting is refused");
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_names_and_texts_stay_inside_colours_and_links() {
    let evil = "\u{1b}]8;;https://evil.example\u{1b}\\";
    let name = "e\u{1b}]8;;https:evil\u{1b}\\\u{7}\u{202e};?#%41.py";
    let text =
        format!("def hostile(): # {evil}\u{1b}[2J\u{9b}31m\u{202e}\n    return \"{evil}\"\n\nhostile()\n");
    let shop = Shop::new(&[(name, &text)]).await;
    for arguments in [
        &["search", "hostile"][..],
        &["search", "hostile", "--explain", "--output", "full"],
        &["grep", "hostile|evil", "-C", "2"],
        &["grep", "-l", "hostile"],
        &["grep", "-c", "hostile"],
        &["refs", "hostile"],
        &["definition", "hostile"],
    ] {
        let (_, piped) = shop.in_pipe(&[], arguments);
        for shown in [
            shop.at_terminal(TALL, RICH, arguments).1,
            shop.in_pipe(&[], &[arguments, &["--color=always", "--hyperlinks=always"]].concat()).1,
        ] {
            assert_eq!(without_our_sequences(&shown), piped, "{arguments:?}");
            assert!(
                shown.contains("/e%1B%5D8%3B%3Bhttps%3Aevil%1B%5C%07%E2%80%AE%3B%3F%23%2541.py\u{1b}\\"),
                "{shown:?}"
            );
        }
        assert!(piped.contains("\\u{1b}]8;;https:evil\\u{1b}"), "{arguments:?}: {piped}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn long_output_goes_through_the_pager_and_nothing_is_lost_without_one() {
    let shop = Shop::plain().await;
    let grep: &[&str] = &["grep", "open_till"];
    let (_, whole) = shop.at_terminal(TALL, RICH, grep);
    assert!(whole.lines().count() > 20, "{whole}");
    let folder = tempfile::tempdir().unwrap();
    let (file, program) = (folder.path().join("paged"), folder.path().join("pager"));
    let pager = format!("cat > '{}'", file.display());
    let page = |rows: u32, variables: &[(&str, &str)], arguments: &[&str]| {
        let _ = std::fs::remove_file(&file);
        let (code, shown) = shop.at_terminal(rows, &[RICH, variables].concat(), arguments);
        (code, shown, std::fs::read_to_string(&file).ok())
    };
    let plain_links = without_links(&whole);
    for variables in
        [&[("PAIROFCLEATS_PAGER", pager.as_str()), ("PAGER", "false")][..], &[("PAGER", pager.as_str())]]
    {
        let (code, shown, paged) = page(10, variables, grep);
        assert_eq!((code, shown.as_str()), (0, ""), "{variables:?}");
        assert_eq!(
            paged.as_deref(),
            Some(plain_links.as_str()),
            "colours, and no links for a pager that is not known"
        );
    }
    let set = [("PAGER", pager.as_str())];
    for (rows, arguments) in
        [(10, [grep, &["--no-pager"]].concat()), (TALL, grep.to_vec()), (10, [grep, &["-n", "2"]].concat())]
    {
        let (code, shown, paged) = page(rows, &set, &arguments);
        assert!(
            code == 0 && paged.is_none() && whole.starts_with(&shown) && !shown.is_empty(),
            "{arguments:?}: {shown}"
        );
    }
    let (code, shown, paged) = page(5, &set, &["grep", "open_till", "--json"]);
    assert!(code == 0 && shown.starts_with('{') && paged.is_none(), "{shown}");
    let (code, _, paged) = page(5, &set, &["grep", "no such text"]);
    assert_eq!((code, paged), (1, None), "the exit status is that of grep");

    // Leaving a pager early is not an error, and nothing is printed again.
    let (code, shown, _) = page(10, &[("PAGER", "head -n 1")], grep);
    assert_eq!((code, shown.lines().count()), (0, 1), "{shown}");
    for failing in ["exit 3", "no-such-pager-here", "", "cat"] {
        let (code, shown, _) = page(10, &[("PAGER", failing)], grep);
        assert_eq!((code, shown.as_str()), (0, whole.as_str()), "{failing:?}");
    }
    // `less` by default, with the options of git; without it, the text is printed.
    let less =
        "#!/bin/sh\ncase \"$1\" in --version) echo 'less 590 (test)';; *) echo \"$* $LESS\"; cat;; esac\n";
    std::fs::write(&program, less).unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::rename(&program, folder.path().join("less")).unwrap();
    let path = format!("{}:/usr/bin:/bin", folder.path().display());
    let at = |path: &str| {
        let mut command = Command::new("python3");
        command.args(["-c", TERMINAL, "10", "env", &format!("PATH={path}"), PROGRAM]);
        command.args(shop.arguments(grep));
        run(command, RICH, shop.repository.path())
    };
    assert_eq!(at(&path), (0, format!("-FRX FRX\n{whole}")), "links as well");
    assert_eq!(at("/no/such/folder"), (0, whole.clone()), "without `less`");
}

/// A text without its links, which keeps its colours.
fn without_links(text: &str) -> String {
    let mut parts = text.split("\u{1b}]8;;");
    let first = parts.next().unwrap().to_owned();
    parts.fold(first, |plain, part| plain + part.split_once("\u{1b}\\").unwrap().1)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_explanation_shows_what_found_a_hit_and_how_its_score_is_composed() {
    let shop = Shop::plain().await;
    let (code, shown) = shop.in_pipe(&[], &["search", "open_till", "--explain", "-n", "3"]);
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("   query open_till\n") && shown.contains("    found by words\n"), "{shown}");
    let hit: Vec<&str> = shown.lines().skip_while(|line| *line != "    found by words").collect();
    let parts: Vec<&str> = hit[1..].iter().take_while(|line| line.starts_with("      ")).copied().collect();
    assert!(parts[0].trim_start().starts_with("lexical "), "{shown}");
    assert!(parts.iter().any(|line| line.contains("defines the name") && line.contains('+')), "{shown}");
    assert!(parts.last().unwrap().contains("total"), "{shown}");
    let ends: Vec<usize> = parts.iter().map(|line| line.chars().count()).collect();
    assert!(ends.iter().all(|end| *end == ends[0]), "the figures stand below one another: {shown}");
    assert!(shown.lines().last().unwrap().starts_with("lexical: "), "a legend: {shown}");
    let (_, listed) = shop.in_pipe(&[], &["search", "type:function", "--explain"]);
    assert!(listed.contains("found by the filters alone"), "{listed}");
}
