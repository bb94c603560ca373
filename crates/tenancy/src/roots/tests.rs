//! Tests of the directories and addresses that the lists allow.

use super::*;

fn code(path: impl AsRef<Path>, allowed: &AllowedRoots) -> ErrorCode {
    allowed.check(path.as_ref()).unwrap_err().code
}

#[test]
fn paths_that_cannot_be_repositories_are_refused() {
    let any = AllowedRoots::any();
    assert_eq!(code("src", &any), ErrorCode::InvalidRequest);
    assert_eq!(code("/no/such/directory", &any), ErrorCode::NotFound);
    let file = tempfile::NamedTempFile::new().unwrap();
    assert_eq!(code(file.path(), &any), ErrorCode::NotFound);
    for path in ["/", "/proc", "/proc/self", "/dev", "/../"] {
        assert_eq!(code(path, &any), ErrorCode::Forbidden, "{path}");
    }
}

#[test]
fn an_archive_is_allowed_like_a_directory() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    let at = |name: &str| base.join(name);
    std::fs::create_dir_all(at("in/folder.zip")).unwrap();
    std::fs::create_dir(at("out")).unwrap();
    for name in ["in/click-8.1.tar.gz", "in/text.txt", "out/other.zip"] {
        std::fs::write(at(name), "").unwrap();
    }
    std::os::unix::fs::symlink(at("in/click-8.1.tar.gz"), at("in/latest.tgz")).unwrap();
    std::os::unix::fs::symlink(at("out/other.zip"), at("in/way-out.zip")).unwrap();
    let allowed = AllowedRoots::within(vec![at("in")]);
    let archive = allowed.check(&at("in/click-8.1.tar.gz")).unwrap();
    assert_eq!((archive.kind(), archive.address()), (&RootKind::Archive, None));
    assert_eq!((archive.path(), archive.name()), (at("in/click-8.1.tar.gz").as_path(), "click-8.1.tar.gz"));
    assert!(!archive.is_directory());
    assert_eq!(allowed.check(&at("in/latest.tgz")).unwrap(), archive, "a link means what it leads to");
    assert_eq!(allowed.check(&at("in/folder.zip")).unwrap().kind(), &RootKind::Directory);
    let itself = AllowedRoots::within(vec![at("out/other.zip")]);
    assert!(itself.check(&at("out/other.zip")).is_ok(), "a list may name the archive");
    for (path, expected) in [
        ("in/text.txt", ErrorCode::NotFound),
        ("in/none.zip", ErrorCode::NotFound),
        ("in/click-8.1.tar.gz/src", ErrorCode::NotFound),
        ("in/way-out.zip", ErrorCode::Forbidden),
        ("out/other.zip", ErrorCode::Forbidden),
        ("out/none.zip", ErrorCode::Forbidden),
    ] {
        assert_eq!(code(at(path), &allowed), expected, "{path}");
    }
    let missing = allowed.check(&at("in/none.zip")).unwrap_err();
    assert!(missing.message.starts_with("There is no archive "), "{missing}");
    let watched = |name: &str| require_watchable(&at(name)).map_err(|fault| fault.code);
    assert_eq!(watched("in/latest.tgz"), Err(ErrorCode::InvalidInput));
    assert_eq!((watched("in/folder.zip"), watched("in/none.zip"), watched("in")), (Ok(()), Ok(()), Ok(())));
}

