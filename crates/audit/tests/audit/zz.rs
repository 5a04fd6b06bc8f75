use crate::support::{folder, plain};
use model::FindingState;
#[test]
fn zz() {
    let mut names: Vec<String> =
        std::fs::read_dir(folder()).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    for name in names.iter().filter(|name| {
        ["loadtest-", "ghz-", "gatling-", "jmeter-", "locust-", "artillery-"].iter().any(|b| name.starts_with(b))
    }) {
        let audited = match audit::audit(name, &std::fs::read(folder().join(name)).unwrap(), &audit::Context::default())
        {
            Ok(a) => a,
            Err(e) => {
                println!("ZZ {name}: {e}");
                continue;
            }
        };
        let record = audited.record;
        let said: Vec<String> = record
            .verdict
            .findings
            .iter()
            .filter(|f| f.state > FindingState::Note)
            .map(|f| format!("{} {}", f.rule, format!("{:?}", f.state).to_lowercase()))
            .collect();
        println!(
            "ZZ    (\"{name}\", \"{}\", {:.1}, {:.1}, {:.4}, \"{}\"),",
            record.tool,
            record.goodput_per_s.as_ref().map_or(0.0, |g| g.value),
            record.throughput_per_s.unwrap_or(0.0),
            record.failed_share.unwrap_or(0.0),
            said.join(", ")
        );
        println!(
            "YY {name} unread {} url {:?} status {:?} mode {:?} {}",
            record.unread_lines,
            record.url,
            record.status,
            record.load_model,
            record.claims.iter().map(|c| format!("{}={}", c.name, c.value)).collect::<Vec<_>>().join(" ")
        );
        for f in &record.verdict.findings {
            println!("XX {name} {}: {}", f.rule, f.message);
        }
    }
    let _ = plain;
}
