//! The first screen of the last rerun is complete, and the page in docs/ is the same as the stored one.

use std::fs;
use std::path::Path;

use dupack_papers::{PAPERS, Summaries};

#[test]
fn the_stored_conclusions_are_those_of_the_page() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reproduction/README.md");
    let page = fs::read_to_string(page).unwrap();
    let stored = Summaries::stored();
    assert!(
        page == stored.markdown(),
        "write both anew: cargo measure reproduce --from FOLDER"
    );
    let keys: Vec<&str> = stored
        .papers
        .iter()
        .map(|paper| paper.key.as_str())
        .collect();
    let papers = PAPERS.map(|paper| paper.key);
    assert_eq!(keys, papers, "every paper was rerun");
    for paper in &stored.papers {
        let claims: usize = paper.tallies.values().map(|tally| tally.all()).sum();
        let known = dupack_papers::find(&paper.key).unwrap().book().claims.len();
        assert_eq!(claims, known, "{}: rerun it", paper.key);
        assert_eq!(paper.conclusion.len(), 2, "{}", paper.key);
    }
}
