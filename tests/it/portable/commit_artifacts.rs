//! Artifacts of commits: written once by `index --write-artifact`, reused by all with `index --use-artifacts`.

use std::path::{Path, PathBuf};
use std::process::Command;

use contract::ProjectId;
use platform::sha256::digest_hex;
use serde_json::{Value, json};
use store::{Access, ProjectTx};
use tempfile::TempDir;

use super::foreign::run_sqlite_script;
use crate::filters::shop::hit_files;
use crate::harness::{Repository, app, git, home, project, result, run_json};

const SESSION: &str = "def renew_session(token):\n    return refresh(token)\n";
const WALL: &str = "def paint_wall(colour):\n    return brush(colour)\n";
const COINS: &str = "def count_coins(drawer):\n    return sum(drawer)\n";

/// A git repository in the folder `shop`, with a folder for artifacts beside it.
struct Shop(TempDir);

impl Shop {
    /// Makes a repository with two files in its first commit; each file is a single text.
    fn new() -> Self {
        let shop = Self(tempfile::tempdir().unwrap());
        shop.write("a.py", SESSION);
        shop.write("b.py", WALL);
        git(&shop.path(), &["init", "--quiet"]);
        shop.commit();
        shop
    }

    fn path(&self) -> PathBuf {
        self.0.path().canonicalize().unwrap().join("shop")
    }

    fn root(&self) -> String {
        self.path().to_str().unwrap().to_owned()
    }

    /// The path of a file or folder beside the repository.
    fn beside(&self, name: &str) -> String {
        self.path().with_file_name(name).to_str().unwrap().to_owned()
    }