#[test]
fn addresses_are_allowed_by_host_owner_or_name() {
    let check = |list: &[&str], text: &str| {
        let list = AllowedRoots::within(list.iter().map(PathBuf::from).collect());
        list.check(Path::new(text)).map(|root| root.as_str().to_owned()).map_err(|fault| fault.code)
    };
    let click = "https://github.com/pallets/click";
    for allowed in
        ["https://github.com", "https://GitHub.com/pallets/", "https://github.com/pallets/click.git"]
    {
        assert_eq!(
            check(&[allowed], "https://github.com/pallets/click.git").as_deref(),
            Ok(click),
            "{allowed}"
        );
    }
    for allowed in ["/srv", "https://github.com/pal", "http://github.com", "https://github.co", "/"] {
        assert_eq!(check(&[allowed], click), Err(ErrorCode::Forbidden), "{allowed}");
    }
    assert_eq!(check(&["https://github.com"], "https://user@github.com/a/b"), Err(ErrorCode::InvalidUrl));
    assert_eq!(
        check(&["https://github.com"], "https://github.com@evil.example/a/b"),
        Err(ErrorCode::InvalidUrl)
    );
    let any = AllowedRoots::any().check(Path::new("git@host:owner/name.git")).unwrap();
    assert_eq!((any.as_str(), any.name()), ("ssh://git@host/owner/name", "name"));
    // Every list must allow it.
    let mut two = AllowedRoots::within(vec!["https://github.com".into()]);
    two.0.push(vec!["/srv".into()]);
    assert_eq!(code(click, &two), ErrorCode::Forbidden);
}

/// Git would follow files in the directory to repositories outside of the lists.
#[test]
fn where_directories_are_listed_none_is_served_by_git() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    let address = format!("file://{}", path.display());
    assert!(AllowedRoots::any().check(Path::new(&address)).is_ok());
    for list in [path.clone(), "/".into(), address.clone().into(), "file:///".into()] {
        assert_eq!(code(&address, &AllowedRoots::within(vec![list])), ErrorCode::Forbidden);
    }
}

#[test]
fn addresses_are_not_watched() {
    let home = tempfile::tempdir().unwrap();
    let home = config::Overrides { home: Some(home.path().to_owned()), ..config::Overrides::default() };
    let mut settings = config::load(&home).unwrap().0.freshness;
    let mut check = |paths: &[&str]| {
        let entry = |path: &&str| config::WatchedRepository { path: path.into(), project: None };
        settings.watch = WatchedRepositories::Listed(paths.iter().map(entry).collect());
        check_watch_settings(&settings).map_err(|fault| (fault.code, fault.message))
    };
    assert_eq!(check(&["/srv/shop"]), Ok(()));
    for address in ["https://host/acme/shop", "https://ann:secret@host/shop", "git@host:shop"] {
        let (code, message) = check(&["/srv/shop", address]).unwrap_err();
        assert_eq!(code, ErrorCode::InvalidInput);
        assert!(message.starts_with("freshness.watch: ") && !message.contains("host"), "{message}");
        assert!(message.ends_with("addresses are refreshed by freshness.every_ms and by webhooks."));
    }
}

