//! Runs the services of the compose file without containers: with its commands, environment and settings, over TCP with the
//! generated password, and with the server as a separate user that cannot write to its home.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, geteuid, kill_process};
use serde_json::{Value, json};
use upkeep::install::test_home;

use super::{postgres_programs, strings, yaml};
use crate::harness::{PROGRAM, http};

/// Separate users for the two services, used when the tests run as root; else everything runs as the current user. `initdb`
/// requires a user with a name: this one is `nobody`.
const DATABASE_USER: u32 = 65_534;
const SERVER_USER: u32 = 10_001;

fn can_switch_user() -> bool {
    geteuid().is_root()
}

fn as_user(command: &mut Command, user: u32) {
    if can_switch_user() {
        command.uid(user).gid(user);
    }
}

fn chown_to(path: &Path, user: u32) {
    if can_switch_user() {
        chown(path, Some(user), Some(user)).unwrap();
    }
}

fn run_to_success(mut command: Command) -> Output {
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// A child that gets the signal on drop and is waited for.
struct ChildGuard(Child, Signal);

impl Drop for ChildGuard {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.0), self.1);
        let _ = self.0.wait();
    }
}

/// The compose file, and the temporary folder that holds its volumes.
struct Stack {
    file: Value,
    folder: tempfile::TempDir,
    database_port: u16,
}

impl Stack {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        for (volume, user) in
            [("secrets", None), ("repositories", None), ("data", Some(DATABASE_USER)), ("home", None)]
        {
            let path = folder.path().join(volume);
            std::fs::create_dir(&path).unwrap();
            if let Some(user) = user {
                chown_to(&path, user);
            }
        }
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        Self { file: yaml("docker-compose.yml"), folder, database_port: free.local_addr().unwrap().port() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn service(&self, name: &str) -> &Value {
        &self.file["services"][name]
    }

    /// Replaces the paths, addresses and variables of the compose file by those of this test.
    fn substitute(&self, text: &str) -> String {
        let mut text = text
            .replace("/secrets", &self.path("secrets").to_string_lossy())
            .replace("/repositories", &self.path("repositories").to_string_lossy())
            .replace("@database:5432", &format!("@127.0.0.1:{}", self.database_port));
        // `${NAME:-default}`: no variable is set, so the default counts.
        while let Some(start) = text.find("${") {
            let end = start + text[start..].find('}').unwrap();
            let default = text[start + 2..end].split_once(":-").map_or("", |(_, default)| default).to_owned();
            text.replace_range(start..=end, &default);
        }
        text
    }

    fn environment(&self, service: &str) -> BTreeMap<String, String> {
        let all = self.service(service)["environment"].as_object().unwrap();
        all.iter().map(|(name, value)| (name.clone(), self.substitute(value.as_str().unwrap()))).collect()
    }

    /// Runs the service that makes the password. The file's group becomes that of the current user.
    fn make_password(&self) -> String {
        let command = strings(&self.service("password")["command"]);
        let group = rustix::process::getegid().as_raw();
        let user = geteuid().as_raw();
        let mut sh = Command::new(&command[0]);
        for word in &command[1..] {
            sh.arg(self.substitute(word).replace("0:10001", &format!("{user}:{group}")));
        }
        run_to_success(sh);
        let file = self.path("secrets/database_password");
        let mode = std::fs::metadata(&file).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o440, "only owner and group may read it");
        std::fs::read_to_string(&file).unwrap()
    }

