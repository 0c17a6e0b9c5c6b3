//! Running one statement. Each is prepared once per connection.

use rusqlite::types::{FromSql, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, OptionalExtension, Params, Row, Statement};

use super::rows::unsigned;
use crate::model::{
    ActionId, FaultId, FolderId, PlanId, Probe, RootId, RunId, ScanId, Timestamp, VolumeId,
};

/// Runs a statement; returns how many rows it changed.
pub(crate) fn run(
    connection: &Connection,
    sql: &str,
    values: impl Params,
) -> rusqlite::Result<usize> {
    connection.prepare_cached(sql)?.execute(values)
}

/// Binds the values of several lists, one list after the other.
pub(crate) fn bind(statement: &mut Statement<'_>, lists: &[&[&dyn ToSql]]) -> rusqlite::Result<()> {
    let values = lists.iter().copied().flatten();
    (1..)
        .zip(values)
        .try_for_each(|(at, value)| statement.raw_bind_parameter(at, value))
}

/// Runs a statement with the values of several lists.
pub(crate) fn execute(
    statement: &mut Statement<'_>,
    lists: &[&[&dyn ToSql]],
) -> rusqlite::Result<usize> {
    bind(statement, lists)?;
    statement.raw_execute()
}

/// A row of numbers as a list of values.
pub(crate) fn values<const N: usize>(numbers: &[Option<i64>; N]) -> [&dyn ToSql; N] {
    numbers.each_ref().map(|number| number as &dyn ToSql)
}

/// All rows of a query.
pub(crate) fn all<T, C: FromIterator<T>>(
    connection: &Connection,
    sql: &str,
    values: impl Params,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<C> {
    let mut statement = connection.prepare_cached(sql)?;
    statement.query_map(values, read)?.collect()
}

/// The first row of a query, if there is one.
pub(crate) fn first<T>(
    connection: &Connection,
    sql: &str,
    values: impl Params,
    read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Option<T>> {
    let mut statement = connection.prepare_cached(sql)?;
    statement.query_row(values, read).optional()
}

/// The one value of a query.
pub(crate) fn value<T: FromSql>(
    connection: &Connection,
    sql: &str,
    values: impl Params,
) -> rusqlite::Result<T> {
    let mut statement = connection.prepare_cached(sql)?;
    statement.query_row(values, |row| row.get(0))
}

/// The one number of a query that counts.
pub(crate) fn count(
    connection: &Connection,
    sql: &str,
    values: impl Params,
) -> rusqlite::Result<u64> {
    value(connection, sql, values).map(unsigned)
}

/// Lets newtypes over an integer be read and bound like one.
macro_rules! integers {
    ($($name:ident),*) => {
        $(
            impl FromSql for $name {
                fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                    i64::column_result(value).map(Self)
                }
            }

            impl ToSql for $name {
                fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                    self.0.to_sql()
                }
            }
        )*
    };
}

integers!(
    ActionId, FaultId, FolderId, PlanId, Probe, RootId, RunId, ScanId, Timestamp, VolumeId
);
