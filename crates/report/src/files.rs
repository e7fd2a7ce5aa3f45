//! The files of a report. The contents of each file are made when the file is written, and can be written to any
//! [`Folder`].

use std::borrow::Cow;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use dupack_lab::results::{Answered, store};
use miette::Diagnostic;
use thiserror::Error;

use crate::figure::FigureError;
use crate::page::{Page, html};
use dupack_engine::folder::{Folder, StoreError};

pub use dupack_engine::store::{EXPERIMENT, PAGE, RESULTS};

/// Number of bitmap pixels per SVG pixel; 2 is suitable for print and high-resolution screens.
#[cfg(feature = "png")]
const PNG_SCALE: f32 = 2.0;

/// Possible file name extensions of a figure. The SVG file is always written, and the other files only if this build
/// has the corresponding features.
pub(crate) const FIGURE_KINDS: [&str; 3] = ["svg", "png", "pdf"];

/// File name extensions of the figures that this build writes, as a list for readers.
pub const FIGURE_ENDINGS: &str = match (cfg!(feature = "png"), cfg!(feature = "pdf")) {
    (false, false) => ".svg",
    (true, false) => ".svg, .png",
    (false, true) => ".svg, .pdf",
    (true, true) => ".svg, .png, .pdf",
};

/// Reasons why a report was not written.
#[derive(Debug, Error, Diagnostic)]
#[non_exhaustive]
pub enum DeliveryError {
    /// A picture cannot be drawn.
    #[error(transparent)]
    Figure(#[from] FigureError),
    /// A table cannot be written as a Parquet file.
    #[cfg(feature = "parquet-tables")]
    #[error("cannot write {name}.parquet: {cause}")]
    #[diagnostic(help("this is a bug in dupack; {name}.csv has the same table"))]
    Table {
        /// Name of the table.
        name: &'static str,
        /// Reason for the failure.
        cause: String,
    },
    /// A file cannot be stored.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Store(#[from] StoreError),
}

/// Function that returns the contents of a file.
type Make<'r> = Box<dyn Fn() -> Result<Vec<u8>, DeliveryError> + 'r>;

/// Files to be written, with their names. The contents of a file are made when the file is written, so memory holds
/// only the data behind them.
#[derive(Default)]
pub struct Files<'r> {
    files: Vec<(String, Make<'r>)>,
    /// Names of files of the same report that are written elsewhere.
    known: Vec<String>,
}

impl fmt::Debug for Files<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

impl<'r> Files<'r> {
    /// Returns an empty set of files.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the file `name` with the contents that `make` returns.
    pub fn add<B: Into<Vec<u8>>>(&mut self, name: impl Into<String>, make: impl Fn() -> B + 'r) {
        let make = move || Ok(make().into());
        self.files.push((name.into(), Box::new(make)));
    }

    /// Adds a picture as the SVG file `name.svg`. The features `png` and `pdf` also add a PNG file and a PDF file.
    pub fn add_figure(&mut self, name: &str, svg: impl Into<Cow<'r, str>>) {
        let svg: Rc<Cow<'r, str>> = Rc::new(svg.into());
        let picture = Rc::clone(&svg);
        self.add(format!("{name}.svg"), move || picture.as_bytes().to_vec());
        #[cfg(feature = "png")]
        {
            let picture = Rc::clone(&svg);
            let make = move || Ok(crate::figure::png(&picture, PNG_SCALE)?);
            self.files.push((format!("{name}.png"), Box::new(make)));
        }
        #[cfg(feature = "pdf")]
        {
            let picture = Rc::clone(&svg);
            let make = move || Ok(crate::figure::pdf(&picture)?);
            self.files.push((format!("{name}.pdf"), Box::new(make)));
        }
    }

    /// Registers the file `name`, which is written elsewhere, so that pages link to it.
    pub(crate) fn know(&mut self, name: &str) {
        self.known.push(name.to_owned());
    }

