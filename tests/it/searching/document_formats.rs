//! Documents that are not plain text are searched and shown like others: notebooks by cells, reStructuredText and AsciiDoc by
//! sections, PDF and office documents by pages and sheets. Hostile ones are skipped, and nothing else is.

use std::io::{Cursor, Write};
use std::sync::Arc;

use gate::app::App;
use serde_json::{Value, json};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::harness::{Repository, app, error, project, result};

/// A notebook, whose outputs are larger than a text may be.
fn notebook() -> String {
    let output = "never shown ".repeat(120_000);
    json!({
        "cells": [
            { "cell_type": "markdown", "metadata": {}, "source": ["# Ledger\n", "\n", "The depot ledger is balanced nightly."] },
            {
                "cell_type": "code", "metadata": {}, "execution_count": 1,
                "source": "%matplotlib inline\ndef weigh_parcels(ledger):\n    return sum(ledger)\n",
                "outputs": [{ "output_type": "stream", "name": "stdout", "text": [output] }],
            },
        ],
        "metadata": { "kernelspec": { "name": "python3", "language": "python" } },
        "nbformat": 4,
        "nbformat_minor": 5,
    })
    .to_string()
}

const RST: &str =
    "Guide\n=====\n\nWhat this is about.\n\nInstall\n-------\n\nUnroll the awning before noon.\n";
const ADOC: &str = "= Manual\n\nWhat this is about.\n\n== Brewing\n\nRinse the kettle twice.\n";

