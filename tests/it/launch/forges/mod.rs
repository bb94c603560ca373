//! Runs that are published on a forge: its branch, its pull request, and where they start from.

mod fake;
mod faults;
mod kills;
mod secrets;

use std::os::unix::fs::PermissionsExt as _;

use contract::config::{Config, ForgeKind, LaunchForge};
use serde_json::{Value, json};

use super::{OLD_PAGE, Scene, code, push};
use crate::harness::{call, git, new_home, result, stub_app_in};
use fake::{FakeForge, REPO};

/// The kinds of forges.
const KINDS: [ForgeKind; 2] = [ForgeKind::Github, ForgeKind::Gitlab];

/// A scene whose site is on a forge. The scene's own repository of it is a clone.
pub(super) struct ForgeScene {
    pub(super) scene: Scene,
    pub(super) forge: FakeForge,
}

/// Has the sites of a configuration published on a forge.
pub(super) fn use_forge(config: &mut Config, forge: &LaunchForge) {
    config.launch.forges.push(forge.clone());
    for site in &mut config.launch.sites {
        (site.forge, site.repo) = (forge.name.clone(), Some(REPO.to_owned()));
    }
}

impl ForgeScene {
    pub(super) async fn new(kind: ForgeKind) -> Self {
        Self::with(kind, |_| {}).await
    }

    pub(super) async fn with(kind: ForgeKind, change: impl FnOnce(&mut Config)) -> Self {
        let forge = FakeForge::start(kind).await;
        let settings = forge.settings();
        let scene = Scene::with(move |config| {
            use_forge(config, &settings);
            change(config);
        })
        .await;
        forge.receive(scene.site.path());
        Self { scene, forge }
    }

    /// A run that may be published, and its branch. The forge has forgotten what it was asked until then.
    pub(super) async fn ready(&self) -> (String, String) {
        let run = self.scene.ready("shop").await;
        self.forge.take_requests();
        let branch = format!("launch/{run}/shop");
        (run, branch)
    }

    pub(super) async fn publish(&self, run: &str) -> Value {
        self.scene.result("launch_open_pr", run).await
    }

    /// Fetches the clone, as the operator does.
    pub(super) fn fetch(&self) {
        let forge = self.forge.repository();
        git(self.scene.site.path(), &["fetch", "--quiet", forge.to_str().unwrap(), "main:refs/heads/main"]);
    }

    /// Publishes a run, which must fail for good; the error.
    async fn refused(&self, run: &str) -> Value {
        let error = self.scene.error("launch_open_pr", run).await;
        assert_eq!((code(&error), &error["retryable"]), ("COMMIT_SERVICE_ERROR", &json!(false)), "{error:#}");
        error
    }

