//! Plain columns for the commands that list things (status, errors): a header,
//! a rule, and rows that keep to the terminal's width.

use comfy_table::presets::NOTHING;
use comfy_table::{
    CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle,
};

use unicode_width::UnicodeWidthStr;

use crate::model::disarm;
use crate::report::text::shorten_middle;

/// How the cells of a column are aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Text; it wraps when the table is wider than the terminal.
    Left,
    /// Paths; they are shortened in the middle instead. At most one column.
    Path,
    /// Numbers; they never wrap.
    Right,
}

const STYLE: TableStyle = NOTHING.header_separator(LineStyle::none().fill('─').junction('─'));
/// Padding after a column; the style adds a blank junction to it.
const GAP: u16 = 1;
/// Columns that a path gets at least.
const LEAST_PATH: usize = 10;

/// Lays out rows below their headings, ending with a newline.
///
/// With a width, text wraps to keep within it. Control characters in cells are
/// escaped; names should be escaped before anyway, since only that is
/// unambiguous.
pub fn table<R>(columns: &[(&str, Align)], rows: R, width: Option<u16>) -> String
where
    R: IntoIterator<Item = Vec<String>>,
{
    let mut rows: Vec<_> = rows.into_iter().collect();
    if let (Some(width), Some(at)) = (width, path_column(columns)) {
        shorten_paths(columns, &mut rows, at, width.into());
    }
    let mut table = Table::new();
    table.load_style(STYLE);
    table.set_header(columns.iter().map(|(heading, _)| *heading));
    for row in rows {
        table.add_row(row.iter().map(|cell| disarm(cell)));
    }
    if let Some(width) = width {
        table.set_width(width);
        table.set_content_arrangement(ContentArrangement::Dynamic);
    }
    for (at, (_, align)) in columns.iter().enumerate() {
        let is_last = at + 1 == columns.len();
        if let Some(column) = table.column_mut(at) {
            column.set_padding((0, if is_last { 0 } else { GAP }));
            if *align == Align::Right {
                column.set_cell_alignment(CellAlignment::Right);
                column.set_constraint(ColumnConstraint::ContentWidth);
            }
        }
    }
    table.trim_fmt() + "\n"
}

fn path_column(columns: &[(&str, Align)]) -> Option<usize> {
    columns.iter().position(|(_, align)| *align == Align::Path)
}

/// Gives the paths the width that the other columns leave, and at least
/// [`LEAST_PATH`].
fn shorten_paths(columns: &[(&str, Align)], rows: &mut [Vec<String>], at: usize, width: usize) {
    let widest = |column: usize| {
        let cells = rows.iter().map(|row| row[column].width());
        cells.max().unwrap_or(0).max(columns[column].0.width()) + usize::from(GAP) + 1
    };
    let others: usize = (0..columns.len())
        .filter(|column| *column != at)
        .map(widest)
        .sum();
    let room = width.saturating_sub(others).max(LEAST_PATH);
    for row in rows {
        row[at] = shorten_middle(&disarm(&row[at]), room);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [(&str, Align); 3] = [
        ("Root", Align::Left),
        ("Files", Align::Right),
        ("Size", Align::Right),
    ];

    fn row(root: &str, files: &str, size: &str) -> Vec<String> {
        [root, files, size].map(str::to_owned).to_vec()
    }

    #[test]
    fn numbers_stand_to_the_right() {
        let rows = [
            row("/home/ann", "1,234,567", "2.0 TiB"),
            row("/写真", "9", "999 B"),
        ];
        insta::assert_snapshot!(table(&COLUMNS, rows, Some(80)), @"
        Root           Files     Size
        ─────────────────────────────
        /home/ann  1,234,567  2.0 TiB
        /写真              9    999 B
        ");
    }

    #[test]
    fn text_wraps_at_the_width_and_numbers_do_not() {
        let rows = [row(
            "/home/ann/a/very/long/path/to/some/photos",
            "1,234,567",
            "2.0 TiB",
        )];
        let text = table(&COLUMNS, rows, Some(40));
        assert!(text.contains("1,234,567"), "{text}");
        assert!(text.lines().all(|line| line.width() <= 40), "{text}");
    }

    #[test]
    fn paths_are_shortened_to_one_line() {
        let columns = [("Size", Align::Right), ("Path", Align::Path)];
        let cells = |path: &str| vec!["12.3 MiB".to_owned(), path.to_owned()];
        let path = "/home/you/Pictures/2024/Norway/IMG_0001.CR2";
        let text = |width| table(&columns, [cells(path), cells("/a")], width);
        insta::assert_snapshot!(text(Some(40)), @"
            Size  Path
        ────────────────────────────────────────
        12.3 MiB  /home/you/Pict…ay/IMG_0001.CR2
        12.3 MiB  /a
        ");
        assert!(text(Some(80)).contains(path) && text(None).contains(path));
        assert!(text(Some(40)).lines().all(|line| line.width() <= 40));
    }

    #[test]
    fn without_a_width_nothing_wraps() {
        let long = "x".repeat(300);
        let text = table(&COLUMNS, [row(&long, "1", "1 B")], None);
        assert!(text.contains(&long));
    }

    #[test]
    fn control_characters_are_spelt_out() {
        let text = table(&COLUMNS, [row("a\x1b[2J\nb", "1", "1 B")], Some(80));
        assert!(text.contains(r"a\x1b[2J\nb"), "{text}");
    }

    #[test]
    fn no_rows_leave_the_headings() {
        let text = table(&COLUMNS, [], Some(80));
        assert!(text.starts_with("Root  Files  Size\n"), "{text}");
    }
}