    /// The folder for artifacts.
    fn out(&self) -> String {
        self.beside("artifacts")
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join("shop").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Commits all files; the id of the commit.
    fn commit(&self) -> String {
        git(&self.path(), &["add", "--all"]);
        git(&self.path(), &["commit", "--quiet", "--message", "Change"]);
        head(&self.path())
    }

    /// The root of a clone that has the same name.
    fn cloned(&self) -> String {
        let clone = self.beside("laptop/shop");
        git(self.0.path(), &["clone", "--quiet", &self.root(), &clone]);
        clone
    }
}

fn head(repository: &Path) -> String {
    let output = Command::new("git").current_dir(repository).args(["rev-parse", "HEAD"]).output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// The names of the files in a folder that are not hidden, sorted; empty if it does not exist.
fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.retain(|name| !name.starts_with('.'));
    names.sort();
    names
}

/// The exit status and the envelope of `index`.
fn try_index(root: &str, project: &str, flags: &[&str]) -> (i32, Value) {
    let command = ["index", root, "--project", project, "--stub-embeddings"];
    run_json(home(), &[&command[..], flags].concat())
}

/// The result of `index`, which must succeed.
fn index(root: &str, project: &str, flags: &[&str]) -> Value {
    let (status, mut answer) = try_index(root, project, flags);
    assert_eq!(status, 0, "{flags:?}: {answer:#}");
    answer["result"].take()
}

/// The report of a run that takes vectors from a folder, in a project of its own.
fn take(root: &str, folder: &str) -> Value {
    index(root, &project("artifact-taker"), &["--use-artifacts", folder])["report"].take()
}

/// The stored vectors of a repository, by path.
async fn vectors(project: &str, root: &str) -> Vec<(String, Vec<f32>)> {
    let app = app();
    let store = app.store().await.unwrap();
    let project = tenancy::require(store, &ProjectId::parse(project).unwrap()).await.unwrap();
    let mut tx = ProjectTx::begin(store, &project, Access::Search).await.unwrap();
    let found = store::vectors::of_root(&mut tx, root, 100).await.unwrap();
    tx.commit().await.unwrap();
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn an_artifact_of_a_commit_replaces_embedding() {
    let (shop, theirs, ours) = (Shop::new(), project("artifact-ci"), project("artifact-laptop"));
    let (out, head) = (shop.out(), head(&shop.path()));
    let written = index(&shop.root(), &theirs, &["--write-artifact", &out])["artifact"].take();
    let name = format!("shop-{head}.sqlite");
    let file = Path::new(&out).join(&name);
    assert_eq!(written["path"], file.to_str().unwrap(), "{written:#}");
    assert_eq!(
        (&written["commit"], &written["dirty"], &written["files"], &written["vectors"]),
        (&json!(head), &json!(false), &json!(2), &json!(2)),
        "{written:#}"
    );
    let sha256 = digest_hex(&std::fs::read(&file).unwrap());
    assert_eq!(written["sha256"], sha256);
    let checksum = std::fs::read_to_string(format!("{}.sha256", file.display())).unwrap();
    assert_eq!(checksum, format!("{sha256}  {name}\n"), "as sha256sum writes it");

    let clone = shop.cloned();
    let report = index(&clone, &ours, &["--use-artifacts", &out])["report"].take();
    let used = json!([{ "file": name, "commit": head, "dirty": false, "relation": "head", "vectors": 2 }]);
    let restored = json!({ "files": 1, "vectors": 2, "texts": 2, "used": used });
    assert_eq!(report["restoredArtifacts"], restored, "{report:#}");
    assert_eq!(
        (&report["vectorsEmbedded"], &report["vectorsPending"], &report["notes"]),
        (&json!(0), &json!(0), &Value::Null),
        "{report:#}"
    );
    let (made, taken) = (vectors(&theirs, &shop.root()).await, vectors(&ours, &clone).await);
    assert_eq!(made.len(), 2);
    assert_eq!(made, taken);
}

#[test]
fn a_later_commit_embeds_only_what_changed() {
    let shop = Shop::new();
    let (out, first) = (shop.out(), head(&shop.path()));
    index(&shop.root(), &project("artifact-first"), &["--write-artifact", &out]);
    shop.write("b.py", COINS);
    shop.commit();
    let used = |relation: &str| {
        json!([{
            "file": format!("shop-{first}.sqlite"), "commit": first, "dirty": false, "relation": relation, "vectors": 1
        }])
    };
    let later = take(&shop.root(), &out);
    assert_eq!((&later["vectorsEmbedded"], &later["vectorsPending"]), (&json!(1), &json!(0)), "{later:#}");
    assert_eq!(later["restoredArtifacts"]["used"], used("ancestor"), "{later:#}");

    // A history without that commit.
    git(&shop.path(), &["checkout", "--quiet", "--orphan", "anew"]);
    shop.commit();
    let aside = take(&shop.root(), &out);
    assert_eq!(aside["vectorsEmbedded"], 1, "{aside:#}");
    assert_eq!(aside["restoredArtifacts"]["used"], used("repository"), "{aside:#}");
}

#[test]
fn the_artifact_nearest_to_head_is_read_first() {
    let (shop, toys) = (Shop::new(), Shop::new());
    let out = shop.out();
    // The artifact of a repository, under a name that reveals nothing.
    let write = |root: &str, name: &str| {
        let written = index(root, &project("artifact-writer"), &["--write-artifact", &out]);
        let path = written["artifact"]["path"].as_str().unwrap().to_owned();
        std::fs::remove_file(format!("{path}.sha256")).unwrap();
        let renamed = Path::new(&out).join(name);
        std::fs::rename(path, &renamed).unwrap();
        renamed
    };
    let ancestor = write(&shop.root(), "b.sqlite");
    // Another repository that shares one text.
    toys.write("b.py", COINS);
    toys.commit();
    let elsewhere = toys.beside("toys");
    std::fs::rename(toys.path(), &elsewhere).unwrap();
    write(&elsewhere, "a.sqlite");
    shop.write("c.py", "def open_door(key):\n    return turn(key)\n");
    shop.commit();
    let of_head = write(&shop.root(), "z.sqlite");

    let used = |report: &Value| -> Vec<(String, String, u64)> {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let used = report["restoredArtifacts"]["used"].as_array().unwrap();
        let used = used
            .iter()
            .map(|file| (text(&file["file"]), text(&file["relation"]), file["vectors"].as_u64().unwrap()));
        used.collect()
    };
    let expect = |files: u64, embedded: u64, expected: &[(&str, &str, u64)]| {
        let report = take(&shop.root(), &out);
        let expected: Vec<(String, String, u64)> = expected
            .iter()
            .map(|(file, relation, vectors)| ((*file).to_owned(), (*relation).to_owned(), *vectors))
            .collect();
        assert_eq!(used(&report), expected, "{report:#}");
        assert_eq!(report["restoredArtifacts"]["files"], files, "{report:#}");
        assert_eq!(report["vectorsEmbedded"], embedded, "{report:#}");
    };
    expect(3, 0, &[("z.sqlite", "head", 3)]);
    std::fs::remove_file(of_head).unwrap();
    expect(2, 1, &[("b.sqlite", "ancestor", 2)]);
    std::fs::remove_file(ancestor).unwrap();
    expect(1, 2, &[("a.sqlite", "other", 1)]);
}

#[test]
fn an_artifact_of_changed_files_needs_permission() {
    let (shop, id) = (Shop::new(), project("artifact-dirty"));
    let (root, out, head) = (shop.root(), shop.out(), head(&shop.path()));
    let write = ["--write-artifact", out.as_str()];
    let changes: [(&str, &dyn Fn()); 3] = [
        ("a.py", &|| shop.write("a.py", COINS)),
        ("new.py", &|| shop.write("new.py", COINS)),
        ("b.py", &|| std::fs::remove_file(shop.path().join("b.py")).unwrap()),
    ];
    for (path, change) in changes {
        change();
        let (status, refused) = try_index(&root, &id, &write);
        assert_eq!((status, &refused["error"]["code"]), (1, &json!("ILLEGAL_STATE")), "{refused:#}");
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(
            message.contains(&head[..12]) && message.contains(&format!("in 1 files, such as `{path}`")),
            "{message}"
        );
        assert!(!Path::new(&out).exists(), "{path}: nothing was written");
        git(&shop.path(), &["checkout", "--quiet", "--", "."]);
        git(&shop.path(), &["clean", "--quiet", "--force"]);
    }
    let clean = index(&root, &id, &write)["artifact"].take();
    assert_eq!(clean["dirty"], false, "the files are those of the commit again: {clean:#}");
    assert_eq!(names_in(Path::new(&out)).len(), 2);

    shop.write("a.py", COINS);
    let dirty = index(&root, &id, &[&write[..], &["--allow-dirty"]].concat())["artifact"].take();
    assert_eq!(dirty["dirty"], true, "{dirty:#}");
    let name = format!("shop-{head}-dirty.sqlite");
    assert_eq!(Path::new(dirty["path"].as_str().unwrap()).file_name().unwrap(), name.as_str());
    let report = take(&root, &out);
    let used = &report["restoredArtifacts"]["used"];
    let of_head = |file: &str, dirty: bool| json!({ "file": file, "commit": head, "dirty": dirty, "relation": "head", "vectors": 1 });
    let clean_name = format!("shop-{head}.sqlite");
    assert_eq!(used, &json!([of_head(&clean_name, false), of_head(&name, true)]), "{report:#}");
    assert_eq!(report["vectorsEmbedded"], 0, "{report:#}");

    for usage in [&["--allow-dirty"][..], &["--mode", "code", "--write-artifact", &out]] {
        let (status, refused) = try_index(&root, &id, usage);
        assert_eq!((status, &refused["error"]["code"]), (2, &json!("INVALID_REQUEST")), "{refused:#}");
    }
}

#[test]
fn only_commits_have_artifacts() {
    let plain = Repository::new(&[("a.py", SESSION)]);
    let (root, out) = (plain.root(), tempfile::tempdir().unwrap());
    let write = ["--write-artifact", out.path().to_str().unwrap()];
    let (status, refused) = try_index(&root, &project("artifact-plain"), &write);
    assert_eq!((status, &refused["error"]["code"]), (1, &json!("ILLEGAL_STATE")), "{refused:#}");
    assert!(refused["error"]["message"].as_str().unwrap().contains("not in a git repository"), "{refused:#}");
    git(plain.path(), &["init", "--quiet"]);
    let (_, refused) = try_index(&root, &project("artifact-plain"), &write);
    assert!(refused["error"]["message"].as_str().unwrap().contains("no commit yet"), "{refused:#}");
    assert_eq!(names_in(out.path()), [""; 0]);

    // A folder of a repository, whose line ends git converts.
    let shop = Shop::new();
    shop.write("src/till.py", &COINS.replace('\n', "\r\n"));
    shop.write(".gitattributes", "*.py text eol=crlf\n");
    let head = shop.commit();
    let folder = shop.path().join("src");
    let written = index(folder.to_str().unwrap(), &project("artifact-folder"), &write)["artifact"].take();
    assert_eq!(written["dirty"], false, "{written:#}");
    assert_eq!(names_in(out.path()), [format!("src-{head}.sqlite"), format!("src-{head}.sqlite.sha256")]);
}

#[test]
fn archives_have_no_artifacts_but_folders_with_their_names() {
    let shop = Shop::new();
    let (out, archive, folder) = (shop.out(), shop.beside("shop.zip"), shop.beside("shop.tar"));
    let write = ["--write-artifact", out.as_str()];
    git(&shop.path(), &["archive", "--output", &archive, "HEAD"]);
    let (status, refused) = try_index(&archive, &project("artifact-archive"), &write);
    assert_eq!((status, &refused["error"]["code"]), (2, &json!("INVALID_REQUEST")), "{refused:#}");
    assert!(!Path::new(&out).exists());

    let head = head(&shop.path());
    std::fs::rename(shop.path(), &folder).unwrap();
    let written = index(&folder, &project("artifact-folder-tar"), &write)["artifact"].take();
    assert_eq!((&written["commit"], &written["dirty"]), (&json!(head), &json!(false)), "{written:#}");
    assert_eq!(take(&folder, &out)["restoredArtifacts"]["used"][0]["relation"], "head");
}

#[test]
fn no_link_leads_an_artifact_out_of_the_repository() {
    let (shop, elsewhere) = (Shop::new(), tempfile::tempdir().unwrap());
    std::os::unix::fs::symlink(elsewhere.path(), shop.path().join("ci-artifacts")).unwrap();
    shop.commit();
    let (status, refused) = try_index(&shop.root(), &project("artifact-link"), &["--write-artifact"]);
    assert_eq!((status, &refused["error"]["code"]), (2, &json!("INVALID_REQUEST")), "{refused:#}");
    assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 0);
    // One that is named beside the repository.
    let written = index(&shop.root(), &project("artifact-link"), &["--write-artifact", "../artifacts"]);
    assert_eq!(names_in(Path::new(&shop.out())).len(), 2, "{written:#}");
}

#[test]
fn a_failed_build_leaves_file_and_checksum() {
    let (shop, id) = (Shop::new(), project("artifact-locked"));
    let out = shop.out();
    let write = ["--write-artifact", out.as_str()];
    index(&shop.root(), &id, &write);
    let contents = || {
        let contents = names_in(Path::new(&out)).into_iter().map(|name| {
            let content = std::fs::read(Path::new(&out).join(&name)).unwrap();
            (name, digest_hex(&content))
        });
        contents.collect::<Vec<_>>()
    };
    let before = contents();
    assert_eq!(before.len(), 2);
    let name = format!(".shop-{}.sqlite.lock", head(&shop.path()));
    let lock = std::fs::File::open(Path::new(&out).join(name)).unwrap();
    lock.lock().unwrap();
    let (status, refused) = try_index(&shop.root(), &id, &write);
    assert_eq!((status, &refused["error"]["code"]), (1, &json!("ILLEGAL_STATE")), "{refused:#}");
    assert_eq!(contents(), before);
}

#[test]
fn files_with_wrong_checksums_are_among_the_files_that_are_read() {
    let shop = Shop::new();
    let written = index(&shop.root(), &project("artifact-many"), &["--write-artifact", &shop.out()]);
    let file = written["artifact"]["path"].as_str().unwrap();
    // Of the same commit and time: those are read in the order of their names.
    for n in 10..26 {
        let copy = Path::new(&shop.out()).join(format!("a{n}.sqlite"));
        std::fs::copy(file, &copy).unwrap();
        std::fs::write(format!("{}.sha256", copy.display()), "0").unwrap();
    }
    let report = take(&shop.root(), &shop.out());
    assert_eq!(
        (&report["restoredArtifacts"]["files"], &report["vectorsEmbedded"]),
        (&json!(1), &json!(2)),
        "{report:#}"
    );
    std::fs::remove_file(Path::new(&shop.out()).join("a10.sqlite")).unwrap();
    let report = take(&shop.root(), &shop.out());
    assert_eq!(report["vectorsEmbedded"], 0, "{report:#}");
}

#[test]
fn one_command_takes_the_previous_artifact_and_writes_the_next() {
    let (shop, id) = (Shop::new(), project("artifact-ci-job"));
    let both = ["--use-artifacts", "--write-artifact"];
    let first = index(&shop.root(), &id, &both);
    let folder = shop.path().join("ci-artifacts");
    assert_eq!(std::fs::read_to_string(folder.join(".gitignore")).unwrap(), "*\n");
    assert_eq!(first["report"]["restoredArtifacts"]["files"], 0, "{first:#}");
    shop.write("b.py", COINS);
    let head = shop.commit();
    // A job on another machine, which has only the files.
    let second = index(&shop.root(), &project("artifact-ci-job"), &both);
    assert_eq!(
        (&second["artifact"]["commit"], &second["artifact"]["dirty"]),
        (&json!(head), &json!(false)),
        "{second:#}"
    );
    assert_eq!(
        (&second["report"]["files"], &second["report"]["vectorsEmbedded"]),
        (&json!(2), &json!(1)),
        "neither the artifact nor its checksum was indexed: {second:#}"
    );
    assert_eq!(second["report"]["restoredArtifacts"]["used"][0]["relation"], "ancestor", "{second:#}");
    assert_eq!(names_in(&folder).len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hostile_artifact_gives_vectors_at_most() {
    let shop = Shop::new();
    let (root, out, head) = (shop.root(), shop.out(), head(&shop.path()));
    index(&root, &project("artifact-honest"), &["--write-artifact", &out]);
    let file = Path::new(&out).join(format!("shop-{head}.sqlite"));
    let lies = "UPDATE meta SET value = '../../etc/passwd' WHERE key = 'commit'; \
                UPDATE repositories SET commit_id = 'HEAD'; \
                UPDATE files SET path = 'planted.py' WHERE path = 'a.py'; \
                UPDATE chunks SET content = 'def planted_backdoor(): pass', name = 'planted_backdoor'";
    run_sqlite_script(&file, lies);

    let report = take(&root, &out);
    assert_eq!((&report["vectorsEmbedded"], &report["files"]), (&json!(2), &json!(2)), "{report:#}");
    assert_eq!(report["restoredArtifacts"]["files"], 0, "{report:#}");
    let note = format!("The artifact shop-{head}.sqlite was skipped. Its checksum is another one.");
    assert_eq!(report["notes"], json!([note]), "{report:#}");

    // An attacker who can change the file can change its checksum as well.
    std::fs::remove_file(format!("{}.sha256", file.display())).unwrap();
    let id = project("artifact-deceived");
    let report = index(&root, &id, &["--use-artifacts", &out])["report"].take();
    let name = format!("shop-{head}.sqlite");
    let used = json!([{ "file": name, "dirty": false, "relation": "repository", "vectors": 2 }]);
    assert_eq!(report["restoredArtifacts"]["used"], used, "it is not a commit: {report:#}");
    let search = async |query: &str| {
        let arguments = json!({ "query": query, "project_id": id, "ann": false });
        hit_files(&result(&app(), "search", arguments).await)
    };
    assert_eq!(search("renew_session").await, ["a.py"]);
    assert_eq!(search("planted_backdoor").await, [""; 0]);
}

#[test]
fn an_address_is_always_of_its_commit() {
    let (shop, id) = (Shop::new(), project("artifact-address"));
    let (out, head) = (shop.out(), head(&shop.path()));
    let bare = shop.beside("host/shop");
    git(shop.0.path(), &["clone", "--quiet", "--bare", &shop.root(), &bare]);
    let address = format!("file://{bare}");
    // Nothing in the work tree concerns it.
    shop.write("a.py", COINS);
    let (status, refused) = try_index(&address, &id, &["--write-artifact", "relative"]);
    assert_eq!((status, &refused["error"]["code"]), (2, &json!("INVALID_REQUEST")), "{refused:#}");
    let written = index(&address, &id, &["--write-artifact", &out])["artifact"].take();
    assert_eq!((&written["commit"], &written["dirty"]), (&json!(head), &json!(false)), "{written:#}");
    let report = take(&address, &out);
    assert_eq!(report["restoredArtifacts"]["used"][0]["relation"], "head", "{report:#}");
    assert_eq!(report["vectorsEmbedded"], 0, "{report:#}");
}