/// A zip file with these parts.
fn package(parts: &[(&str, &str)]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in parts {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(content.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn docx(body: &str) -> Vec<u8> {
    let document = format!("<w:document xmlns:w='w'><w:body>{body}</w:body></w:document>");
    let styles = "<w:styles xmlns:w='w'><w:style w:styleId='Heading1'><w:name w:val='heading 1'/></w:style></w:styles>";
    package(&[("word/document.xml", document.as_str()), ("word/styles.xml", styles)])
}

fn xlsx() -> Vec<u8> {
    let workbook =
        "<workbook xmlns:r='r'><sheets><sheet name='Prices' sheetId='1' r:id='rId1'/></sheets></workbook>";
    let relations = "<Relationships><Relationship Id='rId1' Type='x/worksheet' Target='worksheets/sheet1.xml'/></Relationships>";
    let shared = "<sst><si><t>Item</t></si><si><t>Price</t></si><si><t>Saffron buns</t></si></sst>";
    let sheet = "<worksheet><sheetData><row><c t='s'><v>0</v></c><c t='s'><v>1</v></c></row><row><c t='s'><v>2</v></c><c><v>4.5</v></c></row></sheetData></worksheet>";
    package(&[
        ("xl/workbook.xml", workbook),
        ("xl/_rels/workbook.xml.rels", relations),
        ("xl/sharedStrings.xml", shared),
        ("xl/worksheets/sheet1.xml", sheet),
    ])
}

/// A PDF with a page for each line of text.
fn pdf(lines: &[&str]) -> Vec<u8> {
    let kids: Vec<String> = (0..lines.len()).map(|page| format!("{} 0 R", 4 + 2 * page)).collect();
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        format!(
            "<< /Type /Pages /Kids [{}] /Count {} /Resources << /Font << /F1 3 0 R >> >> >>",
            kids.join(" "),
            kids.len()
        ),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>".to_owned(),
    ];
    for (page, line) in lines.iter().enumerate() {
        let content = format!("BT /F1 12 Tf 72 720 Td ({line}) Tj ET");
        objects.push(format!("<< /Type /Page /Parent 2 0 R /Contents {} 0 R >>", 5 + 2 * page));
        objects.push(format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()));
    }
    let (mut file, mut entries) = ("%PDF-1.5\n".to_owned(), String::new());
    for (number, object) in (1..).zip(&objects) {
        entries += &format!("{:010} 00000 n \n", file.len());
        file += &format!("{number} 0 obj\n{object}\nendobj\n");
    }
    let (count, start) = (objects.len() + 1, file.len());
    file += &format!("xref\n0 {count}\n0000000000 65535 f \n{entries}");
    file += &format!("trailer\n<< /Size {count} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n");
    file.into_bytes()
}

/// A repository with a document of each kind, and two that cannot be read. Returns the report of its first run as well.
async fn indexed(app: &Arc<App>, name: &str) -> (Repository, String, Value) {
    let repository =
        Repository::new(&[("guide.rst", RST), ("manual.adoc", ADOC), ("main.py", "def run():\n    pass\n")]);
    repository.write("analysis.ipynb", &notebook());
    let report = pdf(&["Preface of the report.", "Lanterns are trimmed at dusk."]);
    let heading = "<w:p><w:pPr><w:pStyle w:val='Heading1'/></w:pPr><w:r><w:t>Delivery</w:t></w:r></w:p>";
    let letter = docx(&format!("{heading}<w:p><w:r><w:t>Parcels leave the depot at dawn.</w:t></w:r></w:p>"));
    for (path, bytes) in [
        ("letter.docx", letter),
        ("prices.xlsx", xlsx()),
        ("bomb.docx", docx(&" ".repeat(32 << 20))),
        ("cut.pdf", report[..report.len() / 2].to_vec()),
        ("report.pdf", report),
    ] {
        std::fs::write(repository.path().join(path), bytes).unwrap();
    }
    let project = project(name);
    let mut run =
        result(app, "build_index", json!({ "repoPath": repository.root(), "project_id": project })).await;
    (repository, project, run["report"].take())
}

/// The file, the number and the text of the only line with this text.
async fn line_with(app: &Arc<App>, project: &str, text: &str) -> (String, u64, String) {
    let arguments = json!({ "query": text, "mode": "exact", "project_id": project });
    let found = result(app, "search", arguments).await;
    assert_eq!(found["total"], 1, "{text}: {found:#}");
    let file = &found["matches"]["files"][0];
    let line = &file["lines"][0];
    (
        file["file"].as_str().unwrap().to_owned(),
        line["line"].as_u64().unwrap(),
        line["text"].as_str().unwrap().to_owned(),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn sentences_of_documents_are_found_and_shown_at_their_lines() {
    let app = app();
    let (_repository, project, _) = indexed(&app, "documents").await;
    for (text, file, line, shown_above) in [
        ("ledger is balanced nightly", "analysis.ipynb", 4, "# %% [markdown]\n# # Ledger\n#\n"),
        ("def weigh_parcels", "analysis.ipynb", 8, "# %%\n# %matplotlib inline\n"),
        ("Unroll the awning", "guide.rst", 9, "Install\n-------\n\n"),
        ("Rinse the kettle", "manual.adoc", 7, "== Brewing\n\n"),
        ("leave the depot at dawn", "letter.docx", 2, "## Delivery\n"),
        ("Saffron buns\t4.5", "prices.xlsx", 3, "[sheet Prices]\nItem\tPrice\n"),
        ("Lanterns are trimmed", "report.pdf", 5, "[page 2]\n"),
    ] {
        let (found_in, number, found) = line_with(&app, &project, text).await;
        assert_eq!((found_in.as_str(), number), (file, line), "{text}");
        let first = line - shown_above.matches('\n').count() as u64;
        let arguments = json!({ "file": file, "startLine": first, "endLine": line, "project_id": project });
        let shown = result(&app, "show_file", arguments).await;
        assert_eq!(shown["text"].as_str().unwrap().trim_end(), format!("{shown_above}{found}"), "{shown:#}");
        assert_eq!(shown["changedSinceIndexed"], false, "{shown:#}");
        // Ranked search finds it as well.
        let ranked = json!({ "query": format!("\"{}\"", text.replace('\t', " ")), "project_id": project });
        let ranked = result(&app, "search", ranked).await;
        assert_eq!(ranked["hits"][0]["file"], file, "{ranked:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn notebooks_are_code_and_other_documents_are_prose() {
    let app = app();
    let (repository, project, _) = indexed(&app, "document-kinds").await;
    let search = async |arguments: Value| {
        let mut arguments = arguments;
        arguments["project_id"] = json!(project);
        result(&app, "search", arguments).await
    };
    let code = search(json!({ "query": "weigh_parcels", "lang": "python", "type": "function" })).await;
    let hit = &code["hits"][0];
    assert_eq!(
        (&hit["file"], &hit["line"], &hit["startLine"]),
        (&json!("analysis.ipynb"), &json!(8), &json!(6))
    );
    let comments = search(json!({ "query": "\"balanced nightly\"", "mode": "extracted-prose" })).await;
    assert_eq!(comments["hits"][0]["file"], "analysis.ipynb", "{comments:#}");
    for (language, file) in
        [("pdf", "report.pdf"), ("docx", "letter.docx"), ("excel", "prices.xlsx"), ("rst", "guide.rst")]
    {
        let listed = search(json!({ "query": format!("lang:{language}"), "mode": "prose" })).await;
        let files: Vec<&str> =
            listed["hits"].as_array().unwrap().iter().map(|hit| hit["file"].as_str().unwrap()).collect();
        assert!(!files.is_empty() && files.iter().all(|found| *found == file), "{language}: {files:?}");
    }
    let nothing = search(json!({ "query": "never shown", "mode": "exact" })).await;
    assert_eq!(nothing["total"], 0, "outputs are not indexed: {nothing:#}");
    let shown = result(&app, "show_file", json!({ "file": "guide.rst", "project_id": project })).await;
    assert_eq!(shown["chunks"][0]["kind"], "section", "{shown:#}");
    // A document that changed is shown as it was indexed, and says so.
    std::fs::write(repository.path().join("report.pdf"), pdf(&["Something else."])).unwrap();
    let shown = result(&app, "show_file", json!({ "file": "report.pdf", "project_id": project })).await;
    assert_eq!(shown["changedSinceIndexed"], true);
    assert!(shown["text"].as_str().unwrap().contains("Lanterns"), "{shown:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_documents_are_skipped_with_their_reason() {
    let app = app();
    let (repository, project, report) = indexed(&app, "hostile-documents").await;
    let skipped = report["skipped"].as_array().unwrap();
    let unreadable: Vec<&Value> =
        skipped.iter().filter(|entry| entry["reason"] == "unreadable_document").collect();
    let [unreadable] = unreadable.as_slice() else { panic!("{report:#}") };
    assert_eq!(unreadable["examples"], json!(["bomb.docx", "cut.pdf"]), "{report:#}");
    assert_eq!(skipped.len(), 1, "all else is indexed: {report:#}");
    let shown = error(&app, "show_file", json!({ "file": "bomb.docx", "project_id": project })).await;
    assert_eq!(
        (&shown["code"], &shown["details"]["reason"]),
        (&json!("NOT_FOUND"), &json!("unreadable_document"))
    );
    // Once it can be read, it is indexed.
    std::fs::write(repository.path().join("cut.pdf"), pdf(&["Whole again."])).unwrap();
    result(&app, "build_index", json!({ "repoPath": repository.root(), "project_id": project })).await;
    assert_eq!(line_with(&app, &project, "Whole again").await.0, "cut.pdf");
}
