//! Runs of a block in the format of their files.

#[cfg(feature = "parquet")]
mod columns;

use dupack_lab::results::store::{self, Places};
use dupack_lab::results::{Answered, Results};

use super::{Format, StreamError};
use dupack_engine::folder::OutputFolder;

/// Folder of the files with one row per run.
const RUNS: &str = "runs";

/// Folder of the files with one row per flow of every run. It exists only if there are several flows.
const FLOWS: &str = "flows";

/// Formatter of the rows of runs.
#[derive(Debug)]
pub(super) enum Tables {
    Csv,
    #[cfg(feature = "parquet")]
    Parquet(Box<columns::Tables>),
}

/// The runs of a point.
#[derive(Debug)]
pub(super) enum Rows {
    Csv {
        runs: Vec<u8>,
        flows: Vec<u8>,
    },
    #[cfg(feature = "parquet")]
    Parquet(Box<columns::Rows>),
}

impl Tables {
    #[cfg_attr(not(feature = "parquet"), allow(unused_variables))]
    pub(super) fn new(format: Format, bare: &Results) -> Self {
        match format {
            Format::Csv => Self::Csv,
            #[cfg(feature = "parquet")]
            Format::Parquet => Self::Parquet(Box::new(columns::Tables::new(bare))),
        }
    }

    /// Returns the rows of the runs at a point. The point has the index `at` in `results`, the index `point` among all
    /// points, and the place `place` in the sweep.
    #[cfg_attr(not(feature = "parquet"), allow(unused_variables))]
    pub(super) fn rows(
        &self,
        results: &Answered<'_>,
        at: usize,
        (point, place): (usize, &[String]),
    ) -> Rows {
        match self {
            Self::Csv => {
                let (mut runs, mut flows) = (Vec::new(), Vec::new());
                store::run_rows(&mut runs, results, at, place);
                if results.has_several_flows() {
                    store::flow_rows(&mut flows, results, at, place);
                }
                Rows::Csv { runs, flows }
            }
            #[cfg(feature = "parquet")]
            Self::Parquet(tables) => Rows::Parquet(Box::new(tables.rows(results, at, point))),
        }
    }

    /// Writes the files of block `number` and returns their names.
    pub(super) fn write(
        &self,
        folder: &OutputFolder,
        number: usize,
        places: &Places,
        rows: Vec<Rows>,
    ) -> Result<Vec<String>, StreamError> {
        let mut names = Vec::new();
        match self {
            Self::Csv => {
                let (mut runs, mut flows) = (Vec::new(), Vec::new());
                for rows in &rows {
                    match rows {
                        Rows::Csv {
                            runs: of_runs,
                            flows: of_flows,
                        } => {
                            runs.push(of_runs.as_slice());
                            flows.push(of_flows.as_slice());
                        }
                        #[cfg(feature = "parquet")]
                        Rows::Parquet(_) => {}
                    }
                }
                let mut csv = |part: &str, head: Vec<u8>, rows: &[&[u8]]| {
                    let name = Format::Csv.part(part, number);
                    let mut file = folder.begin(&name)?;
                    file.put(&head)?;
                    rows.iter().try_for_each(|rows| file.put(rows))?;
                    file.complete()?;
                    names.push(name);
                    Ok::<(), StreamError>(())
                };
                csv(RUNS, store::runs_head(places), &runs)?;
                if flows.iter().any(|rows| !rows.is_empty()) {
                    csv(FLOWS, store::flows_head(places), &flows)?;
                }
            }
            #[cfg(feature = "parquet")]
            Self::Parquet(tables) => {
                let rows = rows.into_iter().filter_map(|rows| match rows {
                    Rows::Parquet(rows) => Some(*rows),
                    Rows::Csv { .. } => None,
                });
                names = tables.write(folder, number, rows.collect())?;
            }
        }
        Ok(names)
    }
}
