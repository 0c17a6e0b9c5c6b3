//! Reads a temporary table page by page, in the order of its ids: it may be too
//! long for memory.

use std::collections::VecDeque;

use rusqlite::{Connection, Row, params};

/// Rows fetched at once.
const PAGE: u32 = 1_000;

/// The rows of a table that were not taken yet.
pub(crate) struct Pages<T> {
    sql: String,
    read: fn(&Row<'_>) -> rusqlite::Result<T>,
    last: i64,
    rows: VecDeque<T>,
}

impl<T> Pages<T> {
    /// `sql` selects the rows whose id is above ?1, at most ?2 of them and by
    /// id, which is the first column.
    pub(crate) fn new(sql: impl Into<String>, read: fn(&Row<'_>) -> rusqlite::Result<T>) -> Self {
        Self {
            sql: sql.into(),
            read,
            last: 0,
            rows: VecDeque::new(),
        }
    }

    /// Takes the next row; `None` at the end.
    pub(crate) fn next(&mut self, connection: &Connection) -> rusqlite::Result<Option<T>> {
        self.peek(connection)?;
        Ok(self.rows.pop_front())
    }

    /// The next row, which stays the next; `None` at the end.
    pub(crate) fn peek(&mut self, connection: &Connection) -> rusqlite::Result<Option<&T>> {
        if self.rows.is_empty() {
            let mut statement = connection.prepare_cached(&self.sql)?;
            let mut rows = statement.query(params![self.last, PAGE])?;
            while let Some(row) = rows.next()? {
                self.last = row.get(0)?;
                self.rows.push_back((self.read)(row)?);
            }
        }
        Ok(self.rows.front())
    }

    /// Takes the next row if it is wanted.
    pub(crate) fn next_if(
        &mut self,
        connection: &Connection,
        is_wanted: impl FnOnce(&T) -> bool,
    ) -> rusqlite::Result<Option<T>> {
        match self.peek(connection)?.is_some_and(is_wanted) {
            true => Ok(self.rows.pop_front()),
            false => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_comes_once_over_any_number_of_pages() {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch(
                "CREATE TABLE work (id INTEGER PRIMARY KEY);
                 WITH RECURSIVE n (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM n WHERE n < 2500)
                 INSERT INTO work SELECT n FROM n",
            )
            .unwrap();
        let sql = "SELECT id FROM work WHERE id > ?1 ORDER BY id LIMIT ?2";
        let mut pages = Pages::new(sql, |row| row.get::<_, i64>(0));
        for expected in 1..=2_500 {
            assert_eq!(pages.peek(&connection).unwrap(), Some(&expected));
            assert_eq!(pages.next_if(&connection, |_| false).unwrap(), None);
            assert_eq!(pages.next(&connection).unwrap(), Some(expected));
        }
        assert_eq!(pages.next(&connection).unwrap(), None);
    }
}
