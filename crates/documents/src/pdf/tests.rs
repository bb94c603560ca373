//! Small PDF files that are written here, and hostile ones.

use super::text;
use crate::Unreadable;

const TEXT_MAX: usize = 1 << 20;

/// A PDF with these objects, beginning with the catalog; `trailer` adds to its trailer.
fn pdf(objects: &[Vec<u8>], trailer: &str) -> Vec<u8> {
    let mut file = b"%PDF-1.5\n".to_vec();
    let mut entries = String::new();
    for (number, object) in (1..).zip(objects) {
        entries += &format!("{:010} 00000 n \n", file.len());
        file.extend(format!("{number} 0 obj\n").bytes());
        file.extend(object);
        file.extend(b"\nendobj\n");
    }
    let (count, start) = (objects.len() + 1, file.len());
    let end = format!(
        "xref\n0 {count}\n0000000000 65535 f \n{entries}trailer\n<< /Size {count} /Root 1 0 R {trailer} >>\nstartxref\n{start}\n%%EOF\n"
    );
    file.extend(end.bytes());
    file
}

fn object(text: &str) -> Vec<u8> {
    text.as_bytes().to_vec()
}

fn stream(dictionary: &str, content: &[u8]) -> Vec<u8> {
    let mut object = format!("<< /Length {} {dictionary} >>\nstream\n", content.len()).into_bytes();
    object.extend(content);
    object.extend(b"\nendstream");
    object
}

const HELVETICA: &str = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>";

/// A PDF with a page for each content. Object 3 is the font `F1`, and `more` are the objects from 4 on.
fn pages(contents: &[Vec<u8>], font: &str, more: &[Vec<u8>], resources: &str) -> Vec<u8> {
    let first = 4 + more.len();
    let kids: Vec<String> = (0..contents.len()).map(|page| format!("{} 0 R", first + 2 * page)).collect();
    let mut objects = vec![
        object("<< /Type /Catalog /Pages 2 0 R >>"),
        object(&format!(
            "<< /Type /Pages /Kids [{}] /Count {} /Resources << /Font << /F1 3 0 R >> {resources} >> >>",
            kids.join(" "),
            kids.len()
        )),
        object(font),
    ];
    objects.extend(more.iter().cloned());
    for (page, content) in contents.iter().enumerate() {
        let content_at = first + 2 * page + 1;
        objects.push(object(&format!("<< /Type /Page /Parent 2 0 R /Contents {content_at} 0 R >>")));
        objects.push(content.clone());
    }
    pdf(&objects, "")
}

fn page(content: &str) -> Vec<u8> {
    stream("", content.as_bytes())
}

fn text_of(contents: &[&str]) -> Result<String, Unreadable> {
    let contents: Vec<Vec<u8>> = contents.iter().map(|content| page(content)).collect();
    text(&pages(&contents, HELVETICA, &[], ""), TEXT_MAX)
}

#[test]
fn lines_words_and_paragraphs_follow_from_places() {
    let first = "BT /F1 12 Tf 72 720 Td (Delivery of) Tj 0 -14 Td [(par) 20 (cels) -300 (and letters)] TJ 0 -40 Td (caf\\351) Tj ET";
    // A second column, in a coordinate system that is scaled.
    let second = "q 2 0 0 2 0 0 cm BT /F1 6 Tf 1 0 0 1 10 300 Tm (left) Tj 1 0 0 1 120 300 Tm (right) Tj ET Q BT /F1 6 Tf 14 TL 20 500 Td (more) Tj (\\(x\\)) ' ET";
    assert_eq!(
        text_of(&[first, second]).unwrap(),
        "[page 1]\nDelivery of\nparcels and letters\n\ncafé\n\n[page 2]\nleft\tright\n\nmore\n\n(x)\n"
    );
}

#[test]
fn composite_fonts_are_read_by_their_map() {
    let font = "<< /Type /Font /Subtype /Type0 /BaseFont /X /Encoding /Identity-H /DescendantFonts [<< /Type /Font /DW 500 /W [3 [250 600] 5 6 700] >>] /ToUnicode 4 0 R >>";
    let map = stream("", b"1 beginbfrange <0003> <0006> [<00660069> <0041> <0042> <FB02>] endbfrange");
    let contents = [page("BT /F1 10 Tf 0 0 Td <0003000400050006> Tj ET")];
    assert_eq!(text(&pages(&contents, font, &[map], ""), TEXT_MAX).unwrap(), "[page 1]\nfiABfl\n");
}

#[test]
fn forms_are_part_of_their_page() {
    let form = stream(
        "/Type /XObject /Subtype /Form /Matrix [1 0 0 1 0 0] /Resources << /Font << /F1 3 0 R >> /XObject << /X1 4 0 R >> >>",
        b"BT /F1 12 Tf 10 10 Td (inside) Tj ET /X1 Do",
    );
    let contents = [page("/X1 Do")];
    let read = text(&pages(&contents, HELVETICA, &[form], "/XObject << /X1 4 0 R >>"), TEXT_MAX).unwrap();
    // It shows itself; that ends.
    assert!(read.starts_with("[page 1]\ninside") && read.matches("inside").count() < 20, "{read}");
}

#[test]
fn a_page_that_cannot_be_read_is_empty() {
    let mut bomb = lopdf::Stream::new(lopdf::Dictionary::new(), vec![b' '; 16 << 20]);
    bomb.compress().unwrap();
    let contents = [stream("/Filter /FlateDecode", &bomb.content), page("BT /F1 12 Tf (words) Tj ET")];
    let read = text(&pages(&contents, HELVETICA, &[], ""), TEXT_MAX);
    assert_eq!(read.unwrap(), "[page 1]\n\n[page 2]\nwords\n");
}

#[test]
fn documents_without_text_return_the_reason() {
    assert_eq!(text_of(&["0 0 10 10 re f", ""]), Err(Unreadable::NoText));
    assert_eq!(text_of(&[]), Err(Unreadable::Damaged));
    let dictionary = format!("<< /Filter /Standard /V 1 /R 2 /P -4 /O <{0}> /U <{0}> >>", "5A".repeat(32));
    let objects =
        [object("<< /Type /Catalog /Pages 2 0 R >>"), object("<< /Type /Pages >>"), object(&dictionary)];
    let id = "/Encrypt 3 0 R /ID [<00> <00>]";
    assert_eq!(text(&pdf(&objects, id), TEXT_MAX), Err(Unreadable::Encrypted));
}

#[test]
fn damaged_files_are_refused() {
    let whole = pages(&[page("BT /F1 12 Tf (words) Tj ET")], HELVETICA, &[], "");
    assert_eq!(text(&whole, TEXT_MAX).unwrap(), "[page 1]\nwords\n");
    for length in [0, 8, whole.len() / 2, whole.len() - 20] {
        assert_eq!(text(&whole[..length], TEXT_MAX), Err(Unreadable::Damaged), "{length}");
    }
    assert_eq!(text(b"%PDF-1.7\nnothing", TEXT_MAX), Err(Unreadable::Damaged));
    // Operators without operands, and numbers that are none.
    let odd = "Q Q Tf Tj TJ Do cm Tm ' \" BT /F1 (x) Tf /F9 12 Tf (lost) Tj /F1 12 Tf 1e9 0 Td [(wo) /x (rds)] TJ ET";
    assert_eq!(text_of(&[odd]).unwrap(), "[page 1]\nwords\n");
}
