//! Archives of very many small files: the mirror does not have one file for each of them.

use super::*;

/// Returns a tar of `count` files with the contents that `text` returns.
fn tar_of(count: usize, text: impl Fn(usize) -> String) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for number in 0..count {
        let content = text(number);
        let mut header = tar::Header::new_ustar();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        let path = format!("d{}/f{number}.txt", number % 100);
        tar.append_data(&mut header, path, content.as_bytes()).unwrap();
    }
    tar.into_inner().unwrap()
}

#[test]
fn very_many_small_files_are_a_few_files_of_a_mirror() {
    for (name, is_empty) in [("empty.tar", true), ("small.tar", false)] {
        let mut fixture = Fixture::new();
        fixture.archives.limits.files_max = 10_000;
        let bytes = tar_of(5_000, |number| if is_empty { String::new() } else { format!("{number}\n") });
        let imported = fixture.import_new(name, &bytes);
        let mut open = vec![imported.git_dir.clone()];
        let mut count = 0;
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() { open.push(path) } else { count += 1 }
            }
        }
        assert!(count < 20, "{name}: {count} files");
        let found = files(&imported);
        assert_eq!(found.len(), 5_000, "{name}");
        let expected = if is_empty { "" } else { "4999\n" };
        assert!(found.iter().any(|(path, text)| path == "d99/f4999.txt" && text == expected), "{name}");
    }
}