    /// Starts Postgres with the command of the file, on a cluster made as the Postgres image makes one.
    fn start_database(&self) -> ChildGuard {
        let (programs, environment, data) =
            (postgres_programs(), self.environment("database"), self.path("data/18"));
        let mut initdb = Command::new(programs.join("initdb"));
        initdb.args([
            "--username",
            &environment["POSTGRES_USER"],
            "--pwfile",
            &environment["POSTGRES_PASSWORD_FILE"],
        ]);
        initdb.args(environment["POSTGRES_INITDB_ARGS"].split(' ')).arg("--pgdata").arg(&data);
        as_user(&mut initdb, DATABASE_USER);
        run_to_success(initdb);
        let command = strings(&self.service("database")["command"]);
        let mut postgres = Command::new(programs.join(&command[0]));
        postgres.args(&command[1..]).arg("-D").arg(&data).args(["-c", "listen_addresses=127.0.0.1"]);
        postgres.args(["-p", &self.database_port.to_string()]).arg("-k").arg(self.path("data"));
        as_user(&mut postgres, DATABASE_USER);
        postgres.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let postgres = ChildGuard(postgres.spawn().unwrap(), Signal::INT);
        for _ in 0..600 {
            if self.psql("postgres", "SELECT 1").status.success() {
                return postgres;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("{}", String::from_utf8_lossy(&self.psql("postgres", "SELECT 1").stderr));
    }

    fn psql(&self, database: &str, statement: &str) -> Output {
        let environment = self.environment("database");
        let password = std::fs::read_to_string(&environment["POSTGRES_PASSWORD_FILE"]).unwrap();
        let mut psql = Command::new(postgres_programs().join("psql"));
        psql.args([
            "-XAtq", "-h", "127.0.0.1", "-U", &environment["POSTGRES_USER"], "-d", database, "-c", statement,
        ]);
        psql.args(["-p", &self.database_port.to_string()]).env("PGPASSWORD", password).stdin(Stdio::null());
        psql.output().unwrap()
    }

    /// The program as the service runs it: as another user, with only its environment, and a home that only root can write to.
    fn program(&self, arguments: &[String]) -> Command {
        let (home, program) = (self.path("home"), self.path("pairofcleats"));
        if !program.exists() {
            // The other user may have no access to the build folder.
            crate::harness::copy_program(PROGRAM.as_ref(), &program);
            for folder in ["runtime", "models"] {
                symlink(test_home().home().join(folder), home.join(folder)).unwrap();
            }
            std::fs::create_dir(home.join("projects")).unwrap();
            chown_to(&home.join("projects"), SERVER_USER);
            std::fs::set_permissions(&home, std::fs::Permissions::from_mode(0o555)).unwrap();
        }
        let mut command = Command::new(program);
        command.args(arguments).env_clear().env("PAIROFCLEATS_HOME", &home).env("PATH", "/usr/bin:/bin");
        command.envs(self.environment("server")).stdin(Stdio::null()).current_dir("/");
        as_user(&mut command, SERVER_USER);
        command
    }

    /// Runs a command line, as the comments of the compose file show them.
    fn run(&self, line: &str) -> Output {
        let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
        self.program(&arguments).output().unwrap()
    }

    /// Checks that Postgres has the settings of the file.
    fn assert_settings(&self) {
        for (setting, value) in [
            ("recovery_init_sync_method", "syncfs"),
            ("jit", "off"),
            ("client_connection_check_interval", "5s"),
            ("tcp_keepalives_idle", "60"),
            ("max_locks_per_transaction", "256"),
            ("data_checksums", "on"),
            ("fsync", "on"),
        ] {
            let setting_value = self.psql("pairofcleats", &format!("SHOW {setting}"));
            assert_eq!(String::from_utf8_lossy(&setting_value.stdout).trim(), value, "{setting}");
        }
    }

    /// Waits until the health check of the compose file succeeds.
    async fn wait_for_health(&self, url: &str) {
        let check = || self.run(&format!("--quiet health --url {url}"));
        let mut health = check();
        for _ in 0..600 {
            if health.status.success() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
            health = check();
        }
        assert!(health.status.success(), "{}", String::from_utf8_lossy(&health.stderr));
        assert!(self.run(&format!("health --alive --url {url} --json")).status.success());
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // A user that is not root could not remove the folder otherwise.
        let _ = std::fs::set_permissions(self.path("home"), std::fs::Permissions::from_mode(0o755));
    }
}

fn json_of(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!(
            "{error}: {} {}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        )
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn the_services_of_the_compose_file_work_together() {
    let stack = Stack::new();
    let password = stack.make_password();
    assert!(password.len() == 64 && password.bytes().all(|byte| byte.is_ascii_hexdigit()), "{password:?}");
    assert_eq!(stack.make_password(), password, "a second start keeps the password");
    // Unlike in the containers, the two users share no group here.
    let file = stack.path("secrets/database_password");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o444)).unwrap();

    let _database = stack.start_database();
    assert!(stack.psql("postgres", "CREATE DATABASE pairofcleats").status.success());
    stack.assert_settings();

    let mut command = strings(&stack.service("server")["command"]);
    command.extend(["--port", "0", "--json"].map(str::to_owned));
    let refused = stack.program(&command).output().unwrap();
    assert_eq!(
        json_of(&refused)["error"]["code"],
        "FORBIDDEN",
        "the server does not start before a key exists"
    );
    let made =
        json_of(&stack.run("keys create --name first --all-projects --scopes search,index,admin --json"));
    let key = made["result"]["key"].as_str().unwrap_or_else(|| panic!("{made:#}")).to_owned();

    let log = stack.path("log");
    let stderr = std::fs::File::create(&log).unwrap();
    let mut server = ChildGuard(
        stack.program(&command).stdout(Stdio::piped()).stderr(stderr).spawn().unwrap(),
        Signal::TERM,
    );
    let mut line = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let ready: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
    let port = ready["result"]["url"].as_str().unwrap().rsplit(':').next().unwrap().to_owned();
    let url = format!("http://127.0.0.1:{port}");
    stack.wait_for_health(&url).await;

    let repository = stack.path("repositories/shop");
    std::fs::create_dir(&repository).unwrap();
    std::fs::write(repository.join("a.py"), "def composed_word():\n    return 1\n").unwrap();
    let call_tool = async |tool: &str, key: Option<&str>, arguments: Value| {
        let request = http().post(format!("{url}/tools/{tool}")).json(&arguments);
        let request = match key {
            Some(key) => request.bearer_auth(key),
            None => request,
        };
        let answer = request.send().await.unwrap();
        (answer.status().as_u16(), answer.json::<Value>().await.unwrap())
    };
    let root = repository.canonicalize().unwrap();
    let build = json!({ "repoPath": root, "project_id": "shop" });
    assert_eq!(call_tool("build_index", None, build.clone()).await.0, 401);
    let (status, built) = call_tool("build_index", Some(&key), build).await;
    assert_eq!((status, &built["result"]["report"]["files"]), (200, &json!(1)), "{built:#}");
    let outside = json!({ "repoPath": stack.path("data"), "project_id": "shop" });
    assert_eq!(call_tool("build_index", Some(&key), outside).await.1["error"]["code"], "FORBIDDEN");
    let query = json!({ "query": "composed_word", "project_id": "shop" });
    let (_, found) = call_tool("search", Some(&key), query).await;
    assert_eq!(found["result"]["hits"][0]["file"], "a.py", "{found:#}");

    kill_process(Pid::from_child(&server.0), Signal::TERM).unwrap();
    assert!(server.0.wait().unwrap().success(), "it stops on a signal");
    let text = std::fs::read_to_string(&log).unwrap();
    assert!(!text.contains(&password) && !text.contains(&key), "no secret in the log");
    assert!(!text.contains("still open"), "it stops with no work left open: {text}");
    let stopped = stack.run(&format!("health --url {url}"));
    assert_eq!(stopped.status.code(), Some(1), "a stopped server is not healthy");
}

#[test]
fn an_unusable_password_file_is_reported() {
    let home = tempfile::tempdir().unwrap();
    let run = |file: &Path| {
        let output = Command::new(PROGRAM)
            .args(["keys", "list", "--json"])
            .env("PAIROFCLEATS_HOME", home.path())
            .env("DATABASE_URL", "postgres://nobody@127.0.0.1:1/none")
            .env("PAIROFCLEATS_DATABASE__PASSWORD_FILE", file)
            .output()
            .unwrap();
        json_of(&output)["error"].clone()
    };
    assert_eq!(run(&home.path().join("missing"))["code"], "INVALID_INPUT");
    let empty = home.path().join("empty");
    std::fs::write(&empty, "\n").unwrap();
    assert_eq!(run(&empty)["code"], "INVALID_INPUT");
    std::fs::write(&empty, "word\n").unwrap();
    assert_eq!(run(&empty)["code"], "STORAGE_UNAVAILABLE", "the file is read; only the database is missing");
}