    /// Adds the HTML file [`PAGE`].
    pub fn add_page(&mut self, page: Page) {
        self.add(PAGE, move || html(&page));
    }

    /// Adds the numbers of `results` for other programs. `parameters.csv` is always added. If there are runs,
    /// `runs.csv` and `summary.csv` are added, `flows.csv` if there are several flows, and `traces.csv` if the runs
    /// used recorded traces. The feature `parquet-tables` also adds every table of the runs as Parquet.
    pub fn add_numbers(&mut self, results: &Arc<Answered<'r>>) {
        type Csv = fn(&Answered<'_>) -> Vec<u8>;
        let mut csv = |name: &str, make: Csv| {
            let results = Arc::clone(results);
            self.add(name, move || make(&results));
        };
        if !results.runs.is_empty() {
            csv("runs.csv", store::runs_csv);
            csv("summary.csv", store::summary_csv);
            if results.has_several_flows() {
                csv("flows.csv", store::flows_csv);
            }
            if !results.recorded.is_empty() {
                csv("traces.csv", store::traces_csv);
            }
            #[cfg(feature = "parquet-tables")]
            self.add_tables(results);
        }
        let results = Arc::clone(results);
        self.add("parameters.csv", move || store::parameters_csv(&results));
    }

    /// Adds every table of `results` as Parquet.
    #[cfg(feature = "parquet-tables")]
    fn add_tables(&mut self, results: &Arc<Answered<'r>>) {
        use dupack_columns::{Table, parquet};
        for table in Table::ALL {
            let (name, results) = (table.name(), Arc::clone(results));
            let make = move || {
                let written = parquet::bytes(&table.of(&results));
                written.map_err(|error| DeliveryError::Table {
                    name,
                    cause: error.to_string(),
                })
            };
            self.files.push((format!("{name}.parquet"), Box::new(make)));
        }
    }

    /// Adds all files of `others` in the subfolder `folder`.
    pub fn add_folder(&mut self, folder: &str, others: Self) {
        let others = others.files.into_iter();
        self.files
            .extend(others.map(|(name, make)| (format!("{folder}/{name}"), make)));
    }

    /// Returns the names of the files in the order in which the files are written.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|(name, _)| name.as_str())
    }

    /// Returns the names of all files of the report, including those that are written elsewhere.
    pub(crate) fn all_names(&self) -> impl Iterator<Item = &str> {
        self.names().chain(self.known.iter().map(String::as_str))
    }

    /// Writes all files to `folder`.
    ///
    /// # Errors
    ///
    /// Returns an error if a picture cannot be drawn or a file cannot be stored.
    pub fn write(&self, folder: &dyn Folder) -> Result<(), DeliveryError> {
        for (name, make) in &self.files {
            folder.write(name, &make()?)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dupack_engine::folder::MemoryFolder;

    #[test]
    fn files_can_be_written_to_memory_under_their_names() {
        let mut inner = Files::new();
        inner.add("a.csv", || "1,2\n");
        inner.add_figure(
            "figures/b",
            "<svg xmlns='http://www.w3.org/2000/svg' width='1' height='1'/>",
        );
        let mut files = Files::new();
        files.add_folder("paper", inner);
        files.add_page(Page::default());
        let folder = MemoryFolder::default();
        files.write(&folder).unwrap();
        let written = folder.into_files();
        assert_eq!(written["paper/a.csv"], b"1,2\n");
        assert!(written["paper/figures/b.svg"].starts_with(b"<svg"));
        assert_eq!(
            written.contains_key("paper/figures/b.png"),
            cfg!(feature = "png")
        );
        assert_eq!(
            written.contains_key("paper/figures/b.pdf"),
            cfg!(feature = "pdf")
        );
        assert!(written[PAGE].starts_with(b"<!"));
        assert_eq!(written.len(), files.names().count());
    }
}