    /// Checks that a run is published once.
    pub(super) fn assert_published_once(&self, run: &str, opened: &Value) {
        let of_run = |names: Vec<String>| names.into_iter().filter(|name| name.contains(run)).count();
        assert_eq!(of_run(self.forge.branches()), 1, "{opened:#}");
        let pulls: Vec<String> = self.forge.pulls().into_iter().map(|pull| pull.branch).collect();
        let number = pulls.iter().position(|branch| branch.contains(run)).unwrap() + 1;
        assert_eq!(of_run(pulls), 1, "{opened:#}");
        assert_eq!(
            (&opened["pr_number"], &opened["pr_url"]),
            (&json!(number), &json!(self.forge.page(number)))
        );
        let branch = opened["branch"].as_str().unwrap();
        assert_eq!(self.forge.git(&["rev-parse", branch]).trim(), opened["commit_sha"], "{opened:#}");
        assert_eq!(opened["state"], "DONE", "{opened:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_ends_as_a_pull_request() {
    for kind in KINDS {
        let it = ForgeScene::new(kind).await;
        // One of the pages is there already, and may be executed.
        push(it.scene.site.path(), |work| {
            let page = work.join("content/docs/docs.md");
            std::fs::write(&page, "# About docs\n").unwrap();
            std::fs::set_permissions(&page, std::fs::Permissions::from_mode(0o755)).unwrap();
        });
        it.forge.receive(it.scene.site.path());
        let base = it.forge.git(&["rev-parse", "main"]).trim().to_owned();
        let (run, branch) = it.ready().await;
        let opened = it.publish(&run).await;
        it.assert_published_once(&run, &opened);
        assert_eq!(opened["branch"], branch);

        let changed = it.forge.git(&["diff", "--name-status", "main", &branch]);
        assert_eq!(changed, "M\tcontent/docs/docs.md\nA\tcontent/docs/kb.md\n");
        let modes =
            it.forge.git(&["ls-tree", "-r", "--format=%(objectmode) %(path)", &branch, "content/docs"]);
        assert_eq!(
            modes,
            "100755 content/docs/docs.md\n100644 content/docs/kb.md\n100644 content/docs/old.md\n"
        );
        it.forge.git(&["fsck", "--strict"]);
        let about = it.forge.git(&["log", "-1", "--format=%P %an <%ae>%n%B", &branch]);
        assert!(
            about.starts_with(&format!("{base} PairOfCleats <launch@pairofcleats.invalid>\n")),
            "{about}"
        );
        assert!(about.contains(&format!("Launch-Run: {run}")), "{about}");
        assert!(it.scene.published().is_empty(), "the clone gets no branch");

        let pull = it.forge.pulls().remove(0);
        assert_eq!((pull.base.as_str(), pull.title.as_str()), ("main", "Document ShopKit"));
        for said in ["`content/docs/kb.md`", "`truth_lock`: passed", run.as_str()] {
            assert!(pull.text.contains(said), "{said}: {}", pull.text);
        }
        let document: Value = serde_json::from_str(&it.scene.artifact(&run, "pr.json").await).unwrap();
        assert_eq!(
            (&document["pr_number"], &document["pr_url"], &document["repo"]),
            (&json!(1), &opened["pr_url"], &json!(REPO)),
            "{document:#}"
        );
        let steps = document["rollback_steps"].to_string();
        assert!(steps.contains("Close the pull request 1") && steps.contains(&branch), "{steps}");

        // Each request that must take effect only once names its publication.
        let requests = it.forge.take_requests();
        let keys: Vec<&str> =
            requests.iter().filter_map(|request| request.header("idempotency-key")).collect();
        let created = if kind == ForgeKind::Github { 3 } else { 2 };
        assert_eq!((keys.len(), keys.iter().all(|key| *key == keys[0])), (created, true), "{keys:?}");
        for request in &requests {
            let agent = request.header("user-agent").unwrap_or_default();
            assert!(agent.starts_with("pairofcleats/"), "{request:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn publishing_twice_asks_the_forge_once() {
    for kind in KINDS {
        let it = ForgeScene::new(kind).await;
        let (run, branch) = it.ready().await;
        let first = it.publish(&run).await;
        it.forge.take_requests();
        // Even if the branch was merged and deleted meanwhile.
        it.forge.git(&["branch", "--delete", "--force", &branch]);
        assert_eq!(it.publish(&run).await, first);
        assert!(it.forge.take_requests().is_empty(), "the answer is stored");
        assert_eq!(it.forge.pulls().len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_base_with_another_page_and_a_foreign_branch_are_refused() {
    for kind in KINDS {
        let it = ForgeScene::new(kind).await;
        let (run, branch) = it.ready().await;
        it.forge.git(&["branch", &branch, "main"]);
        let refused = it.refused(&run).await;
        assert_eq!(refused["details"]["branch"], branch, "{refused:#}");
        it.forge.git(&["branch", "--delete", "--force", &branch]);

        push(&it.forge.repository(), |work| {
            std::fs::write(work.join("content/docs/kb.md"), "# Mine\n").unwrap()
        });
        it.fetch();
        let refused = it.refused(&run).await;
        assert_eq!(refused["details"]["base"], "main", "{refused:#}");
        assert_eq!(refused["details"]["conflicts"], json!(["content/docs/kb.md"]), "{refused:#}");
        assert!(it.forge.pulls().is_empty() && it.forge.branches().is_empty(), "nothing was published");
        assert!(
            it.forge.take_requests().iter().all(|request| request.method == "GET"),
            "nothing was changed"
        );
        assert_eq!(it.scene.status(&run).await["state"], "READY_FOR_PR");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_goes_on_where_the_base_of_the_forge_moved_to() {
    for kind in KINDS {
        let it = ForgeScene::new(kind).await;
        let (run, branch) = it.ready().await;
        push(&it.forge.repository(), |work| {
            std::fs::write(work.join(OLD_PAGE), "# Old\n\nChanged.\n").unwrap()
        });
        let error = it.scene.error("launch_open_pr", &run).await;
        assert_eq!(
            (code(&error), &error["retryable"]),
            ("COMMIT_SERVICE_ERROR", &json!(true)),
            "the clone is behind: {error:#}"
        );
        it.fetch();
        let opened = it.publish(&run).await;
        it.assert_published_once(&run, &opened);
        let head = it.forge.git(&["rev-parse", "main"]);
        assert_eq!(it.forge.git(&["rev-parse", &format!("{branch}^")]), head, "{kind:?}");
        let changed = it.forge.git(&["diff", "--name-status", "main", &branch]);
        assert_eq!(changed, "A\tcontent/docs/docs.md\nA\tcontent/docs/kb.md\n", "{kind:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_starts_from_the_head_of_the_forge() {
    let it = ForgeScene::new(ForgeKind::Github).await;
    push(&it.forge.repository(), |work| std::fs::write(work.join(OLD_PAGE), "# Old\n\nNewer.\n").unwrap());
    let arguments = json!({ "run_config": it.scene.config("shop"), "project_id": it.scene.project });
    let mut envelope = call(&it.scene.app, "launch_start_run", arguments).await;
    let error = envelope["error"].take();
    assert_eq!(
        (code(&error), &error["retryable"]),
        ("COMMIT_SERVICE_ERROR", &json!(true)),
        "the clone is behind: {error:#}"
    );
    assert!(error["hint"].as_str().unwrap().contains("fetches the clone"), "{error:#}");
    it.fetch();
    let (run, _) = it.ready().await;
    assert_eq!(it.scene.status(&run).await["site_sha"], it.forge.git(&["rev-parse", "main"]).trim());
    let opened = it.publish(&run).await;
    it.assert_published_once(&run, &opened);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_site_that_is_an_address_is_mirrored() {
    let forge = FakeForge::start(ForgeKind::Github).await;
    let (settings, address) = (forge.settings(), format!("file://{}", forge.repository().display()));
    let home = new_home("launch-mirrored-site");
    let scene = Scene::in_home(&home, |config| {
        use_forge(config, &settings);
        config.launch.sites[0].repository.clone_from(&address);
    })
    .await;
    forge.receive(scene.site.path());
    let it = ForgeScene { scene, forge };
    let (run, _) = it.ready().await;
    // Another run begins with what was pushed meanwhile; what the first one wrote is still there.
    push(&it.forge.repository(), |work| std::fs::write(work.join(OLD_PAGE), "# Old\n\nNewer.\n").unwrap());
    let second = it.scene.ready("shop").await;
    let head = it.forge.git(&["rev-parse", "main"]).trim().to_owned();
    assert_eq!(it.scene.status(&second).await["site_sha"], head);
    let opened = it.publish(&second).await;
    it.assert_published_once(&second, &opened);
    let first = it.publish(&run).await;
    it.assert_published_once(&run, &first);
    let branch = first["branch"].as_str().unwrap();
    assert_eq!(
        it.forge.git(&["rev-parse", &format!("{branch}^")]).trim(),
        head,
        "its base moved, and it with that"
    );

    // Nothing is indexed of the site, but its mirror is in use.
    let mirrors = std::fs::read_dir(home.join("mirrors")).unwrap().flatten();
    let mirror =
        mirrors.map(|entry| entry.path()).find(|path| path.join(history::MIRROR_FILE).exists()).unwrap();
    let used = std::fs::File::options().append(true).open(mirror.join(history::MIRROR_FILE)).unwrap();
    used.set_modified(std::time::UNIX_EPOCH).unwrap();
    let unused = gate::app::unused_mirrors(&it.scene.app).await.unwrap();
    assert!(unused.is_empty(), "{unused:?}");
    let without_site = stub_app_in(&home, |_| {});
    let unused = gate::app::unused_mirrors(&without_site).await.unwrap();
    assert_eq!(unused.into_iter().map(|unused| unused.git_dir).collect::<Vec<_>>(), [mirror]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_a_forge_publishes_is_listed_with_its_pull_request() {
    let it = ForgeScene::new(ForgeKind::Gitlab).await;
    let (run, _) = it.ready().await;
    let opened = it.publish(&run).await;
    let listed = result(&it.scene.app, "launch_list_runs", json!({ "project_id": it.scene.project })).await;
    assert_eq!(listed["runs"][0]["pr_url"], opened["pr_url"], "{listed:#}");
    let status = it.scene.status(&run).await;
    assert_eq!(
        (&status["publication"]["pr_url"], &status["publication"]["pr_number"]),
        (&opened["pr_url"], &json!(1)),
        "{status:#}"
    );
    let metrics = it.scene.app.metrics.to_openmetrics(platform::telemetry::Gauges::default());
    let calls = metrics.lines().find(|line| {
        line.starts_with("pairofcleats_launch_forge_calls_total{kind=\"gitlab\",status=\"2xx\"}")
    });
    assert!(calls.is_some_and(|line| !line.ends_with(" 0")), "{metrics}");
}
