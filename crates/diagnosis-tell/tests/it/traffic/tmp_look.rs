use super::*;
#[test]
fn look_at_files() {
    let Ok(files) = std::env::var("PCAPS") else { return };
    for file in files.split_whitespace() {
        let bytes = std::fs::read(file).unwrap();
        let mut reader = CaptureReader::new(bytes.as_slice()).unwrap();
        let told = Told(diagnose(&mut reader, Flow::All, &mut ()).unwrap());
        println!("== {file}");
        println!("{}", told.story());
        let all = std::env::var_os("ALL").is_some();
        for line in told.screen().lines() {
            let t = line.trim_start();
            if all || t.starts_with("retransmitted") || t.starts_with("sender") || t.starts_with("path") { println!("   {t}"); }
        }
        if std::env::var_os("RECS").is_some() {
            for stream in told.connection().all_streams() {
                for r in &stream.retransmissions { println!("     {:?}", r); }
            }
        }
        if std::env::var_os("CAND").is_some() {
            let c = &told.connection().main_stream().unwrap().sender.control;
            println!("   control {:?}: {}", c.name, c.why);
            for k in &c.candidates { println!("     {} {:.1} for {:?} against {:?}", k.name, k.score, k.evidence_for, k.evidence_against); }
        }
    }
}