/// A root is stored in indexes, which do not hold texts of any length.
#[test]
fn a_path_that_is_too_long_is_refused() {
    let (above, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let deep = (0..12).fold(above.path().to_path_buf(), |path, _| path.join("x".repeat(200)));
    std::fs::create_dir_all(&deep).unwrap();
    let link = other.path().join("link");
    std::os::unix::fs::symlink(&deep, &link).unwrap();
    let any = AllowedRoots::any();
    for path in [&deep, &link] {
        let fault = any.check(path).unwrap_err();
        assert_eq!(fault.code, ErrorCode::InvalidRequest, "{fault}");
        assert!(fault.message.ends_with(" bytes, more than 2000.") && fault.hint.is_some(), "{fault}");
    }
    let short = deep.ancestors().find(|path| path.as_os_str().len() <= INDEXED_TEXT_BYTES_MAX).unwrap();
    assert_eq!(any.check(short).unwrap().path(), short.canonicalize().unwrap());
    let elsewhere = AllowedRoots::within(vec![other.path().to_path_buf()]);
    assert_eq!(code(&deep, &elsewhere), ErrorCode::Forbidden, "its length is not revealed");
}

#[test]
fn a_path_must_lie_in_every_list() {
    let (shop, bank) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let list =
        |dirs: &[&tempfile::TempDir]| dirs.iter().map(|dir| dir.path().to_path_buf()).collect::<Vec<_>>();
    let both = AllowedRoots::within(list(&[&shop, &bank]));
    assert!(both.check(shop.path()).is_ok() && both.check(bank.path()).is_ok());
    let narrowed = AllowedRoots(vec![list(&[&shop, &bank]), list(&[&bank])]);
    assert!(narrowed.check(bank.path()).is_ok());
    assert_eq!(code(shop.path(), &narrowed), ErrorCode::Forbidden);
    assert_eq!(code(shop.path(), &AllowedRoots::none()), ErrorCode::Forbidden);
}

/// Paths outside get the same fault whether they exist or not, also through links and `..`.
#[test]
fn paths_outside_do_not_reveal_whether_they_exist() {
    let (inside, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let allowed = AllowedRoots::within(vec![inside.path().to_path_buf()]);
    let real = inside.path().join("repo");
    std::fs::create_dir(&real).unwrap();
    std::fs::write(outside.path().join("file"), "").unwrap();
    let link = |name: &str, to: &Path| std::os::unix::fs::symlink(to, real.join(name)).unwrap();
    link("there", outside.path());
    link("file", &outside.path().join("file"));
    link("gone", &outside.path().join("gone"));
    let refusal = |path: PathBuf| {
        let fault = allowed.check(&path).unwrap_err();
        (fault.code, fault.message.replace(&*path.to_string_lossy(), "PATH"))
    };
    let name = outside.path().file_name().unwrap();
    let paths = [
        outside.path().to_path_buf(),
        outside.path().join("file"),
        outside.path().join("gone"),
        real.join("there"),
        real.join("there/gone"),
        real.join("file"),
        real.join("gone"),
        real.join("gone/gone"),
        inside.path().join("..").join(name),
        inside.path().join("../no-such-name"),
        real.join("../../"),
        PathBuf::from("/proc/self/no-such-name"),
    ];
    for path in paths {
        let label = format!("{path:?}");
        let (code, message) = refusal(path);
        assert_eq!(
            (code, message.as_str()),
            (ErrorCode::Forbidden, "PATH is outside the allowed directories."),
            "{label}"
        );
    }
    assert_eq!(allowed.check(&real).unwrap().name(), "repo");
    assert_eq!(code(real.join("absent"), &allowed), ErrorCode::NotFound);
}

#[test]
fn a_listed_root_that_does_not_exist_is_named_in_the_fault() {
    let (real, gone) = (tempfile::tempdir().unwrap(), PathBuf::from("/no/such/root"));
    let allowed = AllowedRoots::within(vec![real.path().to_path_buf(), gone.clone()]);
    for path in [gone.clone(), gone.join("repo")] {
        let fault = allowed.check(&path).unwrap_err();
        assert_eq!(fault.code, ErrorCode::NotFound, "{fault}");
        assert!(fault.message.contains("allowed directory /no/such/root does not exist"), "{fault}");
    }
    assert_eq!(code("/no/such/other", &allowed), ErrorCode::Forbidden);
    assert_eq!(allowed.missing().collect::<Vec<_>>(), [gone.as_path()]);
    let narrowed = AllowedRoots(vec![vec![gone.clone()], vec![real.path().to_path_buf()]]);
    assert_eq!(code(gone.join("repo"), &narrowed), ErrorCode::Forbidden, "it must lie in every list");
}

#[test]
fn the_list_of_a_project_replaces_the_general_one() {
    let home = tempfile::tempdir().unwrap();
    let home = config::Overrides { home: Some(home.path().to_owned()), ..config::Overrides::default() };
    let mut settings = config::load(&home).unwrap().0.indexing;
    let ids = ["client-a", "client-b"].map(|id| ProjectId::parse(id).unwrap());
    let roots = |settings: &config::Indexing| ids.clone().map(|id| AllowedRoots::for_project(settings, &id));
    assert_eq!(roots(&settings), [AllowedRoots::any(), AllowedRoots::any()]);
    settings.roots = vec!["/srv".into()];
    settings.project_roots.insert("client-a".into(), vec!["/srv/a".into()]);
    let [own, general] = roots(&settings);
    assert_eq!(own, AllowedRoots::within(vec!["/srv/a".into()]));
    assert_eq!(general, AllowedRoots::within(vec!["/srv".into()]));
    settings.project_roots.insert("client-b".into(), Vec::new());
    assert_eq!(roots(&settings)[1], AllowedRoots::none(), "an empty list of its own allows nothing");
}
