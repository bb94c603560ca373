//! Office documents that are written here, as their programs write them, and hostile ones.

use std::io::{Cursor, Write};

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::text;
use crate::{Format, Unreadable};

const TEXT_MAX: usize = 1 << 20;

/// A zip file with these parts.
fn package(parts: &[(&str, &str)]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in parts {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(content.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn text_of(format: Format, parts: &[(&str, &str)]) -> Result<String, Unreadable> {
    text(format, &package(parts), TEXT_MAX)
}

#[test]
fn word_documents_have_headings_tables_and_footnotes() {
    let document = r#"<?xml version="1.0" encoding="UTF-8"?><w:document xmlns:w="w"><w:body>
        <w:p><w:pPr><w:pStyle w:val="berschrift1"/></w:pPr><w:r><w:t>Delivery</w:t></w:r></w:p>
        <w:p><w:pPr><w:tabs><w:tab w:pos="1"/></w:tabs></w:pPr><w:r><w:t xml:space="preserve">Parcels &amp; </w:t></w:r><w:r><w:t>let&#x2013;ters</w:t></w:r>
            <w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:r><w:instrText>PAGE</w:instrText></w:r></w:p>
        <w:tbl><w:tr><w:tc><w:p><w:r><w:t>One</w:t></w:r></w:p><w:p><w:r><w:t>more</w:t></w:r></w:p></w:tc>
            <w:tc><w:p><w:r><w:t>Two</w:t></w:r></w:p></w:tc></w:tr></w:tbl>
        <w:p><mc:AlternateContent xmlns:mc="m"><mc:Choice><w:r><w:t>Once</w:t></w:r></mc:Choice>
            <mc:Fallback><w:r><w:t>Twice</w:t></w:r></mc:Fallback></mc:AlternateContent></w:p>
    </w:body></w:document>"#;
    let styles = r#"<w:styles xmlns:w="w"><w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style></w:styles>"#;
    let footnotes = r#"<w:footnotes xmlns:w="w"><w:footnote><w:p><w:r><w:t>A note.</w:t></w:r></w:p></w:footnote></w:footnotes>"#;
    let parts =
        [("word/document.xml", document), ("word/styles.xml", styles), ("word/footnotes.xml", footnotes)];
    assert_eq!(
        text_of(Format::Docx, &parts).unwrap(),
        "## Delivery\nParcels & let–ters\nOne more\tTwo\n\nOnce\n\nA note.\n"
    );
}

#[test]
fn slides_are_in_the_order_of_the_presentation() {
    let slide = |words: &str| {
        format!(
            "<p:sld xmlns:p='p' xmlns:a='a'><a:p><a:r><a:t>{words}</a:t></a:r></a:p><a:p><a:fld><a:t>7</a:t></a:fld></a:p></p:sld>"
        )
    };
    let (first, second, notes) = (slide("First"), slide("Second"), slide("Say hello"));
    let presentation = "<p:presentation xmlns:p='p' xmlns:r='r'><p:sldIdLst><p:sldId id='256' r:id='rId9'/><p:sldId id='257' r:id='rId2'/></p:sldIdLst></p:presentation>";
    let relations = "<Relationships><Relationship Id='rId2' Type='x/slide' Target='slides/slide1.xml'/><Relationship Id='rId9' Type='x/slide' Target='slides/slide2.xml'/></Relationships>";
    let of_first = "<Relationships><Relationship Id='a' Type='x/notesSlide' Target='../notesSlides/notesSlide1.xml'/></Relationships>";
    let parts = [
        ("ppt/presentation.xml", presentation),
        ("ppt/_rels/presentation.xml.rels", relations),
        ("ppt/slides/slide1.xml", second.as_str()),
        ("ppt/slides/slide2.xml", first.as_str()),
        ("ppt/slides/_rels/slide2.xml.rels", of_first),
        ("ppt/notesSlides/notesSlide1.xml", notes.as_str()),
    ];
    assert_eq!(
        text_of(Format::Pptx, &parts).unwrap(),
        "[slide 1]\nFirst\n\nSay hello\n\n[slide 2]\nSecond\n"
    );
}

#[test]
fn rows_of_sheets_are_lines() {
    let workbook = "<workbook xmlns:r='r'><sheets><sheet name='Prices [2024]' sheetId='1' r:id='rId1'/><sheet name='Empty' sheetId='2' r:id='rId2'/></sheets></workbook>";
    let relations = "<Relationships><Relationship Id='rId1' Type='x/worksheet' Target='worksheets/sheet1.xml'/><Relationship Id='rId3' Type='x/sharedStrings' Target='sharedStrings.xml'/></Relationships>";
    let shared = "<sst><si><t>Item</t></si><si><r><t>Coffee </t></r><r><t>beans</t></r><rPh><t>no</t></rPh></si></sst>";
    let sheet = "<worksheet><sheetData>
        <row><c t='s'><v>0</v></c><c/><c t='inlineStr'><is><t>Price\nin euros</t></is></c></row>
        <row><c t='s'><v>1</v></c><c><f>1+1</f><v>12.5</v></c><c t='b'><v>1</v></c><c t='s'><v>99</v></c></row>
        <row/></sheetData></worksheet>";
    let parts = [
        ("xl/workbook.xml", workbook),
        ("xl/_rels/workbook.xml.rels", relations),
        ("xl/sharedStrings.xml", shared),
        ("xl/worksheets/sheet1.xml", sheet),
    ];
    assert_eq!(
        text_of(Format::Xlsx, &parts).unwrap(),
        "[sheet Prices  2024]\nItem\tPrice in euros\nCoffee beans\t12.5\tTRUE\n\n[sheet Empty]\n"
    );
}

/// The relations of a package or a part: each with its kind and its target.
fn relations(relations: &[(&str, &str)]) -> String {
    let relation = |(number, (kind, target)): (usize, &(&str, &str))| {
        format!("<Relationship Id='rId{number}' Type='{kind}' Target='{target}'/>")
    };
    let relations: String = relations.iter().enumerate().map(relation).collect();
    format!("<Relationships>{relations}</Relationships>")
}

/// Kinds of relations in transitional and in strict Office Open XML.
const MAIN_PARTS: [&str; 2] = [
    "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument",
    "http://purl.oclc.org/ooxml/officeDocument/relationships/officeDocument",
];

#[test]
fn the_main_part_is_the_one_that_the_package_names() {
    let paragraph = |words: &str, style: &str| {
        format!("<d><p><pPr><pStyle val='{style}'/></pPr><r><t>{words}</t></r></p></d>")
    };
    let (document, other) = (paragraph("Delivery", "a"), paragraph("Not this", "a"));
    let (footnote, endnote) = (paragraph("A note.", ""), paragraph("The end.", ""));
    let styles = "<styles><style styleId='a'><name val='heading 1'/></style></styles>";
    let of_document = relations(&[
        ("x/stylesWithEffects", "none.xml"),
        ("x/styles", "styles2.xml"),
        ("x/footnotes", "/word/notes/foot.xml"),
        ("x/endnotes", "notes/end.xml"),
    ]);
    for (kind, target) in MAIN_PARTS.into_iter().zip(["word/document2.xml", "/word/document2.xml"]) {
        let of_package = relations(&[("x/extended-properties", "docProps/app.xml"), (kind, target)]);
        let parts = [
            ("_rels/.rels", of_package.as_str()),
            ("word/document.xml", other.as_str()),
            ("word/document2.xml", document.as_str()),
            ("word/_rels/document2.xml.rels", of_document.as_str()),
            ("word/styles2.xml", styles),
            ("word/notes/foot.xml", footnote.as_str()),
            ("word/notes/end.xml", endnote.as_str()),
        ];
        let text = text_of(Format::Docx, &parts).unwrap();
        assert_eq!(text, "## Delivery\n\nA note.\n\nThe end.\n", "{target}");
    }
}

#[test]
fn workbooks_and_presentations_may_have_other_names() {
    let [kind, _] = MAIN_PARTS;
    let of_package = relations(&[(kind, "book.xml")]);
    let workbook = "<workbook xmlns:r='r'><sheets><sheet name='Prices' r:id='rId0'/></sheets></workbook>";
    let of_workbook = relations(&[("x/worksheet", "sheets/one.xml"), ("x/sharedStrings", "texts.xml")]);
    let parts = [
        ("_rels/.rels", of_package.as_str()),
        ("book.xml", workbook),
        ("_rels/book.xml.rels", of_workbook.as_str()),
        ("texts.xml", "<sst><si><t>Item</t></si></sst>"),
        ("sheets/one.xml", "<worksheet><row><c t='s'><v>0</v></c></row></worksheet>"),
    ];
    assert_eq!(text_of(Format::Xlsx, &parts).unwrap(), "[sheet Prices]\nItem\n");

    let of_package = relations(&[(kind, "slides/deck.xml")]);
    let deck = "<presentation xmlns:r='r'><sldIdLst><sldId id='256' r:id='rId0'/></sldIdLst></presentation>";
    let of_deck = relations(&[("x/slide", "one.xml")]);
    let parts = [
        ("_rels/.rels", of_package.as_str()),
        ("slides/deck.xml", deck),
        ("slides/_rels/deck.xml.rels", of_deck.as_str()),
        ("slides/one.xml", "<sld><p><r><t>First</t></r></p></sld>"),
    ];
    assert_eq!(text_of(Format::Pptx, &parts).unwrap(), "[slide 1]\nFirst\n");
}

#[test]
fn a_package_that_names_no_part_of_it_has_the_usual_one() {
    let paragraph = |words: &str| format!("<d><p><r><t>{words}</t></r></p></d>");
    let (usual, other) = (paragraph("usual"), paragraph("other"));
    let [kind, _] = MAIN_PARTS;
    let external = format!(
        "<Relationships><Relationship Id='a' Type='{kind}' Target='word/other.xml' TargetMode='External'/></Relationships>"
    );
    let targets = [
        "",
        "/",
        "word",
        "word/none.xml",
        "../word/other.xml",
        "word/../../word/other.xml",
        "/../word/other.xml",
        "word\\other.xml",
        "file:///word/other.xml",
        "https://host.example/word/other.xml",
        "/etc/passwd",
    ];
    let mut packages = targets.map(|target| relations(&[(kind, target)])).to_vec();
    packages.extend([external, relations(&[]), relations(&[("x/other", "word/other.xml")])]);
    for of_package in &packages {
        let parts = [
            ("_rels/.rels", of_package.as_str()),
            ("word/document.xml", usual.as_str()),
            ("word/other.xml", other.as_str()),
        ];
        assert_eq!(text_of(Format::Docx, &parts).unwrap(), "usual\n", "{of_package}");
        let [of_package, _, other] = parts;
        assert_eq!(text_of(Format::Docx, &[of_package, other]), Err(Unreadable::Damaged));
    }
    // A name may lead back inside the package.
    let of_package = relations(&[(kind, "none/../word/other.xml")]);
    let parts = [("_rels/.rels", of_package.as_str()), ("word/other.xml", other.as_str())];
    assert_eq!(text_of(Format::Docx, &parts).unwrap(), "other\n");
}

#[test]
fn open_documents_are_read() {
    let body = |content: &str| {
        format!(
            "<office:document-content xmlns:office='o' xmlns:text='t' xmlns:table='b' xmlns:draw='d'>{content}</office:document-content>"
        )
    };
    let odt = body(
        "<text:h text:outline-level='1'>Delivery</text:h>
         <text:p>Parcels\n   and<text:s text:c='2'/><text:span>letters</text:span><text:note><text:note-body><text:p>A note.</text:p></text:note-body></text:note> go<office:annotation><text:p>no</text:p></office:annotation>.</text:p>",
    );
    assert_eq!(
        text_of(Format::Odt, &[("content.xml", odt.as_str())]).unwrap(),
        "## Delivery\nParcels and  letters A note. go.\n"
    );
    let ods = body(
        "<table:table table:name='Prices'><table:table-row><table:table-cell><text:p>Item</text:p></table:table-cell>
         <table:table-cell table:number-columns-repeated='16384'/><table:table-cell><text:p>Price</text:p></table:table-cell></table:table-row></table:table>",
    );
    assert_eq!(
        text_of(Format::Ods, &[("content.xml", ods.as_str())]).unwrap(),
        "[sheet Prices]\nItem\t\tPrice\n"
    );
    let odp =
        body("<draw:page><text:p>First</text:p></draw:page><draw:page><text:p>Second</text:p></draw:page>");
    assert_eq!(
        text_of(Format::Odp, &[("content.xml", odp.as_str())]).unwrap(),
        "[slide 1]\nFirst\n\n[slide 2]\nSecond\n"
    );
}

#[test]
fn encrypted_documents_are_named_as_such() {
    let manifest = "<manifest><file-entry><encryption-data/></file-entry></manifest>";
    let parts = [("META-INF/manifest.xml", manifest), ("content.xml", "garbage")];
    assert_eq!(text_of(Format::Odt, &parts), Err(Unreadable::Encrypted));
    let mut compound = crate::format::COMPOUND_HEADER.to_vec();
    assert_eq!(text(Format::Docx, &compound, TEXT_MAX), Err(Unreadable::Damaged));
    compound.extend("EncryptedPackage".encode_utf16().flat_map(u16::to_le_bytes));
    assert_eq!(text(Format::Docx, &compound, TEXT_MAX), Err(Unreadable::Encrypted));
}

#[test]
fn hostile_documents_are_damaged() {
    let damaged = Err(Unreadable::Damaged);
    let paragraph = |content: &str| format!("<d><p><r><t>{content}</t></r></p></d>");
    let docx = |document: &str| text_of(Format::Docx, &[("word/document.xml", document)]);
    assert_eq!(docx(&paragraph("words")).unwrap(), "words\n");
    // A text that unpacks to more than a thousand times its size.
    assert_eq!(docx(&paragraph(&" ".repeat(32 << 20))), damaged);
    assert_eq!(docx(&"<p>".repeat(5000)), damaged);
    assert_eq!(docx("<a b='"), damaged);
    assert_eq!(docx("</p>"), damaged);
    assert_eq!(text_of(Format::Docx, &[("other.xml", "<d/>")]), damaged);
    assert_eq!(docx("<d/>"), Err(Unreadable::NoText));
    // Entities are not expanded.
    let bomb = "<!DOCTYPE d [<!ENTITY a 'lol'><!ENTITY b '&a;&a;&a;'>]><d><p><r><t>x&b;y</t></r></p></d>";
    assert_eq!(docx(bomb).unwrap(), "x y\n");
    let words = paragraph("words");
    let whole = package(&[("word/document.xml", words.as_str())]);
    for length in [0, 4, 40, whole.len() / 2, whole.len() - 10] {
        assert_eq!(text(Format::Docx, &whole[..length], TEXT_MAX), damaged, "{length}");
    }
}

#[test]
fn a_long_document_is_cut() {
    let document = format!("<d>{}</d>", "<p><r><t>words and more words</t></r></p>".repeat(1000));
    let cut = text(Format::Docx, &package(&[("word/document.xml", document.as_str())]), 100).unwrap();
    assert!(cut.len() < 150 && cut.ends_with("[the rest is left out]\n"), "{cut}");
}
